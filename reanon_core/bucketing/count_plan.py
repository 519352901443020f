"""Balancing and assignment as a plan over counts alone, before any row moves."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.assignment import Assignment, assign
from reanon_core.bucketing.balancing import balance
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Int64


@dataclass(frozen=True, eq=False)
class BucketCounts:
    """The rows to place: how many old rows each slot holds, and how many new rows there are of each value."""

    signatures: Signatures
    old: Int64  # [slots]
    pool: Int64  # [values] m-eligible


@dataclass(frozen=True, eq=False)
class CountPlan:
    """How many new rows and counterfeits each slot takes.

    Ensures: old + taken + counterfeits is the same for all slots of a signature.
    """

    signatures: Signatures
    taken: Int64  # [slots]
    counterfeits: Int64  # [slots]


def balance_buckets(counts: BucketCounts, m: int) -> CountPlan:
    """Phase 2: fill the shortages of the buckets of old rows.

    Paper: [XT07] Section 4.1, balancing.
    """
    taken, counterfeits = balance(counts.signatures, counts.old, counts.pool, m)
    return CountPlan(counts.signatures, taken, counterfeits)


def assign_new_rows(counts: BucketCounts, balanced: CountPlan, m: int, how: Assignment) -> CountPlan:
    """Phase 3: assign the new rows that balancing left; new buckets are added at the end.

    Paper: [XT07] Section 4.2, assignment.
    """
    before, pool = balanced.signatures, counts.pool
    left = pool - np.bincount(before.values, weights=balanced.taken, minlength=len(pool)).astype(np.int64)
    signatures, layers = assign(before, before.largest(counts.old), left, m, how)
    none = np.zeros(len(signatures.values) - len(before.values), dtype=np.int64)
    taken = np.concatenate([balanced.taken, none]) + signatures.per_slot(layers)
    return CountPlan(signatures, taken, np.concatenate([balanced.counterfeits, none]))
