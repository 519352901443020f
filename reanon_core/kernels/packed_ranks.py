"""Ranks of several attributes packed into 64-bit words, so that one minimum gives the extent on all of them.

A word is divided into fields of equal width. Each attribute owns two adjacent fields: its rank, and the complement
of its rank. The minimum of both over some rows is the least and the greatest rank. An empty value is the neutral
element of the minimum. The top bit of a field is a guard for comparisons.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, UInt64

EMPTY = -1
"""The rank of an empty value."""


class PackedRanks(NamedTuple):
    """The ranks of many entries on all attributes."""

    words: UInt64  # [w, n]
    width: int
    """The bits of a field."""


def field_width(distinct: int) -> int:
    """The bits of a field that holds this many ranks, the neutral element and a guard bit."""
    for width in (8, 16, 32):
        if distinct < 1 << (width - 1):
            return width
    raise ValueError("an attribute can have at most 2^31 - 1 distinct values")


def pack_ranks(ranks: Int32, distinct: int) -> PackedRanks:
    """The ranks [d, n] packed, in fields that hold `distinct` ranks; EMPTY is the neutral element."""
    attributes, entries = ranks.shape
    width = field_width(distinct)
    words = np.empty((-(-2 * attributes // (64 // width)), entries), dtype=np.uint64)
    _fill(words, ranks, width)
    return PackedRanks(words, width)


@compiled
def _fill(words: UInt64, ranks: Int32, width: int) -> None:
    attributes, entries = ranks.shape
    per_word = 64 // width
    top = np.uint64((1 << (width - 1)) - 1)  # the neutral element
    words[:] = 0
    for word in range(len(words)):
        for field in range(per_word):
            shift = np.uint64(field * width)
            number = word * per_word + field
            attribute = number // 2
            for entry in range(entries):
                value = top
                if attribute < attributes and ranks[attribute, entry] != EMPTY:
                    rank = np.uint64(ranks[attribute, entry])
                    value = rank if number % 2 == 0 else top - np.uint64(1) - rank
                words[word, entry] |= value << shift


@compiled
def guard_bits(width: int) -> np.uint64:
    """The top bit of every field."""
    guard = np.uint64(0)
    for field in range(64 // width):
        guard |= np.uint64(1) << np.uint64(field * width + width - 1)
    return guard


@compiled
def field_minimum(x: np.uint64, y: np.uint64, guard: np.uint64, down: np.uint64) -> np.uint64:
    """The smaller value of every field; `down` is the width of a field less one.

    With the guard set in x, subtracting y leaves it set where x >= y; shifted down, it becomes a mask of the field.
    """
    smaller = ((x | guard) - y) & guard
    return np.uint64(x ^ ((x ^ y) & (smaller - (smaller >> down))))
