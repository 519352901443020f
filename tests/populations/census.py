"""Snapshots of the synthetic census (data/census/SOURCE.md), as the experiments replay them."""

import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "data" / "census")]

import generate  # noqa: E402

from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402

population = lru_cache(maxsize=3)(generate.population)
"""The people of a size and a seed; experiments replay the same ones many times."""
QUASI_IDENTIFIERS = ("age", "gender", "education", "birthplace")


def schema(sensitive: str) -> Schema:
    """Four quasi-identifiers with their whole domains, and occupation or income."""
    columns = tuple(QuasiIdentifier(name=n, domain=(0, len(generate.labels[n]) - 1)) for n in QUASI_IDENTIFIERS)
    return Schema(quasi_identifiers=columns, sensitive=Sensitive(name=sensitive, values=generate.labels[sensitive]))


def snapshots(sensitive: str, seed: int, *, people: int, rows: int, update: int, releases: int) -> Iterator[Snapshot]:
    """The T-series of one seed: at each release `update` of the rows leave, and as many newcomers arrive."""
    everyone = population(people, seed)
    columns, codes = schema(sensitive), np.stack([everyone[name] for name in QUASI_IDENTIFIERS])
    for present in generate.t_series(people, rows, update, releases, seed):
        yield Snapshot(columns, present.astype(np.int64), codes[:, present], everyone[sensitive][present])
