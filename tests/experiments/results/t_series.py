"""The T-series of the papers, on the synthetic census and on Adult."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
from populations import adult, census

from reanon_core.model.arrays import Int64
from reanon_core.model.snapshot import Snapshot

SEEDS = (21, 22, 23)
"""The rules of assignment were tuned on seeds 7 to 12, so these are held out."""
ADULT_PEOPLE = 30_000
"""How many people of Adult take part, so that shares of them are whole numbers."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large a series is: at each release `update` of the rows leave, and as many newcomers arrive."""

    people: int
    rows: int
    update: int
    releases: int

    def first(self, releases: int) -> "Scale":
        """The same series, up to this release."""
        return replace(self, releases=min(releases, self.releases))


def whole_pool(people: int, update: int) -> Scale:
    """A series that starts with a third of the people, and ends when everyone else has arrived."""
    rows = people // 3
    return Scale(people=people, rows=rows, update=update, releases=1 + (people - rows) // update)


def snapshots(population: str, seed: int, scale: Scale) -> Iterator[Snapshot]:
    """The series of one seed: `adult`, or the census with `occupation` or `income` as the sensitive attribute."""
    if population == "adult":
        return adult.snapshots(seed, rows=scale.rows, update=scale.update, releases=scale.releases)
    return census.snapshots(population, seed, **asdict(scale))


def value_counts(population: str, seed: int, people: int) -> Int64:
    """How many of all people have each sensitive value."""
    if population == "adult":
        sensitive = adult.table().sensitive
        return np.bincount(np.random.default_rng(seed).permutation(sensitive)[:people]).astype(np.int64)
    return np.bincount(census.population(people, seed)[population], minlength=50).astype(np.int64)


def spread(values: list[float]) -> list[float]:
    """The mean, the least and the greatest over the seeds."""
    return [float(np.mean(values)), float(np.min(values)), float(np.max(values))]
