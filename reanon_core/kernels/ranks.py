"""Small numbers for values: dense ranks, ranks packed into words, numbers by first occurrence, ids of equal columns.

Dense ranks are 0 for the smallest value that occurs, 1 for the next, and so on. Those of several attributes are packed
into 64-bit words, so that one minimum gives the extent on all of them. A word is divided into fields of equal width.
Each attribute owns two adjacent fields: its rank, and the complement of its rank. The minimum of both over some rows is
the least and the greatest rank. An empty value is the neutral element of the minimum. The top bit of a field is a guard
for comparisons.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import MISSING, Bool, Int32, Int64, UInt64

DENSE_RANGE = 1 << 22
"""Up to this spread of codes a table of all codes is cheaper than a sort."""
EMPTY = -1
"""The rank of an empty value."""
WORD = 2**62
"""Numbers below this fit into a signed word."""


def dense_ranks(codes: Int32) -> tuple[Int32, Int64]:
    """The rank of each code (-1 where it is missing) and the codes that occur, ascending."""
    low, high = _extent(codes)
    if low > high:
        return np.full(len(codes), -1, np.int32), np.empty(0, np.int64)
    if high - low < DENSE_RANGE:
        return _ranks_by_table(codes, low, high)
    present = codes != MISSING
    values, inverse = np.unique(codes[present], return_inverse=True)
    ranks = np.full(len(codes), -1, np.int32)
    ranks[present] = inverse
    return ranks, values.astype(np.int64)


@compiled
def _extent(codes: Int32) -> tuple[int, int]:
    low, high = 2**31, -(2**31)
    for row in range(len(codes)):
        code = int(codes[row])
        if code != MISSING:
            low, high = min(low, code), max(high, code)
    return low, high


@compiled
def _ranks_by_table(codes: Int32, low: int, high: int) -> tuple[Int32, Int64]:
    rank_of = np.zeros(high - low + 1, dtype=np.int32)
    for code in codes:
        if code != MISSING:
            rank_of[code - low] = 1
    distinct = 0
    for i in range(len(rank_of)):
        if rank_of[i]:
            rank_of[i] = distinct
            distinct += 1
        else:
            rank_of[i] = -1
    values = np.empty(distinct, dtype=np.int64)
    for i in range(len(rank_of)):
        if rank_of[i] >= 0:
            values[rank_of[i]] = i + low
    ranks = np.empty(len(codes), dtype=np.int32)
    for row in range(len(codes)):
        ranks[row] = rank_of[codes[row] - low] if codes[row] != MISSING else -1
    return ranks, values


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


@compiled
def numbered_by_occurrence(position: Int32, absent: Bool) -> tuple[Int32, Int32]:
    """The positions 0 .. len(absent) - 1 that occur, in the order of their first entry, and each entry's number there.

    A position that is `absent` has no number: -1.
    """
    number_of = np.full(len(absent), -1, dtype=np.int32)
    occurring = np.empty(len(absent), dtype=np.int32)
    number = np.empty(len(position), dtype=np.int32)
    found = 0
    for entry in range(len(position)):
        at = position[entry]
        if number_of[at] < 0 and not absent[at]:
            number_of[at] = found
            occurring[found] = at
            found += 1
        number[entry] = number_of[at]
    return occurring[:found], number


def column_ids(rows: Int32) -> Int64:
    """A number for each column [n] of the array [d, n], from 0 on, in lexicographic order.

    As many rows as fit share a word, because every sort costs time.
    """
    number, room = np.zeros(rows.shape[1], dtype=np.int64), 1
    for row in rows.astype(np.int64) if rows.size else ():
        least, width = int(row.min()), int(np.ptp(row)) + 1
        if room * width > WORD:
            different, number = np.unique(number, return_inverse=True)
            room = len(different)
        number, room = number * width + (row - least), room * width
    return np.unique(number, return_inverse=True)[1].astype(np.int64)
