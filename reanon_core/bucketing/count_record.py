"""The private record of a release: what was counted, and what balancing and assignment decided over the counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reanon_core.bucketing.count_plan import BucketCounts, CountPlan
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Int64
from reanon_core.model.packing import Packable

VERSION = 1


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


def _lengthened(counts: Int64, length: int) -> Int64:
    """The counts with zeros at the end."""
    return np.concatenate([counts, np.zeros(length - len(counts), np.int64)])
