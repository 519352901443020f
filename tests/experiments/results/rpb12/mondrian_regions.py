"""A Mondrian that does not care for quality: it publishes the regions that it cuts, not the hulls of their rows.

[RPB12] Section 7.5 says that the Mondrian it compares with was not made for data quality, and not how. This measures
how much such a Mondrian could lose.
"""

import numpy as np

from reanon_core.model.arrays import Int64
from reanon_core.model.snapshot import Snapshot

Region = tuple[Int64, Int64]


def region_penalties(snapshot: Snapshot, ell: int) -> dict[str, float]:
    """The GCP of l-diverse groups: hulls and regions, cut on the widest attribute or on all of them in turn."""
    found = {}
    for name, in_turn in (("widest", False), ("in turn", True)):
        groups = partition(snapshot, ell, in_turn=in_turn)
        hulls = [(snapshot.qi[:, rows].min(axis=1), snapshot.qi[:, rows].max(axis=1)) for rows, _ in groups]
        sizes = [len(rows) for rows, _ in groups]
        found[f"hulls, {name}"] = _penalty(snapshot, hulls, sizes)
        found[f"regions, {name}"] = _penalty(snapshot, [region for _, region in groups], sizes)
    return found


def partition(snapshot: Snapshot, ell: int, *, in_turn: bool) -> list[tuple[Int64, Region]]:
    """The rows and the region of each group; a cut on one attribute is tried, and no other if it fails."""
    low, high = _domain(snapshot)
    waiting, groups = [(np.arange(snapshot.size), (low, high), 0)], []
    while waiting:
        rows, (low, high), depth = waiting.pop()
        width = (high - low) / np.maximum(1, _domain(snapshot)[1] - _domain(snapshot)[0])
        attribute = depth % len(low) if in_turn else int(width.argmax())
        codes = snapshot.qi[attribute, rows]
        middle = int(np.sort(codes)[(len(codes) - 1) // 2])
        left = codes <= middle if middle < codes.max() else codes < middle
        middle = int(codes[left].max(initial=low[attribute] - 1))
        sides = rows[left], rows[~left]
        if any(len(np.unique(snapshot.sensitive[side])) < ell for side in sides):
            groups.append((rows, (low, high)))
            continue
        below, above = high.copy(), low.copy()
        below[attribute], above[attribute] = middle, middle + 1
        waiting += [(sides[0], (low, below), depth + 1), (sides[1], (above, high), depth + 1)]
    return groups


def _domain(snapshot: Snapshot) -> Region:
    bounds = [column.domain or (0, 0) for column in snapshot.schema.quasi_identifiers]
    return np.array([low for low, _ in bounds], np.int64), np.array([high for _, high in bounds], np.int64)


def _penalty(snapshot: Snapshot, boxes: list[Region], sizes: list[int]) -> float:
    """The global certainty penalty: the mean length over rows and attributes."""
    low, high = _domain(snapshot)
    lengths = [float(((above - below) / np.maximum(1, high - low)).mean()) for below, above in boxes]
    return float(np.average(lengths, weights=sizes))
