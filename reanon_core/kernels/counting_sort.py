"""Stable counting sorts: the order of many small keys in one pass."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64


@compiled
def counting_order(key: Int32, distinct: int) -> Int32:
    """The stable ascending order of keys 0 .. distinct - 1."""
    first = starts_of(key, distinct)
    order = np.empty(len(key), dtype=np.int32)
    for entry in range(len(key)):
        order[first[key[entry]]] = entry
        first[key[entry]] += 1
    return order


@compiled
def starts_of(key: Int32, distinct: int) -> Int64:
    """Where each key begins in the sorted order, and the total at the end."""
    first = np.zeros(distinct + 1, dtype=np.int64)
    for value in key:
        first[value + 1] += 1
    for value in range(1, len(first)):
        first[value] += first[value - 1]
    return first


@compiled
def presorted(rank: Int32, distinct: int, starts: Int64) -> Int32:
    """The entries of every segment in ascending (rank, entry) order, empty values first.

    Segment i is starts[i] .. starts[i + 1] - 1. A counting sort inside each segment, unless it is so short that the
    counts would cost more than a sort by comparison.
    """
    order = np.empty(len(rank), dtype=np.int32)
    first = np.zeros(distinct + 2, dtype=np.int64)
    for segment in range(len(starts) - 1):
        begin, end = starts[segment], starts[segment + 1]
        if distinct > 8 * (end - begin):
            order[begin:end] = begin + np.argsort(rank[begin:end], kind="mergesort")
            continue
        first[:] = 0
        for entry in range(begin, end):
            first[rank[entry] + 2] += 1
        for value in range(1, len(first)):
            first[value] += first[value - 1]
        for entry in range(begin, end):
            slot = rank[entry] + 1
            order[begin + first[slot]] = entry
            first[slot] += 1
    return order
