"""Stabbing: for many points at once, what the boxes that contain a point hold together.

Points are few when told apart (an adversary's people share quasi-identifier values), so each is stabbed once.
For every value of every attribute there is a bit set of the boxes that admit it; the boxes that contain a
point are the bits common to its values. Boxes are taken in blocks, so that the bit sets stay small.
"""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import MISSING, Int32, Int64, UInt64
from reanon_core.model.release import Boxes

BLOCK_BYTES = 1 << 25
"""How much memory the bit sets of one block may take."""
ALL_MISSING = 2


def stabbed_union(points: Int32, boxes: Boxes, payload: UInt64) -> UInt64:
    """The union of the payloads of all boxes that contain each point, uint64[points, words].

    `points` holds codes, int32[d, n]; `payload` a bit mask for each box, uint64[boxes, words].
    A missing code is inside where the box says that some or all members lack the value; any other code
    where the interval holds it.
    Paper: [XT07] Definition 15.
    """
    codes, offsets, ranks = _ranked(points)
    kept, inverse = _told_apart(ranks, np.diff(offsets))
    unions = np.zeros((len(kept), payload.shape[1]), dtype=np.uint64)
    if len(kept) and boxes.count:
        first, last, lacking = _rank_ranges(codes, offsets, boxes)
        words = min(max(1, BLOCK_BYTES // (8 * len(codes))), -(-boxes.count // 64))
        full = np.bitwise_or.reduce(payload, axis=0)
        distinct = np.ascontiguousarray(ranks[:, kept])
        for start in range(0, boxes.count, 64 * words):
            block = slice(start, start + 64 * words)
            sides = [np.ascontiguousarray(side[:, block]) for side in (first, last, lacking)]
            admitted = _admitted(sides[0], sides[1], sides[2], offsets, words)
            _unite(distinct, admitted, payload[block], full, unions)
    return unions[inverse]


def _ranked(points: Int32) -> tuple[Int32, Int64, Int64]:
    """The codes of all attributes one after the other, where each attribute begins, and the points as positions.

    Ensures: positions run over all attributes, so that one array of bit sets serves them all.
    """
    codes, ranks, offsets = [], np.empty(points.shape, dtype=np.int64), [0]
    for attribute, column in enumerate(points):
        values, rank = _unique_inverse(column)
        ranks[attribute] = rank + offsets[-1]
        codes.append(values)
        offsets.append(offsets[-1] + len(values))
    return np.concatenate(codes), np.array(offsets, dtype=np.int64), ranks


def _unique_inverse(column: Int32) -> tuple[Int32, Int64]:
    """The different codes ascending, and where each code is among them, by a table where codes are close."""
    present = column[column != MISSING]
    low, high = (int(present.min()), int(present.max())) if len(present) else (0, 0)
    if high - low + 2 > 4 * len(column) + 1024:
        values, inverse = np.unique(column, return_inverse=True)
        return values, inverse
    # Slot 0 is for the missing code, which sorts before all others.
    slot = np.where(column == MISSING, 0, column.astype(np.int64) - low + 1)
    used = np.zeros(high - low + 2, dtype=np.bool_)
    used[slot] = True
    slots = np.flatnonzero(used)
    values = (slots + (low - 1)).astype(np.int32)
    values[slots == 0] = MISSING
    return values, (np.cumsum(used) - 1)[slot]


def _told_apart(ranks: Int64, sizes: Int64) -> tuple[Int64, Int64]:
    """One index for each different point, in lexicographic order, and which of them each point is."""
    if np.prod(sizes.astype(np.float64)) < 2.0**62:
        key = np.zeros(ranks.shape[1], dtype=np.int64)
        for rank, size in zip(ranks, sizes, strict=True):
            key = key * size + (rank - rank.min(initial=0))
        _, kept, inverse = np.unique(key, return_index=True, return_inverse=True)
    else:
        _, kept, inverse = np.unique(ranks, axis=1, return_index=True, return_inverse=True)
    return kept, inverse.reshape(-1)


def _rank_ranges(codes: Int32, offsets: Int64, boxes: Boxes) -> tuple[Int64, Int64, Int64]:
    """For each attribute and box: the first position inside, the first beyond, and that of the missing code or -1."""
    first = np.empty(boxes.low.shape, dtype=np.int64)
    last = np.empty(boxes.low.shape, dtype=np.int64)
    lacking = np.full(boxes.low.shape, -1, dtype=np.int64)
    for attribute in range(len(boxes.low)):
        start, end = int(offsets[attribute]), int(offsets[attribute + 1])
        values = codes[start:end]
        if values[0] == MISSING:
            lacking[attribute, boxes.missing[attribute] != 0] = start
        present = start + int(values[0] == MISSING)
        whole = codes[present:end]
        first[attribute] = present + whole.searchsorted(boxes.low[attribute], side="left")
        last[attribute] = present + whole.searchsorted(boxes.high[attribute], side="right")
        empty = (boxes.missing[attribute] == ALL_MISSING) | (last[attribute] < first[attribute])
        last[attribute, empty] = first[attribute, empty]
    return first, last, lacking


@compiled
def _admitted(first: Int64, last: Int64, lacking: Int64, offsets: Int64, words: int) -> UInt64:
    """For each value of each attribute, the set of boxes that admit it, uint64[values, words]."""
    sets = np.zeros((offsets[-1], words), dtype=np.uint64)
    for attribute in range(first.shape[0]):
        begin, end = offsets[attribute], offsets[attribute + 1]
        # A bit is flipped where its box begins and where it is over; what is set so far holds in between.
        for box in range(first.shape[1]):
            bit = np.uint64(1) << np.uint64(box & 63)
            if first[attribute, box] < last[attribute, box]:
                sets[first[attribute, box], box >> 6] ^= bit
                if last[attribute, box] < end:
                    sets[last[attribute, box], box >> 6] ^= bit
        for value in range(begin + 1, end):
            for word in range(words):
                sets[value, word] ^= sets[value - 1, word]
        for box in range(first.shape[1]):
            if lacking[attribute, box] >= 0:
                sets[lacking[attribute, box], box >> 6] |= np.uint64(1) << np.uint64(box & 63)
    return sets


@compiled
def _unite(points: Int64, admitted: UInt64, payload: UInt64, full: UInt64, unions: UInt64) -> None:
    """Add to each point's union the payloads of the boxes that admit all its values; stop where it is full.

    Requires: points in lexicographic order. Neighbours then share their first values, and what is common to
    the sets of those values is kept from one point to the next.
    """
    attributes, words = points.shape[0], admitted.shape[1]
    common = np.zeros((attributes, words), dtype=np.uint64)
    valid = 0  # how many levels of `common` belong to the point before
    for point in range(points.shape[1]):
        while valid > 0 and not _same(points, valid, point):
            valid -= 1
        if _is_full(unions[point], full):
            valid = 0
            continue
        for attribute in range(valid, attributes):
            admits = admitted[points[attribute, point]]
            if attribute == 0:
                common[0, :] = admits
            else:
                above, here = common[attribute - 1], common[attribute]
                for word in range(words):
                    here[word] = above[word] & admits[word]
        valid = attributes
        _collect(common[attributes - 1], payload, full, unions[point])


@compiled
def _same(points: Int64, levels: int, point: int) -> bool:
    """Whether the point agrees with the one before it in the first `levels` attributes."""
    for attribute in range(levels):
        if points[attribute, point] != points[attribute, point - 1]:
            return False
    return True


@compiled
def _collect(boxes: UInt64, payload: UInt64, full: UInt64, union: UInt64) -> None:
    """Add the payload of every box of the set to the union, until the union is full."""
    for word in range(len(boxes)):
        rest = boxes[word]
        if rest == 0:
            continue
        box = word << 6
        while rest != 0:
            while rest & np.uint64(0xFF) == 0:
                rest >>= np.uint64(8)
                box += 8
            if rest & np.uint64(1):
                for part in range(len(union)):
                    union[part] |= payload[box, part]
            rest >>= np.uint64(1)
            box += 1
        if _is_full(union, full):
            return


@compiled
def _is_full(union: UInt64, full: UInt64) -> bool:
    for part in range(len(full)):
        if union[part] != full[part]:
            return False
    return True
