"""The groups of a release part by part, and what they add to the answers of counting queries, in bounded memory."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import ALL_MISSING, Boxes

BLOCK = 4096
"""How many groups are counted at a time, so that they stay in the cache for all queries."""
PART = 1 << 24
"""About how many rows are sorted by group at a time: a release need not fit into memory."""


class PublishedGroups(NamedTuple):
    """Consecutive groups of a release: their boxes, and their sensitive values."""

    low: Int32  # [d, g]
    high: Int32  # [d, g]
    density: Float64  # [g] one over the number of points in the box; 0 if it is in no range
    end: Int64  # [g] where the values of a group end; they begin where those of the group before end
    values: Int32  # [rows]
    weight: Float64  # [g] how many real people a value stands for


def published_groups(entry: Entry) -> Iterator[PublishedGroups]:
    """All groups in order, about PART rows at a time."""
    release, auxiliary, boxes = entry.release, entry.auxiliary, entry.release.boxes
    sizes = np.zeros(boxes.count, np.int32)
    _count_rows(release.group, sizes)
    first = 0
    while first < boxes.count:
        stop, rows = _part_end(sizes, first, PART)
        size = sizes[first:stop]
        end = np.cumsum(size, dtype=np.int64) - size  # the rows that are placed move it
        values = np.empty(rows, np.int32)
        _place_values(release.group, release.sensitive, first, end, values)
        real, fakes = size.astype(np.float64), (auxiliary.group >= first) & (auxiliary.group < stop)
        real[auxiliary.group[fakes] - first] -= auxiliary.count[fakes]
        here = slice(first, stop)
        part = Boxes(boxes.low[:, here], boxes.high[:, here], boxes.missing[:, here])
        yield PublishedGroups(part.low, part.high, densities(part), end, values, real / np.maximum(size, 1))
        first = stop


def densities(boxes: Boxes) -> Float64:
    """One over the number of points in each box; 0 if it is in no range."""
    points = np.prod(boxes.high.astype(np.float64) - boxes.low + 1, axis=0)
    return np.where((boxes.missing == ALL_MISSING).any(axis=0), 0.0, 1 / points)


@compiled
def _count_rows(group: Int32, sizes: Int32) -> None:
    for number in group:
        sizes[number] += 1


@compiled
def _part_end(sizes: Int32, first: int, most: int) -> tuple[int, int]:
    """The end of a part with at most so many rows and groups, or of one group, and the number of its rows."""
    stop, rows = first + 1, sizes[first] + 0
    while stop < len(sizes) and stop - first < most and rows + sizes[stop] <= most:
        rows += sizes[stop]
        stop += 1
    return stop, rows


@compiled
def _place_values(group: Int32, sensitive: Int32, first: int, end: Int64, values: Int32) -> None:
    """Put every value at the end of its group so far."""
    for row in range(len(group)):
        number = group[row] - first
        if 0 <= number < len(end):
            values[end[number]] = sensitive[row]
            end[number] += 1


@compiled
def add_estimates(groups: PublishedGroups, low: Int32, high: Int32, estimates: Float64) -> None:
    """Add what each group contributes to each query, group after group."""
    attributes, count = groups.low.shape
    people, share = np.empty(BLOCK, dtype=np.float64), np.empty(BLOCK, dtype=np.float64)
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        for query in range(low.shape[1]):
            least, most = low[attributes, query], high[attributes, query]
            if query == 0 or least != low[attributes, query - 1] or most != high[attributes, query - 1]:
                _count_in_groups(groups, start, size, least, most, people)
            share[:size] = people[:size]
            for attribute in range(attributes):
                first, last = low[attribute, query], high[attribute, query]
                box_low = groups.low[attribute, start : start + size]
                box_high = groups.high[attribute, start : start + size]
                for box in range(size):
                    share[box] *= max(0, min(box_high[box], last) - np.int64(max(box_low[box], first)) + 1)
            total = estimates[query]
            for box in range(size):
                total += share[box]
            estimates[query] = total


@compiled
def _count_in_groups(groups: PublishedGroups, start: int, size: int, least: int, most: int, people: Float64) -> None:
    """How many people with a sensitive value in the range a point of each box stands for."""
    for box in range(size):
        group, found = start + box, 0
        for row in range(groups.end[group - 1] if group else 0, groups.end[group]):
            found += (groups.values[row] >= least) & (groups.values[row] <= most)
        people[box] = found * groups.weight[group] * groups.density[group]
