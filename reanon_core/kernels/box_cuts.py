"""Cut sets of rows in two, again and again, where boxes gain most for a reader who counts with them.

A reader takes the rows of a box to be spread evenly over it. Of a range that ends somewhere inside, the error on one
attribute is how far the rows up to there are from an even spread. A cut gains what both sides err less than the whole,
and what they are narrower. Boxes with too few rows are merged into the neighbours that lose least.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Float64, Int32, Int64

DENSE = 4
"""Ranks are counted in a table if it has at most this many entries for each row; else they are sorted."""
MOMENTS = 6


class Columns(NamedTuple):
    """What a box shows of each rank: the interval of positions that the rank is published with."""

    first: Int64  # [d, ranks]
    last: Int64  # [d, ranks]
    least: Int64  # [d] the least width of a published interval
    domain: Float64  # [d] the width of the whole attribute


class Profile(NamedTuple):
    """How the rows of a node are spread over one attribute; space that every node uses again."""

    counts: Int64  # [ranks] the rows of each rank
    rank: Int64  # [ranks] the ranks that occur, ascending
    rows: Float64  # [ranks] how many rows have at most this rank
    place: Int64  # [ranks] how many entries of `moments` lead to this rank
    moments: Float64  # [2 * ranks + 1, MOMENTS] sums over positions x with c rows up to them: cc, cx, xx, c, x, 1


class Cut(NamedTuple):
    """The best cut of a node, and what it gains."""

    gain: float
    attribute: int
    rank: int
    """The greatest rank on the left."""


@compiled
def cut_rows(ranks: Int32, columns: Columns, start: Int64, least: int) -> tuple[Int32, int]:
    """The piece of each row, and how many pieces there are.

    `ranks` [n, d] is consumed; rows from start[i] to start[i + 1] are one set. Pieces are numbered set by set. A set is
    cut as long as both sides keep `least` rows and the cut gains something.
    """
    number = np.arange(len(ranks))
    piece_of, pieces = np.empty(len(ranks), dtype=np.int32), 0
    profile = _empty_profile(columns.first.shape[1])
    spare, spare_number = np.empty_like(ranks), np.empty_like(number)
    for own in range(len(start) - 1):
        stack = [(start[own], start[own + 1])]
        while len(stack) > 0:
            begin, end = stack.pop()
            best = Cut(0.0, -1, -1)
            if end - begin >= 2 * least:
                best = _best_cut(ranks[begin:end], columns, least, profile)
            if best.attribute < 0:
                piece_of[number[begin:end]] = pieces
                pieces += 1
                continue
            middle = begin
            right = 0
            for row in range(begin, end):
                if ranks[row, best.attribute] <= best.rank:
                    ranks[middle], number[middle] = ranks[row], number[row]
                    middle += 1
                else:
                    spare[right], spare_number[right] = ranks[row], number[row]
                    right += 1
            ranks[middle:end], number[middle:end] = spare[:right], spare_number[:right]
            stack.append((middle, end))
            stack.append((begin, middle))
    return piece_of, pieces


@compiled
def _empty_profile(ranks: int) -> Profile:
    return Profile(
        np.zeros(ranks, dtype=np.int64),
        np.zeros(ranks, dtype=np.int64),
        np.zeros(ranks, dtype=np.float64),
        np.zeros(ranks, dtype=np.int64),
        np.zeros((2 * ranks + 1, MOMENTS), dtype=np.float64),
    )


@compiled
def _best_cut(node: Int32, columns: Columns, least: int, profile: Profile) -> Cut:
    best = Cut(1e-9, -1, -1)
    for attribute in range(node.shape[1]):
        occurring = _count_ranks(node[:, attribute], profile)
        if occurring < 2:
            continue
        first, last = columns.first[attribute], columns.last[attribute]
        _sum_moments(first, last, occurring, profile)
        best = _best_rank(attribute, columns, occurring, least, profile, best)
    return best


@compiled
def _count_ranks(codes: Int32, profile: Profile) -> int:
    """Fill in the ranks that occur, with the rows of each and up to each; how many there are."""
    lowest, highest = codes.min(), codes.max()
    occurring = 0
    if highest - lowest < DENSE * len(codes):
        profile.counts[lowest : highest + 1] = 0
        for rank in codes:
            profile.counts[rank] += 1
        up_to = 0
        for rank in range(lowest, highest + 1):
            if profile.counts[rank]:
                up_to += profile.counts[rank]
                profile.rank[occurring], profile.rows[occurring] = rank, up_to
                occurring += 1
        return occurring
    ordered = np.sort(codes)
    for row in range(len(ordered)):
        if row + 1 == len(ordered) or ordered[row + 1] != ordered[row]:
            profile.rank[occurring], profile.rows[occurring] = ordered[row], row + 1
            occurring += 1
    return occurring


@compiled
def _sum_moments(first: Int64, last: Int64, occurring: int, profile: Profile) -> None:
    """Fill in the moments, the gaps between the intervals of neighbours among them.

    Positions are counted from the first one of the node, which is 1.
    """
    moments, entries = profile.moments, 0
    origin = first[profile.rank[0]] - 1
    beyond = origin
    for at in range(occurring):
        rank = profile.rank[at]
        if first[rank] > beyond + 1:
            _add_moments(moments, entries, beyond - origin, first[rank] - 1 - beyond, profile.rows[at - 1])
            entries += 1
        width = last[rank] - max(first[rank] - 1, beyond)
        # All rows of an interval are at its end: between its ends a release tells nothing.
        x, c = float(last[rank] - origin), profile.rows[at]
        for index, term in enumerate((c * c, c * x, x * x, c, x, 1.0)):
            moments[entries + 1, index] = moments[entries, index] + width * term
        entries += 1
        profile.place[at] = entries
        beyond = max(beyond, last[rank])


@compiled
def _add_moments(moments: Float64, entries: int, before: int, width: int, c: float) -> None:
    """Add the moments of as many positions after `before`, all with c rows up to them."""
    x, n = float(before), float(width)
    sum_x = n * x + n * (n + 1) / 2
    sum_xx = n * x * x + x * n * (n + 1) + n * (n + 1) * (2 * n + 1) / 6
    for index, term in enumerate((c * c * n, c * sum_x, sum_xx, c * n, sum_x, n)):
        moments[entries + 1, index] = moments[entries, index] + term


@compiled
def _best_rank(attribute: int, columns: Columns, occurring: int, least: int, profile: Profile, best: Cut) -> Cut:
    """The best cut of this attribute, if it gains more than the best one so far."""
    first, last, floor = columns.first[attribute], columns.last[attribute], columns.least[attribute]
    rank, rows, place = profile.rank, profile.rows, profile.place
    origin, end, people = first[rank[0]] - 1, last[rank[occurring - 1]], rows[occurring - 1]
    entries = place[occurring - 1]
    whole = _loss(profile.moments, 0, entries, 0.0, 0.0, people, float(end - origin), floor)
    for at in range(occurring - 1):
        left = rows[at]
        if left < least:
            continue
        if people - left < least:
            break
        after = place[at] + (first[rank[at + 1]] > last[rank[at]] + 1)  # without the gap
        begin = first[rank[at + 1]] - 1
        gain = whole - _loss(profile.moments, 0, place[at], 0.0, 0.0, left, float(last[rank[at]] - origin), floor)
        gain -= _loss(
            profile.moments, after, entries, left, float(begin - origin), people - left, float(end - begin), floor
        )
        if gain / columns.domain[attribute] > best.gain:
            best = Cut(gain / columns.domain[attribute], attribute, rank[at])
    return best


@compiled
def _loss(moments: Float64, begin: int, end: int, c0: float, x0: float, rows: float, width: float, floor: int) -> float:
    """How much an interval errs: the root of the mean squared distance from an even spread, plus one for each row.

    Both times its width. The interval follows position x0, which c0 rows precede.
    """
    cc, cx, xx, c, x, n = moments[end] - moments[begin]
    cc += c0 * c0 * n - 2 * c0 * c
    cx += c0 * x0 * n - c0 * x - x0 * c
    xx += x0 * x0 * n - 2 * x0 * x
    slope = rows / width
    distance = max(0.0, cc - 2 * slope * cx + slope * slope * xx)
    return float(np.sqrt(distance * width) + rows * max(width, float(floor)))


@compiled
def merge_small_boxes(low: Int32, high: Int32, size: Int64, least: int) -> Int64:
    """For each box the one that it is merged into, itself if none, so that every merged box has enough rows.

    The smallest box is merged first, with the box for which the volumes of all their rows grow least. Boxes without
    rows stay alone. Requires: at least `least` rows in all.
    """
    attributes, boxes = low.shape
    into, size = np.arange(boxes), size.copy()
    first, last = low.astype(np.float64), high.astype(np.float64)
    volume = np.ones(boxes)
    for box in range(boxes):
        for attribute in range(attributes):
            volume[box] *= last[attribute, box] - first[attribute, box] + 1
    while True:
        small = -1
        for box in range(boxes):
            if 0 < size[box] < least and (small < 0 or size[box] < size[small]):
                small = box
        if small < 0:
            return into
        best, cost, union = -1, np.inf, 0.0
        for box in range(boxes):
            if box == small or size[box] == 0:
                continue
            both = 1.0
            for attribute in range(attributes):
                both *= (
                    max(last[attribute, box], last[attribute, small])
                    - min(first[attribute, box], first[attribute, small])
                    + 1
                )
            growth = (both - volume[box]) * size[box] + (both - volume[small]) * size[small]
            if growth < cost:
                best, cost, union = box, growth, both
        first[:, best] = np.minimum(first[:, best], first[:, small])
        last[:, best] = np.maximum(last[:, best], last[:, small])
        volume[best] = union
        size[best] += size[small]
        size[small] = 0
        for box in range(boxes):
            if into[box] == small:
                into[box] = best
