"""Balancing and assignment as a plan over counts alone, before any row moves."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.assignment import Assignment, assign
from reanon_core.bucketing.balancing import Balancing, balance, balance_blindly
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Int64


@dataclass(frozen=True, eq=False)
class BucketCounts:
    """The rows to place: how many old rows each slot holds, and how many new rows there are of each value."""

    signatures: Signatures
    old: Int64  # [slots]
    blocked: Int64  # [slots] new rows that go to the block of their value; all 0 if the new rows are m-eligible
    pool: Int64  # [values] the other new rows; m-eligible


@dataclass(frozen=True, eq=False)
class CountPlan:
    """How many new rows and counterfeits each slot takes.

    Ensures: old + taken + counterfeits is the same for all slots of a signature.
    """

    signatures: Signatures
    taken: Int64  # [slots]
    counterfeits: Int64  # [slots]


def balance_buckets(counts: BucketCounts, m: int, how: Balancing) -> CountPlan:
    """Phase 2: fill the shortages of the buckets of old rows; `filled` takes new rows where it may, `blind` never.

    Paper: [XT07] Section 4.1, balancing (`filled`); departure D12 of m-invariance (`blind`).
    """
    if how == "blind":
        return CountPlan(
            counts.signatures, counts.blocked, balance_blindly(counts.signatures, counts.old + counts.blocked)
        )
    taken, counterfeits = balance(counts.signatures, counts.old, counts.pool, m)
    return CountPlan(counts.signatures, taken, counterfeits)


def assign_new_rows(counts: BucketCounts, balanced: CountPlan, m: int, how: Assignment) -> CountPlan:
    """Phase 3: assign the new rows that balancing left; new buckets are added at the end.

    Paper: [XT07] Section 4.2, assignment.
    """
    before, pool = balanced.signatures, counts.pool
    filled = balanced.taken - counts.blocked
    left = pool - np.bincount(before.values, weights=filled, minlength=len(pool)).astype(np.int64)
    signatures, layers = assign(before, before.largest(counts.old + counts.blocked), left, m, how)
    none = np.zeros(len(signatures.values) - len(before.values), dtype=np.int64)
    taken = np.concatenate([balanced.taken, none]) + signatures.per_slot(layers)
    return CountPlan(signatures, taken, np.concatenate([balanced.counterfeits, none]))
