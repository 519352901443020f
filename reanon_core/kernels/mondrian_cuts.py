"""Where Mondrian cuts: histograms of ranks, medians, boundaries of taxonomies, and which attribute is best."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64, UInt64

WIDTH, DISTINCT, BALANCE = 0, 1, 2
"""The heuristics that choose the attribute: the widest, the one with most values, the one with the most even cut."""


class Attributes(NamedTuple):
    """What the ranks of each attribute stand for."""

    position: Int64  # [d, distinct] scaled position of each rank
    nodes: Int32  # [d, depth, distinct] taxonomy node of each rank at each depth, root first
    depth: Int64  # [d] depth of each taxonomy, 0 where there is none


class Field(NamedTuple):
    """Where the rank of one attribute is in the packed words."""

    word: int
    shift: np.uint64
    top: np.uint64
    """The mask of the field, which is also the neutral element."""


class Node(NamedTuple):
    """A stretch of the rows."""

    begin: int
    end: int


class Ranks(NamedTuple):
    """The least and the greatest rank of one attribute in a node."""

    low: int
    high: int


class Cut(NamedTuple):
    """Which rows of a node go left: those of lower rank, and the first ones of exactly that rank."""

    rank: int
    quota: int
    """How many rows of exactly that rank go left at most."""
    left: int
    """How many rows go left in all."""


@compiled
def field_of(width: int, attribute: int) -> Field:
    """The field of an attribute's rank."""
    per_word = 64 // width
    shift = np.uint64((2 * attribute % per_word) * width)
    return Field(2 * attribute // per_word, shift, (np.uint64(1) << np.uint64(width - 1)) - np.uint64(1))


@compiled
def rank_in(word: np.uint64, field: Field) -> int:
    """The rank in a field; the neutral element, a missing value, counts as -1, before the first rank."""
    content = (word >> field.shift) & field.top
    return -1 if content == field.top else int(np.int64(content))


@compiled
def count_ranks(words: UInt64, field: Field, node: Node, ranks: Ranks, histogram: Int64) -> None:
    """Count the rows of a node by rank: histogram[0] has the missing values, histogram[1] the least rank."""
    source = words[field.word]
    histogram[: ranks.high - ranks.low + 2] = 0
    for row in range(node.begin, node.end):
        rank = rank_in(source[row], field)
        histogram[0 if rank < 0 else rank - ranks.low + 1] += 1


@compiled
def histogram_score(histogram: Int64, ranks: Ranks, rows: int, heuristic: int, nodes: Int32, depth: int) -> int:
    """How good it is to cut an attribute by DISTINCT, its number of values, or BALANCE, how even its cut is."""
    if heuristic == DISTINCT:
        distinct = 0
        for rank in range(1, ranks.high - ranks.low + 2):
            distinct += 1 if histogram[rank] else 0
        return distinct
    return -abs(rows - 2 * median_cut(histogram, ranks, rows, nodes, depth).left)


@compiled
def median_cut(histogram: Int64, ranks: Ranks, rows: int, nodes: Int32, depth: int) -> Cut:
    """The strict cut of an attribute: rows with the same value stay together.

    Without a taxonomy it is at the lower median, or at the value before it where nothing would be left on the right.
    With one, it is at the boundary between children of the node that covers the rows which leaves the sides most even.
    """
    if depth:
        return _taxonomy_cut(histogram, ranks, rows, nodes, depth)
    left, rank = histogram[0] + histogram[1], ranks.low
    while left < (rows + 1) // 2:
        rank += 1
        left += histogram[rank - ranks.low + 1]
    if rank == ranks.high:
        left -= histogram[rank - ranks.low + 1]
        rank -= 1
        while rank > ranks.low and histogram[rank - ranks.low + 1] == 0:
            rank -= 1
    return Cut(int(rank), int(left), int(left))


@compiled
def _taxonomy_cut(histogram: Int64, ranks: Ranks, rows: int, nodes: Int32, depth: int) -> Cut:
    cover = 0
    while cover + 1 < depth and nodes[cover + 1, ranks.low] == nodes[cover + 1, ranks.high]:
        cover += 1
    below = min(cover + 1, depth - 1)
    left, best, best_left = histogram[0], -1, np.int64(0)
    for rank in range(ranks.low, ranks.high):
        left += histogram[rank - ranks.low + 1]
        if nodes[below, rank] != nodes[below, rank + 1] and (
            best < 0 or abs(rows - 2 * left) < abs(rows - 2 * best_left)
        ):
            best, best_left = rank, left
    return Cut(int(best), int(best_left), int(best_left))


@compiled
def relaxed_cut(histogram: Int64, ranks: Ranks, rows: int) -> Cut:
    """The cut that sends half of the rows left, though the median's value may then be on both sides."""
    half = max((rows + 1) // 2, int(histogram[0]))  # missing values stay together
    below, rank = histogram[0], ranks.low
    while below + histogram[rank - ranks.low + 1] < half:
        below += histogram[rank - ranks.low + 1]
        rank += 1
    return Cut(int(rank), int(half - below), int(half))
