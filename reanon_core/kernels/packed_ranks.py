"""Ranks of several attributes packed into 64-bit words, so that one lane-wise minimum gives the extent on all of them.

Each attribute owns two lanes, its rank and the complement of its rank: the minimum of both is the least and the
greatest rank. An empty value is the neutral element of the minimum. The top bit of a lane is a guard for comparisons.
"""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, UInt64


def lane_width(distinct: int) -> int:
    """Bits of a lane that holds this many ranks, the neutral element and a guard bit."""
    for width in (8, 16, 32):
        if distinct < 1 << (width - 1):
            return width
    raise ValueError("an attribute can have at most 2^31 - 1 distinct values")


def pack_lanes(ranks: Int32, width: int) -> UInt64:
    """The packed words [w, n] of the ranks [d, n]; rank -1 is empty."""
    attributes, entries = ranks.shape
    per_word = 64 // width
    words = np.empty((-(-2 * attributes // per_word), entries), dtype=np.uint64)
    _pack_lanes(ranks, width, words)
    return words


@compiled
def _pack_lanes(ranks: Int32, width: int, words: UInt64) -> None:
    attributes, entries = ranks.shape
    per_word = 64 // width
    top = np.uint64((1 << (width - 1)) - 1)  # the neutral element
    words[:] = 0
    for word in range(len(words)):
        for lane in range(per_word):
            shift = np.uint64(lane * width)
            number = word * per_word + lane
            attribute = number // 2
            for entry in range(entries):
                value = top
                if attribute < attributes and ranks[attribute, entry] >= 0:
                    rank = np.uint64(ranks[attribute, entry])
                    value = rank if number % 2 == 0 else top - np.uint64(1) - rank
                words[word, entry] |= value << shift


@compiled
def guard_bits(width: int) -> np.uint64:
    """The top bit of every lane."""
    guard = np.uint64(0)
    for lane in range(64 // width):
        guard |= np.uint64(1) << np.uint64(lane * width + width - 1)
    return guard


@compiled
def lane_minimum(x: np.uint64, y: np.uint64, guard: np.uint64, down: np.uint64) -> np.uint64:
    """The smaller value of every lane; `down` is the lane's width less one.

    With the guard set in x, subtracting y leaves it where x >= y; from there it is spread over the lane as a mask.
    """
    smaller = ((x | guard) - y) & guard
    return np.uint64(x ^ ((x ^ y) & (smaller - (smaller >> down))))
