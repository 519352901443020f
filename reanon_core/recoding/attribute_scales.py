"""Integer weights that make lengths on different attributes comparable."""

import math
from collections.abc import Iterable

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
    return extent_of_extremes(extremes(qi, schema), schema, before)


Extremes = tuple[tuple[int, int] | None, ...]
"""The least and the greatest code of each attribute; None if no row has one."""


def extremes(qi: Int32, schema: Schema) -> Extremes:
    """The extremes of these rows; MISSING is among the codes unless it may be missing beside others."""
    found: list[tuple[int, int] | None] = []
    for column, codes in zip(schema.quasi_identifiers, qi, strict=True):
        present = codes[codes != MISSING] if column.missing is Missing.SEPARATE else codes
        found.append((int(present.min()), int(present.max())) if len(present) else None)
    return tuple(found)


def merged_extremes(parts: Iterable[Extremes], schema: Schema) -> Extremes:
    """The extremes of all parts of a table together."""
    found: list[list[int]] = [[] for _ in schema.quasi_identifiers]
    for part in parts:
        for seen, own in zip(found, part, strict=True):
            seen.extend(own or ())
    return tuple((min(seen), max(seen)) if seen else None for seen in found)


def extent_of_extremes(found: Extremes, schema: Schema, before: Int64) -> Int64:
    """The extent that rows with these extremes leave behind."""
    extent = np.empty((2, len(found)), dtype=np.int64)
    for attribute, (column, own) in enumerate(zip(schema.quasi_identifiers, found, strict=True)):
        seen = list(own or ())
        if before.shape[1]:
            seen += before[:, attribute].tolist()
        extent[:, attribute] = column.bounds or ((min(seen), max(seen)) if seen else (0, 0))
    return extent
