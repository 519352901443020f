"""Snapshots of the synthetic census (data/census/SOURCE.md), as the experiments replay them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "data" / "census")]

import generate  # noqa: E402

from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402

QUASI_IDENTIFIERS = ("age", "gender", "education", "birthplace")


def schema(sensitive: str) -> Schema:
    """Four quasi-identifiers with their whole domains, and occupation or income."""
    columns = tuple(QuasiIdentifier(name=n, domain=(0, len(generate.labels[n]) - 1)) for n in QUASI_IDENTIFIERS)
    return Schema(quasi_identifiers=columns, sensitive=Sensitive(name=sensitive, values=generate.labels[sensitive]))


def snapshots(sensitive: str, seed: int, *, people: int, rows: int, update: int, releases: int) -> Iterator[Snapshot]:
    """The T-series of one seed: at each release `update` of the rows leave, and as many newcomers arrive."""
    population = generate.population(people, seed)
    columns, codes = schema(sensitive), np.stack([population[name] for name in QUASI_IDENTIFIERS])
    for present in generate.t_series(people, rows, update, releases, seed):
        yield Snapshot(columns, present.astype(np.int64), codes[:, present], population[sensitive][present])
