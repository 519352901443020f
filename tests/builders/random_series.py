"""Random series for the adversary who knows the algorithm: tiny ones for all worlds, small ones for all buckets."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Ledger
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay


def schema(values: int, attributes: int = 1) -> Schema:
    return Schema(
        quasi_identifiers=tuple(QuasiIdentifier(name=f"q{i}", domain=(0, 120)) for i in range(attributes)),
        sensitive=Sensitive(name="disease", values=tuple(f"d{i}" for i in range(values))),
    )


def tiny_series(seed: int, *, people: int = 7, ties: bool = False) -> list[Snapshot]:
    """Two or three releases of few people, who come, leave, return, and age in every other series."""
    rng = np.random.default_rng(seed)
    releases, values = int(rng.integers(2, 4)), int(rng.integers(3, 5))
    ages = rng.integers(0, 2, people) if ties else rng.permutation(90)[:people]
    sensitive = rng.integers(0, values, people).astype(np.int32)
    first = rng.integers(0, releases, people)
    listed = []
    for release in range(releases):
        stays = (first == release) | (rng.random(people) < 0.6)
        here = np.flatnonzero((first <= release) & stays)
        age = ages[here] + release * (seed % 2)
        listed.append(Snapshot(schema(values), here, age[None].astype(np.int32), sensitive[here]))
    return listed


def small_series(seed: int) -> tuple[int, list[Snapshot]]:
    """m, and four releases: 14 to 30 people at first, 6 to 16 new each time, 3 to 6 values; people return."""
    rng = np.random.default_rng(seed)
    values, m, known = int(rng.integers(3, 7)), int(rng.integers(2, 4)), int(rng.integers(14, 31))
    qi = rng.integers(0, 100, (2, 200)).astype(np.int32)
    sensitive = rng.integers(0, values, 200).astype(np.int32)
    here, listed = np.arange(known), []
    for _ in range(4):
        listed.append(Snapshot(schema(values, 2), here, qi[:, here], sensitive[here]))
        is_here = np.isin(np.arange(known), here)
        kept = np.flatnonzero(rng.random(known) < np.where(is_here, 0.75, 0.2))
        more = int(rng.integers(6, 17))
        here, known = np.concatenate([kept, np.arange(known, known + more)]), known + more
    return m, listed


def published(technique: Any, series: list[Snapshot], seed: int) -> Ledger | None:
    """The ledger of the series; None if the technique refuses a release."""
    try:
        return replay(technique, series, np.random.default_rng(seed))
    except Unpublishable:
        return None


def tiny_ledgers(technique: Any, count: int, start: int = 0, **shape: Any) -> Iterator[Ledger]:
    """So many tiny series that the technique publishes."""
    seed = start
    while count:
        ledger = published(technique, tiny_series(seed, **shape), seed)
        seed += 1
        if ledger is not None:
            count -= 1
            yield ledger


def layered_series(seed: int, m: int) -> list[Snapshot]:
    """Two releases: two layers of m values, then a new one beside most of the others. Eligible for m by design."""
    rng = np.random.default_rng(seed)
    people = 3 * m
    sensitive = np.concatenate([rng.permutation(m), rng.permutation(m), rng.permutation(m)]).astype(np.int32)
    ages = rng.permutation(90)[:people].astype(np.int32)
    stays = (rng.random(people) < 0.7) | (np.arange(people) >= 2 * m)
    listed = (np.arange(2 * m), np.flatnonzero(stays))
    return [Snapshot(schema(m), here, ages[None, here], sensitive[here]) for here in listed]


def changing_series(seed: int) -> list[Snapshot]:
    """Two or three releases of six people, each of whom changes value once or not at all."""
    rng = np.random.default_rng(seed)
    people, values, releases = 6, 6, int(rng.integers(2, 4))
    ages = rng.permutation(90)[:people].astype(np.int32)
    before, after = rng.integers(0, values, (2, people)).astype(np.int32)
    change = rng.integers(1, 2 * releases, people)
    listed = []
    for release in range(releases):
        here = np.flatnonzero(rng.random(people) < 0.85)
        value = np.where(change <= release, after, before)
        listed.append(Snapshot(schema(values), here, ages[None, here], value[here]))
    return listed
