"""Integer weights that make lengths on different attributes comparable."""

import math

import numpy as np

from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.schema import Missing, Schema
from reanon_core.model.snapshot import Snapshot

COST_BITS = 62
"""Weighted sums of lengths stay below 2 to the power of this, so that int64 arithmetic is exact."""


def length_scales(spans: Int64, terms: int) -> Int64:
    """Weights such that length * weight / L is in [0, 1] on every attribute, for sums of up to `terms` lengths of each.

    L is the least common multiple of the spans, so that comparisons are exact. Where that would overflow, L is a power
    of two, and the weights are rounded.
    """
    room = 1 << (COST_BITS - max(1, terms * len(spans)).bit_length())
    positive = [int(span) for span in spans if span > 0]
    common = math.lcm(*positive) if positive else 1
    common = min(common, room)
    return np.array([max(1, round(common / int(span))) if span > 0 else 0 for span in spans], dtype=np.int64)


def grown_extent(snapshot: Snapshot, before: Int64) -> Int64:
    """The least and greatest code of each attribute [2, d]: of the declared domain, or of all codes seen so far.

    `before` is the extent before this snapshot, [2, 0] if there was none.
    """
    return extent_of_codes(snapshot.qi, snapshot.schema, before)


def extent_of_codes(qi: Int32, schema: Schema, before: Int64) -> Int64:
    """The same for any rows of the schema."""
    extent = np.empty((2, len(qi)), dtype=np.int64)
    for attribute, column in enumerate(schema.quasi_identifiers):
        if column.bounds is not None:
            extent[:, attribute] = column.bounds
            continue
        present = qi[attribute]
        if column.missing is Missing.SEPARATE:
            present = present[present != MISSING]
        seen = [int(present.min()), int(present.max())] if len(present) else []
        if before.shape[1]:
            seen += before[:, attribute].tolist()
        extent[:, attribute] = (min(seen), max(seen)) if seen else (0, 0)
    return extent
