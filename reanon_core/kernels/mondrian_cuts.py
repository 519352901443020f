"""Where Mondrian cuts: histograms of ranks, medians, boundaries of taxonomies, and which attribute is best."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64, UInt64

WIDTH, DISTINCT, BALANCE = 0, 1, 2
"""The heuristics that choose the attribute."""


@compiled
def rank_in(word: np.uint64, shift: np.uint64, top: np.uint64) -> int:
    """The rank in a lane; the neutral element, a missing value, counts as the one before the first."""
    lane = (word >> shift) & top
    return -1 if lane == top else int(np.int64(lane))


@compiled
def lane_of(width: int, attribute: int) -> tuple[int, np.uint64, np.uint64]:
    """The word, the shift and the mask of an attribute's rank."""
    per_word = 64 // width
    shift = np.uint64((2 * attribute % per_word) * width)
    return 2 * attribute // per_word, shift, (np.uint64(1) << np.uint64(width - 1)) - np.uint64(1)


@compiled
def count_ranks(
    words: UInt64, width: int, attribute: int, low: int, high: int, begin: int, end: int, histogram: Int64
) -> None:
    """How many rows have each rank, from the least on; the rows without a value stand before it, at histogram[0]."""
    word, shift, top = lane_of(width, attribute)
    source = words[word]
    histogram[: high - low + 2] = 0
    for row in range(begin, end):
        rank = rank_in(source[row], shift, top)
        histogram[0 if rank < 0 else rank - low + 1] += 1


@compiled
def cut_score(
    words: UInt64,
    width: int,
    place: Int64,
    attribute: int,
    low: Int64,
    high: Int64,
    begin: int,
    end: int,
    histogram: Int64,
    heuristic: int,
    nodes: Int32,
    depths: Int64,
) -> int:
    """How good it is to cut this attribute: its width, its number of values, or how even its cut is."""
    if heuristic == WIDTH:
        return int(place[attribute, high[attribute]] - place[attribute, low[attribute]])
    count_ranks(words, width, attribute, low[attribute], high[attribute], begin, end, histogram)
    if heuristic == DISTINCT:
        distinct = 0
        for rank in range(1, high[attribute] - low[attribute] + 2):
            distinct += 1 if histogram[rank] else 0
        return distinct
    _, size = median_cut(histogram, low[attribute], high[attribute], end - begin, nodes[attribute], depths[attribute])
    return -abs(end - begin - 2 * size)


@compiled
def median_cut(histogram: Int64, low: int, high: int, rows: int, nodes: Int32, depth: int) -> tuple[int, int]:
    """The rank up to which rows go left, and how many they are.

    Without a taxonomy the lower median, or the value before it where nothing would be left on the right. With one, the
    boundary between children of the node that covers the rows which leaves the sides most even.
    """
    if depth:
        return _taxonomy_cut(histogram, low, high, rows, nodes, depth)
    size, rank = histogram[0] + histogram[1], low
    while size < (rows + 1) // 2:
        rank += 1
        size += histogram[rank - low + 1]
    if rank == high:
        size -= histogram[rank - low + 1]
        rank -= 1
        while rank > low and histogram[rank - low + 1] == 0:
            rank -= 1
    return rank, int(size)


@compiled
def _taxonomy_cut(histogram: Int64, low: int, high: int, rows: int, nodes: Int32, depth: int) -> tuple[int, int]:
    cover = 0
    while cover + 1 < depth and nodes[cover + 1, low] == nodes[cover + 1, high]:
        cover += 1
    below = min(cover + 1, depth - 1)
    size, best, best_size = histogram[0], -1, np.int64(0)
    for rank in range(low, high):
        size += histogram[rank - low + 1]
        if nodes[below, rank] != nodes[below, rank + 1] and (
            best < 0 or abs(rows - 2 * size) < abs(rows - 2 * best_size)
        ):
            best, best_size = rank, size
    return best, int(best_size)


@compiled
def relaxed_cut(histogram: Int64, low: int, rows: int) -> tuple[int, int, int]:
    """The median's rank, half of the rows, and how many of those with the median's value go left with them."""
    half, below, rank = max((rows + 1) // 2, int(histogram[0])), histogram[0], low  # missing values stay together
    while below + histogram[rank - low + 1] < half:
        below += histogram[rank - low + 1]
        rank += 1
    return rank, half, int(half - below)
