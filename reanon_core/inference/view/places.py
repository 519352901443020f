"""Places: what a release shows of a person beside the values: a group and a box, for rows that look the same."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.view.value_sets import BITS, group_masks, highest_value
from reanon_core.model.arrays import Int8, Int32, Int64, UInt64
from reanon_core.model.release import Boxes, Release, covers

ANY_BOX = -1
"""It is not known which of the boxes that contain a person is theirs."""
_covers = compiled(covers)


@dataclass(frozen=True, eq=False)
class Places:
    """The places of one release: those of box b are start[b] .. start[b + 1] - 1."""

    start: Int64  # [boxes + 1]
    signature: Int64  # [q] the number of the group's set of values, the same in all releases
    rows: Int64  # [q] how many rows the place has
    values: UInt64  # [q, words] the values of the group
    boxes: Boxes

    @property
    def smallest_box(self) -> int:
        """The rows of the smallest box, 0 if there is none."""
        if not len(self.rows):
            return 0
        return int(np.add.reduceat(self.rows, np.unique(self.start[:-1][np.diff(self.start) > 0])).min())

    def signature_masks(self, count: int) -> UInt64:
        """The signatures of each box, as bit masks over so many signatures, uint64[boxes, words]."""
        masks = np.zeros((self.boxes.count, max(1, -(-count // BITS))), np.uint64)
        box = np.repeat(np.arange(self.boxes.count), np.diff(self.start))
        bits = np.uint64(1) << (self.signature % BITS).astype(np.uint64)
        np.bitwise_or.at(masks, (box, self.signature // BITS), bits)
        return masks


def places_of(releases: Sequence[Release], values: int) -> tuple[list[Places], int]:
    """The places of each release, and how many signatures all of them show.

    A decoupled release has a place for each group and box of its people's rows; any other has one for each group.
    """
    values = max(values, highest_value(tuple(releases)) + 1, 1)
    masks = [group_masks(release, values) for release in releases]
    distinct, number = np.unique(np.concatenate(masks), axis=0, return_inverse=True)
    signatures = np.split(number.reshape(-1), np.cumsum([len(mask) for mask in masks])[:-1])
    return [_places(*one) for one in zip(releases, masks, signatures, strict=True)], len(distinct)


def count_places(qi: Int32, own: Int32, places: Places, allowed: UInt64) -> tuple[Int64, Int64, UInt64]:
    """For each person: how many places may be theirs, how many rows these have, and the values that they show.

    `own` is the box of each, or ANY_BOX; `allowed` the signatures that each may have, as bit masks.
    """
    boxes = (places.boxes.low.copy(), places.boxes.high.copy(), places.boxes.missing.copy())
    table = (places.start.copy(), places.signature.copy(), places.rows.copy(), places.values.copy())
    return _count(np.ascontiguousarray(qi).copy(), own.copy(), boxes, table, allowed.copy())


def _places(release: Release, masks: UInt64, signature: Int64) -> Places:
    rows = release.person_rows
    group, box, boxes = (
        (release.group, release.group, release.boxes) if rows is None else (rows.group, rows.box, rows.boxes)
    )
    pairs, count = np.unique(box.astype(np.int64) * (len(masks) + 1) + group, return_counts=True)
    at, of_group = pairs // (len(masks) + 1), pairs % (len(masks) + 1)
    start = np.searchsorted(at, np.arange(boxes.count + 1))
    return Places(start, signature[of_group], count, masks[of_group], boxes)


@compiled
def _count(
    qi: Int32,
    own: Int32,
    boxes: tuple[Int32, Int32, Int8],
    table: tuple[Int64, Int64, Int64, UInt64],
    allowed: UInt64,
) -> tuple[Int64, Int64, UInt64]:
    low, high, missing = boxes
    start, signature, size, values = table
    places, rows = np.zeros(len(own), np.int64), np.zeros(len(own), np.int64)
    shown = np.zeros((len(own), values.shape[1]), np.uint64)
    for person in range(len(own)):
        first, end = 0, low.shape[1]
        if own[person] >= 0:
            first, end = own[person], own[person] + 1
        for box in range(first, end):
            inside = True
            if own[person] < 0:
                for attribute in range(len(qi)):
                    sign, code = missing[attribute, box], qi[attribute, person]
                    if not _covers(low[attribute, box], high[attribute, box], sign, code):
                        inside = False
                        break
            if not inside:
                continue
            for place in range(start[box], start[box + 1]):
                kind = signature[place]
                if (allowed[person, kind >> 6] >> np.uint64(kind & 63)) & np.uint64(1):
                    places[person] += 1
                    rows[person] += size[place]
                    for word in range(values.shape[1]):
                        shown[person, word] |= values[place, word]
    return places, rows, shown
