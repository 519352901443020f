"""Stable counting sort: the order of many small keys in one pass."""

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
