"""Balancing and assignment as a plan over counts alone, before any row moves; and the private record of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reanon_core.bucketing.assignment import Assignment, assign
from reanon_core.bucketing.balancing import Balancing, balance, balance_blindly
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Int64
from reanon_core.model.packing import Packable

VERSION = 1


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


@dataclass(frozen=True, eq=False)
class CountRecord:
    """The counts before phase 2, and the plan after phase 3: the second follows from the first and the parameters."""

    counts: BucketCounts
    plan: CountPlan

    def packed(self) -> dict[str, Packable]:
        """The record as named arrays; most slots take rows from one region only, so tables by region are sparse."""
        regions, slots = self.plan.taken.shape
        return {
            "version": VERSION,
            "regions": regions,
            "signatures before": self.counts.signatures.count,
            "offsets": self.plan.signatures.offsets,
            "values": self.plan.signatures.values,
            "old": _lengthened(self.counts.old, slots),
            "pool": self.counts.pool,
            "counterfeits": self.plan.counterfeits,
            "surplus": self.plan.surplus,
            **_sparse("blocked", self.counts.blocked),
            **_sparse("taken", self.plan.taken),
        }

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "CountRecord":
        """The record that was packed.

        Raises: ValueError if another version has written it.
        """
        if packed["version"] != VERSION:
            raise ValueError(f"count record version {packed['version']} is not {VERSION}")
        fields: dict[str, Any] = dict(packed)
        signatures = Signatures(fields["offsets"], fields["values"])
        before, regions = int(fields["signatures before"]), int(fields["regions"])
        end = int(signatures.offsets[before])
        counts = BucketCounts(
            Signatures(signatures.offsets[: before + 1], signatures.values[:end]),
            fields["old"][:end],
            _dense(fields, "blocked", (regions, end)),
            fields["pool"],
        )
        taken = _dense(fields, "taken", (regions, len(signatures.values)))
        return CountRecord(counts, CountPlan(signatures, taken, fields["counterfeits"], fields["surplus"]))


def _sparse(name: str, table: Int64) -> dict[str, Packable]:
    cells = np.flatnonzero(table)
    return {f"{name} cells": cells, name: table.ravel()[cells]}


def _dense(fields: Mapping[str, Any], name: str, shape: tuple[int, int]) -> Int64:
    table = np.zeros(shape, np.int64)
    table.ravel()[fields[f"{name} cells"]] = fields[name]
    return table
