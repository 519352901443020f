"""Mondrian: cut a table in two again and again, as long as both sides satisfy the principle.

Rows are moved physically, so that every pass over a node runs along memory: their packed ranks (kernels/lanes.py),
their sensitive value and their number. The extent of a node on all attributes is one pass of packed minima.
"""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.mondrian_cuts import count_ranks, cut_score, lane_of, median_cut, rank_in, relaxed_cut
from reanon_core.kernels.packed_ranks import guard_bits, lane_minimum
from reanon_core.model.arrays import Float64, Int32, Int64, UInt64

NO_ELL, DISTINCT_ELL, FREQUENCY_ELL = 0, 1, 2


@compiled
def mondrian(
    words: UInt64,  # [w, n] packed ranks; consumed
    width: int,
    sensitive: Int32,  # [n]
    place: Int64,  # [d, distinct] scaled position of each rank
    nodes: Int32,  # [d, depth, distinct] taxonomy node of each rank at each depth, root first
    depths: Int64,  # [d] depth of each taxonomy, 0 where there is none
    share: Float64,  # [values] share of each sensitive value in the whole table
    k: int,
    ell: int,
    form: int,
    t: float,
    heuristic: int,
    strict: bool,  # noqa: FBT001
) -> tuple[Int32, int]:
    """The class of each row, and the number of classes; 0 if the table as a whole fails the principle.

    Paper: [LDR06] Section 4, the recursive multidimensional partitioning.
    """
    rows, attributes = len(sensitive), len(place)
    sensitive = sensitive.copy()
    number = np.arange(rows).astype(np.int32)
    spare_words = np.empty_like(words)
    spare_values, spare_numbers = np.empty_like(sensitive), np.empty_like(number)
    counts = np.zeros((2, len(share)), dtype=np.int64)
    histogram = np.zeros(place.shape[1] + 1, dtype=np.int64)
    low, high = np.empty(attributes, dtype=np.int64), np.empty(attributes, dtype=np.int64)
    score, tried = np.empty(attributes, dtype=np.int64), np.empty(attributes, dtype=np.bool_)
    group = np.full(rows, -1, dtype=np.int32)
    stack = np.empty((64 + rows, 2), dtype=np.int64)
    for row in range(rows):
        counts[0, sensitive[row]] += 1
    if rows == 0 or not _satisfies(counts[0], rows, share, k, ell, form, t):
        return group, 0
    stack[0, 0], stack[0, 1] = 0, rows
    depth, classes = 1, 0
    while depth:
        depth -= 1
        begin, end = stack[depth, 0], stack[depth, 1]
        left = 0
        if end - begin >= 2 * k:
            _extent(words, width, begin, end, low, high)
            for attribute in range(attributes):
                tried[attribute] = high[attribute] <= low[attribute]
                if not tried[attribute]:
                    score[attribute] = cut_score(
                        words, width, place, attribute, low, high, begin, end, histogram, heuristic, nodes, depths
                    )
            while left == 0:
                best = -1
                for attribute in range(attributes):
                    if not tried[attribute] and (best < 0 or score[attribute] > score[best]):
                        best = attribute
                if best < 0:
                    break
                tried[best] = True
                count_ranks(words, width, best, low[best], high[best], begin, end, histogram)
                cut, size = median_cut(histogram, low[best], high[best], end - begin, nodes[best], depths[best])
                quota = size  # how many rows with the value of the cut go left: all, unless the cut is relaxed
                if not strict and depths[best] == 0:
                    cut, size, quota = relaxed_cut(histogram, low[best], end - begin)
                if size < k or end - begin - size < k:
                    continue
                _sides(words, width, sensitive, best, cut, quota, begin, end, counts)
                if _satisfies(counts[0], size, share, k, ell, form, t) and _satisfies(
                    counts[1], end - begin - size, share, k, ell, form, t
                ):
                    left = size
                    _partition(
                        words,
                        width,
                        sensitive,
                        number,
                        best,
                        cut,
                        quota,
                        begin,
                        end,
                        spare_words,
                        spare_values,
                        spare_numbers,
                    )
        if left:
            stack[depth, 0], stack[depth, 1] = begin + left, end
            stack[depth + 1, 0], stack[depth + 1, 1] = begin, begin + left
            depth += 2
        else:
            for row in range(begin, end):
                group[number[row]] = classes
            classes += 1
    return group, classes


@compiled
def _satisfies(counts: Int64, rows: int, share: Float64, k: int, ell: int, form: int, t: float) -> bool:
    """Whether a set of rows with these value counts satisfies the principle."""
    if rows < k:
        return False
    distinct, most, distance = 0, 0, 0.0
    for value in range(len(counts)):
        if counts[value]:
            distinct += 1
            most = max(most, counts[value])
        distance += abs(counts[value] / rows - share[value])
    if form == DISTINCT_ELL and distinct < ell:
        return False
    if form == FREQUENCY_ELL and most * ell > rows:
        return False
    return t < 0 or distance / 2 <= t + 1e-12


@compiled
def _extent(words: UInt64, width: int, begin: int, end: int, low: Int64, high: Int64) -> None:
    """The least and greatest rank of each attribute over the rows; high < low where all values are missing."""
    top = (np.uint64(1) << np.uint64(width - 1)) - np.uint64(1)
    guard, down = guard_bits(width), np.uint64(width - 1)
    per_word = 64 // width
    for word in range(len(words)):
        source = words[word]
        x = source[begin]
        for row in range(begin + 1, end):
            x = lane_minimum(x, source[row], guard, down)
        for pair in range(per_word // 2):
            attribute = word * (per_word // 2) + pair
            if attribute < len(low):
                lanes = x >> np.uint64(2 * pair * width)
                low[attribute] = np.int64(lanes & top)
                high[attribute] = np.int64(top) - 1 - np.int64((lanes >> np.uint64(width)) & top)


@compiled
def _sides(
    words: UInt64,
    width: int,
    sensitive: Int32,
    attribute: int,
    cut: int,
    quota: int,
    begin: int,
    end: int,
    counts: Int64,
) -> None:
    """How often each sensitive value occurs on either side of the cut."""
    word, shift, top = lane_of(width, attribute)
    source = words[word]
    counts[:] = 0
    equal = 0
    for row in range(begin, end):
        rank = rank_in(source[row], shift, top)
        equal += 1 if rank == cut else 0
        right = 1 if rank > cut or (rank == cut and equal > quota) else 0
        counts[right, sensitive[row]] += 1


@compiled
def _partition(
    words: UInt64,
    width: int,
    sensitive: Int32,
    number: Int32,
    attribute: int,
    cut: int,
    quota: int,
    begin: int,
    end: int,
    spare_words: UInt64,
    spare_values: Int32,
    spare_numbers: Int32,
) -> None:
    """Bring the left side to the front, stably: rows keep the order of their numbers inside every node."""
    word, shift, top = lane_of(width, attribute)
    kept, moved, equal = begin, 0, 0
    for row in range(begin, end):
        rank = rank_in(words[word, row], shift, top)
        equal += 1 if rank == cut else 0
        right = 1 if rank > cut or (rank == cut and equal > quota) else 0
        for part in range(len(words)):
            value = words[part, row]
            words[part, kept], spare_words[part, moved] = value, value
        sensitive[kept], spare_values[moved] = sensitive[row], sensitive[row]
        number[kept], spare_numbers[moved] = number[row], number[row]
        kept += 1 - right
        moved += right
    for i in range(moved):
        for part in range(len(words)):
            words[part, kept + i] = spare_words[part, i]
        sensitive[kept + i], number[kept + i] = spare_values[i], spare_numbers[i]
