"""Balancing and assignment as a plan over counts alone, before any row moves."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.assignment import Assignment, assign
from reanon_core.bucketing.balancing import Balancing, balance, balance_blindly
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Int64


@dataclass(frozen=True, eq=False)
class BucketCounts:
    """The rows to place: how many old rows each slot holds, and how many new rows of each value each region has."""

    signatures: Signatures
    old: Int64  # [slots]
    blocked: Int64  # [regions, slots] new rows that go to the block of their value; 0 if a region is m-eligible
    pool: Int64  # [regions, values] the other new rows; m-eligible


@dataclass(frozen=True, eq=False)
class CountPlan:
    """How many new rows and counterfeits each slot takes, and how many of its old rows are withheld.

    Ensures: old - surplus + taken + counterfeits is the same for all slots of a signature.
    """

    signatures: Signatures
    taken: Int64  # [regions, slots]
    counterfeits: Int64  # [slots]
    surplus: Int64  # [slots] old rows that are withheld; 0 unless balancing is median


def balance_buckets(counts: BucketCounts, m: int, how: Balancing) -> CountPlan:
    """Phase 2: balance the buckets of old rows. Only `filled` takes new rows for it, only `median` withholds old ones.

    Paper: [XT07] Section 4.1, balancing (`filled`); departures D12 (`blind`) and D17 (`median`) of m-invariance.
    """
    if how == "filled":
        taken, counterfeits = balance(counts.signatures, counts.old, counts.pool[0], m)
        return CountPlan(counts.signatures, taken[None], counterfeits, np.zeros_like(counterfeits))
    counterfeits, surplus = balance_blindly(counts.signatures, counts.old + counts.blocked.sum(axis=0), how)
    return CountPlan(counts.signatures, counts.blocked, counterfeits, surplus)


def assign_new_rows(counts: BucketCounts, balanced: CountPlan, m: int, how: Assignment) -> CountPlan:
    """Phase 3: assign the new rows that balancing left, region by region; new buckets are added at the end.

    Paper: [XT07] Section 4.2, assignment; with regions departure D15 of m-invariance.
    """
    before = signatures = balanced.signatures
    depth = before.largest(counts.old + counts.blocked.sum(axis=0) - balanced.surplus)
    homes = int(np.count_nonzero(counts.pool.any(axis=1))) <= 2  # else scarce values have many: one in each region
    layers: list[Int64] = []
    for pool, filled in zip(counts.pool, balanced.taken - counts.blocked, strict=True):
        left = pool - np.bincount(before.values, weights=filled, minlength=len(pool)).astype(np.int64)
        signatures, taken = assign(signatures, depth, left, m, how, homes=homes)
        depth = _lengthened(depth, signatures.count) + taken
        layers.append(taken)
    slots = len(signatures.values)
    added = [signatures.per_slot(_lengthened(taken, signatures.count)) for taken in layers]
    return CountPlan(
        signatures,
        np.stack([_lengthened(taken, slots) for taken in balanced.taken]) + np.stack(added),
        _lengthened(balanced.counterfeits, slots),
        _lengthened(balanced.surplus, slots),
    )


def _lengthened(counts: Int64, length: int) -> Int64:
    """The counts with zeros at the end."""
    return np.concatenate([counts, np.zeros(length - len(counts), dtype=np.int64)])
