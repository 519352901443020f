"""Snapshots of Adult (../shared/data/adult), as the experiments replay them."""

import csv
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "data" / "census")]

import generate  # noqa: E402

from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402

FOLDER = ROOT.parent / "shared" / "data" / "adult"
"""Where Adult lies, if it is there: beside the project."""
QUASI_IDENTIFIERS = ("age", "sex", "education", "marital-status")
"""Four, as in the synthetic census; nine in ten people have the same native country, so that is not one of them."""
SENSITIVE = "occupation"


@cache
def table() -> Snapshot:
    """All people of Adult; the code of a category is its place among the leaves of its taxonomy."""
    with (FOLDER / "adult.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    columns, codes = [], []
    for name in QUASI_IDENTIFIERS:
        leaves = _leaves(name)
        place = {leaf: code for code, leaf in enumerate(leaves)}
        columns.append(QuasiIdentifier(name=name, domain=(0, len(leaves) - 1)))
        codes.append([place[row[name]] for row in rows])
    values = tuple(sorted({row[SENSITIVE] for row in rows}))
    schema = Schema(quasi_identifiers=tuple(columns), sensitive=Sensitive(name=SENSITIVE, values=values))
    sensitive = np.array([values.index(row[SENSITIVE]) for row in rows], np.int32)
    return Snapshot(schema, np.arange(len(rows)), np.array(codes, np.int32), sensitive)


def snapshots(seed: int, *, rows: int, update: int, releases: int) -> Iterator[Snapshot]:
    """The T-series of one seed: at each release `update` of the rows leave, and as many newcomers arrive."""
    whole = table()
    for present in generate.t_series(whole.size, rows, update, releases, seed):
        yield whole.rows(present.astype(np.int64), selected=None)


def _leaves(name: str) -> tuple[str, ...]:
    with (FOLDER / f"adult_hierarchy_{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(line[0] for line in csv.reader(file, delimiter=";") if line)
