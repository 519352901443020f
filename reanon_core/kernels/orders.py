"""The order of many keys in linear time: stable counting sorts of small ones, and uniformly random ones."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64, UInt64

COARSE_BITS = 10
"""The leading bits that select the pile of a key: few enough that the ends of all piles stay in the cache."""


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


@compiled
def uniform_order(keys: UInt64) -> Int32:
    """The ascending, stable order of keys that are spread evenly over all 64-bit words, as hashes are.

    Two passes by leading bits leave about one key in a pile, and an insertion sort finishes. Keys that are not spread
    evenly only make it slower.
    """
    count = len(keys)
    order, dealt = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.uint64)
    ends = np.zeros((1 << COARSE_BITS) + 1, dtype=np.int64)
    down = np.uint64(64 - COARSE_BITS)
    for i in range(count):
        ends[np.int64(keys[i] >> down) + 1] += 1
    for pile in range(1, len(ends)):
        ends[pile] += ends[pile - 1]
    for i in range(count):
        pile = int(keys[i] >> down)
        order[ends[pile]], dealt[ends[pile]] = i, keys[i]
        ends[pile] += 1
    begin = 0
    for pile in range(1 << COARSE_BITS):
        _sort_pile(order[begin : ends[pile]], dealt[begin : ends[pile]])
        begin = ends[pile]
    return order


@compiled
def _sort_pile(order: Int32, keys: UInt64) -> None:
    """Sort one pile in place, keys and entries together."""
    count = len(keys)
    bits = 1
    while bits < 20 and (1 << bits) < count:
        bits += 1
    down, mask = np.uint64(64 - COARSE_BITS - bits), np.uint64((1 << bits) - 1)
    ends = np.zeros((1 << bits) + 1, dtype=np.int32)
    for i in range(count):
        ends[np.int64((keys[i] >> down) & mask) + 1] += 1
    for pile in range(1, len(ends)):
        ends[pile] += ends[pile - 1]
    dealt, dealt_keys = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.uint64)
    for i in range(count):
        pile = int((keys[i] >> down) & mask)
        dealt[ends[pile]], dealt_keys[ends[pile]] = order[i], keys[i]
        ends[pile] += 1
    for i in range(count):
        key, entry = dealt_keys[i], dealt[i]
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, entry
