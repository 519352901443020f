"""Flaws of published intervals, in themselves and against the values of their members."""

from collections.abc import Sequence

import numpy as np

from reanon_core.checks.grid_ends import off_grid
from reanon_core.model.arrays import MISSING, Bool, Int8, Int32, Int64
from reanon_core.model.release import ALL_MISSING, ANYTHING, NONE_MISSING, SOME_MISSING, Boxes, covers
from reanon_core.model.schema import Ends, QuasiIdentifier


def unpublished_flaws(boxes: Boxes, shown: Bool) -> int:
    """How many boxes reveal something about a column that is not shown."""
    low, high, missing = ANYTHING
    says = (boxes.low != low) | (boxes.high != high) | (boxes.missing != missing)
    return _count(says[~shown])


def box_flaws(boxes: Boxes, columns: Sequence[QuasiIdentifier], shown: Bool) -> dict[str, int]:
    """Flaws of the intervals themselves, counted over groups and shown columns.

    Paper: [XT07] Definition 2, and Section 4.1 on the least length of an interval.
    """
    if not shown.all():
        boxes = Boxes(boxes.low[shown], boxes.high[shown], boxes.missing[shown])
        columns = [column for column, here in zip(columns, shown, strict=True) if here]
    low, high = boxes.low.astype(np.int64), boxes.high.astype(np.int64)
    interval = boxes.missing != ALL_MISSING  # without members that have a value there is no interval
    absent = (boxes.low == MISSING, boxes.high == MISSING)
    least = np.array([column.min_width for column in columns], dtype=np.int64)[:, None]
    return {
        "unknown missing flags": _count((boxes.missing < NONE_MISSING) | (boxes.missing > ALL_MISSING)),
        "intervals at odds with their missing flag": _count((absent[0] == interval) | (absent[1] == interval)),
        "intervals that end before they begin": _count(interval & (low > high)),
        "intervals too narrow": _count(interval & (low <= high) & (high - low + 1 < least)),
        "intervals outside the domain": _count(interval & _outside(boxes, columns)),
        **_end_flaws(boxes, columns, interval),
    }


def membership_flaws(boxes: Boxes, qi: Int32, position: Int64, group: Int32, *, grouped: bool = True) -> dict[str, int]:
    """Flaws of the intervals against the values of their members.

    `position` and `group` say where each published person is in the snapshot and in the release. Where rows have boxes
    of their own, a box covers other people too, so its missing sign is not judged by its row's person.
    Paper: [XT07] Definition 2, property 2: the interval covers the value.
    """
    uncovered = flags = 0
    members = np.bincount(group, minlength=boxes.count)
    for low, high, missing, column in zip(boxes.low, boxes.high, boxes.missing, qi, strict=True):
        codes = column[position]
        lacking = codes == MISSING
        uncovered += len(codes) - _count(covers(low[group], high[group], missing[group], codes))
        flags += _count(_wrong_flags(missing, members, group[lacking])) if grouped else 0
    return {"values outside their interval": uncovered, "wrong missing flags": flags}


def _wrong_flags(missing: Int8, members: Int64, lacking: Int32) -> Bool:
    """Groups whose missing sign contradicts their members; a group of counterfeits alone has no members."""
    lack = np.bincount(lacking, minlength=len(members))
    expected = np.where(lack == 0, NONE_MISSING, np.where(lack == members, ALL_MISSING, SOME_MISSING))
    wrong: Bool = (members > 0) & (missing != expected)
    return wrong


def _end_flaws(boxes: Boxes, columns: Sequence[QuasiIdentifier], interval: Bool) -> dict[str, int]:
    """Intervals with an end inside a bin; nothing to count if all ends may be exact."""
    gridded = [index for index, column in enumerate(columns) if column.ends is Ends.GRID]
    if not gridded:
        return {}
    off = sum(
        _count(interval[index] & off_grid(boxes.low[index], boxes.high[index], columns[index])) for index in gridded
    )
    return {"intervals that end inside a bin": off}


def _outside(boxes: Boxes, columns: Sequence[QuasiIdentifier]) -> Bool:
    outside = np.zeros(boxes.low.shape, dtype=np.bool_)
    for index, column in enumerate(columns):
        if (domain := _declared_domain(column)) is not None:
            outside[index] = (boxes.low[index] < domain[0]) | (boxes.high[index] > domain[1])
    return outside


def _declared_domain(column: QuasiIdentifier) -> tuple[int, int] | None:
    """The first and last code; the values of a category are its leaves, whether or not a domain is declared."""
    if column.domain is None and column.taxonomy is not None:
        return 0, len(column.taxonomy.leaves) - 1
    return column.domain


def _count(flags: Bool) -> int:
    return int(np.count_nonzero(flags))
