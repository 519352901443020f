"""A series of m-invariance over counts alone: how many counterfeits it needs, without moving a row.

Balancing and assignment work on counts, so counterfeits can be had at the papers' scale in a second. Who leaves a slot
is drawn here; in a release it follows from the people. `test_results.py` compares each step with the technique.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from experiments.results.t_series import Scale

from reanon_core.bucketing.count_plan import BucketCounts, CountPlan, assign_new_rows, balance_buckets
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Int64
from reanon_core.techniques.m_invariance.technique import MInvariance

Leaving = Literal["random", "oldest"]
"""Who leaves: anyone, or those who arrived first."""


@dataclass(frozen=True, eq=False)
class CountedRelease:
    """What one release needs."""

    counterfeits: int
    gaps: int
    """How many places those who left have left open in their buckets: for newcomers, or else counterfeits."""
    absent: int
    """How many of the counterfeits stand for a value that no newcomer had left."""
    buckets: int
    """How many buckets hold people."""


def count_step(technique: MInvariance, signatures: Signatures, old: Int64, pool: Int64) -> tuple[CountPlan, CountPlan]:
    """The plan of one release over counts: after balancing, and after assignment."""
    counts = BucketCounts(signatures, old, np.zeros((1, len(old)), np.int64), pool[None])
    balanced = balance_buckets(counts, technique.m, technique.balancing)
    return balanced, assign_new_rows(counts, balanced, technique.m, technique.assignment)


def counted_releases(
    technique: MInvariance, people: Int64, scale: Scale, leaving: Leaving, rng: np.random.Generator
) -> Iterator[CountedRelease]:
    """Release by release; it ends early where the newcomers are not m-eligible."""
    signatures = Signatures(np.zeros(1, np.int64), np.zeros(0, np.int32))
    waiting, cohorts = people, [np.zeros(0, np.int64)]
    for release in range(scale.releases):
        pool = rng.multivariate_hypergeometric(waiting, scale.update if release else scale.rows)
        waiting = waiting - pool
        if release:
            cohorts = _remaining(cohorts, scale.update, leaving, rng)
        if pool.max() * technique.m > pool.sum():
            return
        old = np.sum(cohorts, axis=0)
        balanced, plan = count_step(technique, signatures, old, pool)
        filled = np.bincount(signatures.values, weights=balanced.taken[0], minlength=len(pool)).astype(np.int64)
        absent = int(balanced.counterfeits[(pool - filled)[signatures.values] == 0].sum())
        signatures = plan.signatures
        cohorts = [_lengthened(one, len(plan.taken[0])) for one in cohorts if one.any()] + [plan.taken[0]]
        here = np.sum(cohorts, axis=0)
        buckets = int(np.count_nonzero(signatures.largest(here)))
        needed = int(plan.counterfeits.sum())
        yield CountedRelease(needed, needed + int(filled.sum()), absent, buckets)


def _remaining(cohorts: list[Int64], leaving: int, how: Leaving, rng: np.random.Generator) -> list[Int64]:
    """The rows of each cohort, by slot, after some have left."""
    if how == "random":
        cohorts = [np.sum(cohorts, axis=0)]
    remaining = []
    for cohort in cohorts:  # in the order of arrival
        some = min(leaving, int(cohort.sum()))
        remaining.append(cohort - rng.multivariate_hypergeometric(cohort, some))
        leaving -= some
    return remaining


def _lengthened(counts: Int64, length: int) -> Int64:
    return np.concatenate([counts, np.zeros(length - len(counts), np.int64)])
