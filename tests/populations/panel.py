"""Snapshots of the synthetic panel (data/panel/SOURCE.md), as the experiments replay them."""

import csv
import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from reanon_core.model.schema import Kind, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.taxonomy import Taxonomy

ROOT = Path(__file__).parents[2]
PANEL = ROOT / "data" / "panel"

RELEASES = (
    (2, 6, 7), (4, 5, 6, 7), (3, 5), (1,), (1, 2, 6, 7), (1, 2, 3, 4), (2, 3, 5), (2, 5, 6), (4,), (2, 3),
)  # fmt: skip
"""The quasi-identifiers of the ten releases of [ST15] Section 6.2, numbered as there; the occupation is in all."""


@cache
def generator() -> ModuleType:
    """data/panel/generate.py, which is not in a package."""
    spec = importlib.util.spec_from_file_location("panel_generate", PANEL / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _ages() -> Taxonomy:
    """Years, five years, ten years, thirty years: a tree of height 4."""
    lines = [
        (str(age), f"{age // 5 * 5} to {age // 5 * 5 + 4}", f"{age // 10 * 10}s", f"{age // 30 * 30} and more", "*")
        for age in range(17, 96)
    ]
    return Taxonomy.from_lines(lines, name="age")


def _taxonomy(name: str) -> Taxonomy:
    with (PANEL / "taxonomies" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return Taxonomy.from_lines(list(csv.reader(file)), name=name)


@cache
def schema() -> Schema:
    """Seven quasi-identifiers with taxonomies of heights 1 to 4, and the occupation."""
    columns = [QuasiIdentifier(name="age", kind=Kind.CATEGORICAL, taxonomy=_ages(), hierarchical=True)]
    columns += [
        QuasiIdentifier(name=name, kind=Kind.CATEGORICAL, taxonomy=_taxonomy(name), hierarchical=True)
        for name in generator().QUASI_IDENTIFIERS[1:]
    ]
    return Schema(
        quasi_identifiers=tuple(columns),
        sensitive=Sensitive(name="occupation", values=generator().labels["occupation"]),
    )


@cache
def people(n: int, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """The codes of n people in the schema's order of leaves: quasi-identifiers [7, n] and occupations [n]."""
    drawn, labels = generator().population(n, seed), generator().labels
    codes = []
    for column in schema().quasi_identifiers:
        assert column.taxonomy is not None
        leaf = {label: code for code, label in enumerate(column.taxonomy.leaves)}
        codes.append(np.array([leaf[label] for label in labels[column.name]], np.int32)[drawn[column.name]])
    return np.stack(codes), drawn["occupation"]


def columns_of(numbers: tuple[int, ...]) -> tuple[str, ...]:
    """The names of the columns of a release, with the sensitive one."""
    return (*(schema().names[number - 1] for number in numbers), "occupation")


def snapshot(
    n: int,
    columns: tuple[str, ...] | None,
    *,
    seed: int = 7,
    known: tuple[str, ...] | None = None,
    of: int | None = None,
) -> Snapshot:
    """The first n of `of` people, and the columns that the release shows; only `known` columns have values."""
    qi, sensitive = people(of or n, seed)
    if known is not None:
        absent = [name not in known for name in schema().names]
        qi = qi.copy()
        qi[absent] = np.iinfo(np.int32).min
    return Snapshot(schema(), np.arange(n, dtype=np.int64), qi[:, :n], sensitive[:n], columns=columns)
