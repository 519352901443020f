"""Box lookup: for many points at once, the union of the values of all boxes that contain a point.

People share quasi-identifier values, so there are few distinct points, and each is looked up once. Every bin of values
of every attribute has a bit set of the boxes that reach into it; the boxes that contain a point are among the bits that
its bins have in common. Boxes are processed in blocks, so that the bit sets stay small.

A reader of a release sees the boxes of its groups, or those of its people if it is decoupled. Where people come a part
at a time, what was found for a point is kept.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reanon_core.compiled import compiled
from reanon_core.inference.view.value_sets import group_masks
from reanon_core.model.arrays import MISSING, Int8, Int32, Int64, UInt64, forget_pages
from reanon_core.model.release import Boxes, Release, covers

BINS = 512
"""The most bins of one attribute. With fewer values than that, a bin is a value and its bit set is exact."""
BLOCK_BYTES = 1 << 24
"""How much memory the bit sets of one block of boxes may take: about a processor's cache."""
SCANNED = 1 << 16
"""So many pairs of a point and a box are compared one by one: an index of them would take longer."""
ALL_MISSING = 2
_covers = compiled(covers)
MOST_POINTS = 1 << 20
"""No more points of a release are kept."""


def masks_at(points: Int32, boxes: Boxes, masks: UInt64, *, scanned: int = SCANNED) -> UInt64:
    """The union of the masks of all boxes that contain each point, uint64[points, words].

    `points` holds codes, int32[d, n]; `masks` a bit mask for each box, for instance its sensitive values,
    uint64[boxes, words]. A box contains a missing code if some or all of its members lack the value, and any other code
    if the code lies in its interval.
    Paper: [XT07] Definition 15, for one release.
    """
    if points.shape[1] * boxes.count <= scanned:
        # Copies, because the kernel would be compiled once more for arrays that are read-only.
        low, high, missing = boxes.low.copy(), boxes.high.copy(), boxes.missing.copy()
        return _scan(points.copy(), low, high, missing, masks.copy())
    grid, ranks = _ranked(points)
    kept, inverse = _distinct_points(ranks, [len(codes) for codes in grid])
    unions = np.zeros((len(kept), masks.shape[1]), dtype=np.uint64)
    if len(kept) and boxes.count:
        order = np.argsort(_rarest(masks), kind="stable")
        shift, offset = _bins(grid)
        words = min(max(1, BLOCK_BYTES // (8 * int(offset[-1]))), -(-boxes.count // 64))
        full = np.bitwise_or.reduce(masks, axis=0, keepdims=True)
        distinct = np.ascontiguousarray(ranks[:, kept])
        for start in range(0, boxes.count, 64 * words):
            block = order[start : start + 64 * words]
            first, end = _runs(grid, boxes, block)
            some = Ranges(first, end, shift, offset)
            _unite(distinct, some, _reaching(some, words), masks[block], full, unions)
    return unions[inverse]


def distinct_points(points: Int32) -> tuple[Int64, Int64]:
    """The index of each distinct point, in lexicographic order, and which of them each point equals."""
    grid, ranks = _ranked(points)
    return _distinct_points(ranks, [len(codes) for codes in grid])


@compiled
def _scan(points: Int32, low: Int32, high: Int32, missing: Int8, masks: UInt64) -> UInt64:
    """The same union, by comparing every point with every box."""
    unions = np.zeros((points.shape[1], masks.shape[1]), dtype=np.uint64)
    for box in range(low.shape[1]):
        for point in range(points.shape[1]):
            inside = True
            for attribute in range(len(points)):
                inside = inside and _covers(
                    low[attribute, box], high[attribute, box], missing[attribute, box], points[attribute, point]
                )
            if inside:
                for word in range(masks.shape[1]):
                    unions[point, word] |= masks[box, word]
    return unions


class Ranges(NamedTuple):
    """The boxes in ranks, which are positions among the distinct codes of the points.

    A box admits two runs of ranks of an attribute: its interval, and the rank of the missing code or nothing.
    """

    first: Int64  # [2, d, g] the first rank of each run
    end: Int64  # [2, d, g] the first rank beyond it
    shift: Int64  # [d] the bin of a rank is rank >> shift
    offset: Int64  # [d + 1] where the bins of each attribute begin


def _ranked(points: Int32) -> tuple[list[Int32], Int64]:
    """The distinct codes of each attribute in ascending order, and the points as ranks among them."""
    grid, ranks = [], np.empty(points.shape, dtype=np.int64)
    for attribute, column in enumerate(points):
        codes, ranks[attribute] = _unique_inverse(column)
        grid.append(codes)
    return grid, ranks


def _unique_inverse(column: Int32) -> tuple[Int32, Int64]:
    """The distinct codes in ascending order, and the rank of each; by a table, unless it would be far too long."""
    present = column[column != MISSING]
    low, high = (int(present.min()), int(present.max())) if len(present) else (0, 0)
    if high - low > 4 * len(column) + 1024:
        codes, inverse = np.unique(column, return_inverse=True)
        return codes, inverse
    # Slot 0 is for the missing code, which sorts before all others.
    slot = np.where(column == MISSING, 0, column.astype(np.int64) - (low - 1))
    used = np.zeros(high - low + 2, dtype=np.bool_)
    used[slot] = True
    slots = np.flatnonzero(used)
    return np.where(slots == 0, MISSING, slots + (low - 1)).astype(np.int32), (np.cumsum(used) - 1)[slot]


def _distinct_points(ranks: Int64, sizes: list[int]) -> tuple[Int64, Int64]:
    """The index of each distinct point, in lexicographic order, and which of them each point equals."""
    if np.prod(sizes, dtype=np.float64) < 2.0**62:
        key = np.zeros(ranks.shape[1], dtype=np.int64)
        for rank, size in zip(ranks, sizes, strict=True):
            key = key * size + rank
        _, kept, inverse = np.unique(key, return_index=True, return_inverse=True)
    else:
        _, kept, inverse = np.unique(ranks, axis=1, return_index=True, return_inverse=True)
    return kept, inverse.reshape(-1)


def _bins(grid: list[Int32]) -> tuple[Int64, Int64]:
    """The shift of each attribute, and where its bins begin."""
    sizes = [len(codes) for codes in grid]
    shift = [max(0, ((size - 1) // BINS).bit_length()) for size in sizes]
    bins = [((size - 1) >> by) + 1 for size, by in zip(sizes, shift, strict=True)]
    return np.array(shift, np.int64), np.cumsum([0, *bins], dtype=np.int64)


def _runs(grid: list[Int32], boxes: Boxes, chosen: Int64) -> tuple[Int64, Int64]:
    """The first rank of each run of some boxes, and the first rank beyond it.

    Those of all boxes of a large release would take more memory than the boxes.
    """
    first = np.zeros((2, len(boxes.low), len(chosen)), dtype=np.int64)
    end = np.zeros_like(first)
    for attribute, codes in enumerate(grid):
        missing = boxes.missing[attribute, chosen]
        lack = int(codes[0] == MISSING)
        start = lack + codes[lack:].searchsorted(boxes.low[attribute, chosen], side="left")
        stop = lack + codes[lack:].searchsorted(boxes.high[attribute, chosen], side="right")
        first[0, attribute] = start
        end[0, attribute] = np.where(missing == ALL_MISSING, start, np.maximum(start, stop))
        end[1, attribute] = (missing != 0) & bool(lack)
    return first, end


@compiled
def _rarest(masks: UInt64) -> Int64:
    """How many boxes hold the rarest value of each box.

    In this order the boxes that hold a rare value share words, and all other words are skipped as soon as a union has
    the common values.
    """
    holders = np.zeros((masks.shape[1], 64), dtype=np.int64)
    for box in range(masks.shape[0]):
        for part in range(masks.shape[1]):
            for bit in range(64):
                holders[part, bit] += np.int64((masks[box, part] >> np.uint64(bit)) & np.uint64(1))
    rarest = np.full(masks.shape[0], masks.shape[0], dtype=np.int64)
    for box in range(masks.shape[0]):
        for part in range(masks.shape[1]):
            if masks[box, part] == 0:
                continue
            for bit in range(64):
                if (masks[box, part] >> np.uint64(bit)) & np.uint64(1):
                    rarest[box] = min(rarest[box], holders[part, bit])
    return rarest


@compiled
def _summaries(masks: UInt64) -> UInt64:
    """The union of each run of 64 masks, uint64[runs, words]."""
    summaries = np.zeros(((masks.shape[0] + 63) // 64, masks.shape[1]), dtype=np.uint64)
    for box in range(masks.shape[0]):
        for part in range(masks.shape[1]):
            summaries[box >> 6, part] |= masks[box, part]
    return summaries


@compiled
def _reaching(ranges: Ranges, words: int) -> UInt64:
    """For each bin of each attribute, the set of boxes that admit a value in it, uint64[bins, words]."""
    first, end, shift, offset = ranges
    sets = np.zeros((offset[-1], words), dtype=np.uint64)
    for attribute in range(first.shape[1]):
        by, begin, stop = shift[attribute], offset[attribute], offset[attribute + 1]
        # A bit is flipped where its interval begins and after it ends, so that it is set in between.
        for box in range(first.shape[2]):
            if first[0, attribute, box] < end[0, attribute, box]:
                bit = np.uint64(1) << np.uint64(box & 63)
                sets[begin + (first[0, attribute, box] >> by), box >> 6] ^= bit
                after = begin + ((end[0, attribute, box] - 1) >> by) + 1
                if after < stop:
                    sets[after, box >> 6] ^= bit
        for bin_ in range(begin + 1, stop):
            for word in range(words):
                sets[bin_, word] ^= sets[bin_ - 1, word]
        for box in range(first.shape[2]):
            if first[1, attribute, box] < end[1, attribute, box]:
                sets[begin, box >> 6] |= np.uint64(1) << np.uint64(box & 63)
    return sets


@compiled
def _unite(points: Int64, ranges: Ranges, reaching: UInt64, masks: UInt64, full: UInt64, unions: UInt64) -> None:
    """Add to each point's union the masks of the boxes that contain it; stop where the union is full.

    Requires: points in lexicographic order. Neighbours then share their first bins, and the intersection of the sets of
    those bins is kept from one point to the next.
    """
    shift, offset = ranges.shift, ranges.offset
    attributes, words = points.shape[0], reaching.shape[1]
    common = np.zeros((attributes, words), dtype=np.uint64)
    bins = np.full(attributes, -1, dtype=np.int64)
    exact = not shift.any()
    summaries = _summaries(masks)
    for point in range(points.shape[1]):
        if not _adds(full, 0, unions[point]):
            continue
        stale = False
        for attribute in range(attributes):
            bin_ = offset[attribute] + (points[attribute, point] >> shift[attribute])
            stale = stale or bin_ != bins[attribute]
            if stale:
                bins[attribute] = bin_
                _intersect(common, attribute, reaching[bin_])
        _collect(common[attributes - 1], points[:, point], ranges, exact, masks, summaries, unions[point])


@compiled
def _intersect(common: UInt64, level: int, more: UInt64) -> None:
    """Intersect the set of the level above with one more set."""
    if level == 0:
        common[0, :] = more
        return
    above, here = common[level - 1], common[level]
    for word in range(len(more)):
        here[word] = above[word] & more[word]


@compiled
def _collect(
    boxes: UInt64,
    point: Int64,
    ranges: Ranges,
    exact: bool,  # noqa: FBT001
    masks: UInt64,
    summaries: UInt64,
    union: UInt64,
) -> None:
    """Add the mask of every box of the set that contains the point and may add a value."""
    for word in range(len(boxes)):
        rest = boxes[word]
        if rest == 0 or not _adds(summaries, word, union):
            continue
        box = word << 6
        while rest != 0:
            while rest & np.uint64(0xFF) == 0:
                rest >>= np.uint64(8)
                box += 8
            if rest & np.uint64(1) and (exact or _contains(ranges, box, point)):
                for part in range(len(union)):
                    union[part] |= masks[box, part]
                if not _adds(summaries, word, union):
                    break
            rest >>= np.uint64(1)
            box += 1


@compiled
def _contains(ranges: Ranges, box: int, point: Int64) -> bool:
    """Whether every rank of the point lies in one of the two runs of the box."""
    first, end = ranges.first, ranges.end
    for attribute in range(len(point)):
        rank = point[attribute]
        interval = first[0, attribute, box] <= rank < end[0, attribute, box]
        if not interval and not (first[1, attribute, box] <= rank < end[1, attribute, box]):
            return False
    return True


@compiled
def _adds(sets: UInt64, index: int, union: UInt64) -> bool:
    """Whether that set has a value that the union lacks."""
    for part in range(len(union)):
        if sets[index, part] & ~union[part]:
            return True
    return False


def group_masks_at(points: Int32, release: Release, masks: UInt64) -> UInt64:
    """The union of the masks of all groups that may contain each point, uint64[points, words].

    `masks` has a bit mask for each group. A group may contain a point if its box does; in a decoupled release, if the
    box of one of its people does.
    """
    return masks_at(points, *shown_masks(release, masks))


def shown_masks(release: Release, masks: UInt64) -> tuple[Boxes, UInt64]:
    """The boxes that a reader sees, and the union of the masks of all groups that each of them stands for."""
    rows = release.person_rows
    if rows is None:
        return release.boxes, masks
    united = np.zeros((rows.boxes.count, masks.shape[1]), dtype=np.uint64)
    np.bitwise_or.at(united, rows.box, masks[rows.group])
    return rows.boxes, united


class PointMasks:
    """The boxes of a release with the values of each, and the points that were looked up among them."""

    def __init__(self, release: Release, values: int, most: int | None = None) -> None:
        self._boxes, self._masks = shown_masks(release, group_masks(release, values))
        self._most = MOST_POINTS if most is None else most
        self._points: npt.NDArray[np.void] = _comparable(np.empty((len(self._boxes.low), 0), np.int32))
        self._found = np.empty((0, self._masks.shape[1]), np.uint64)

    def at(self, points: Int32) -> UInt64:
        """The union of the masks of all groups that may contain each point, uint64[points, words]."""
        kept, inverse = distinct_points(points)
        distinct = np.ascontiguousarray(points[:, kept])
        asked = _comparable(distinct)
        place = self._points.searchsorted(asked)
        known = place < len(self._points)
        known[known] = self._points[place[known]] == asked[known]
        unions = np.empty((len(kept), self._masks.shape[1]), np.uint64)
        unions[known] = self._found[place[known]]
        new = np.flatnonzero(~known)
        if len(new):
            unions[new] = masks_at(np.ascontiguousarray(distinct[:, new]), self._boxes, self._masks)
            forget_pages(self._boxes.low, self._boxes.high, self._boxes.missing)
            self._keep(asked[new], unions[new])
        return unions[inverse]

    def _keep(self, points: npt.NDArray[np.void], masks: UInt64) -> None:
        if len(self._points) + len(points) > self._most:
            return
        every = np.concatenate([self._points, points])
        order = np.argsort(every)
        self._points, self._found = every[order], np.concatenate([self._found, masks])[order]


def _comparable(points: Int32) -> npt.NDArray[np.void]:
    """Each point of codes [d, n] as one item that can be compared; the order is any."""
    rows = np.ascontiguousarray(points.T)
    return rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).reshape(-1)
