"""Flaws of published intervals in themselves, a chunk of groups at a time."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int8, Int32
from reanon_core.model.release import ALL_MISSING, ANYTHING, NONE_MISSING, Boxes
from reanon_core.model.schema import Ends, QuasiIdentifier
from reanon_dagster.judges.bins import ends_inside_a_bin
from reanon_dagster.judges.workspace import Workspace

KINDS = (
    "unknown missing flags",
    "intervals at odds with their missing flag",
    "intervals that end before they begin",
    "intervals too narrow",
    "intervals outside the domain",
)
INSIDE_A_BIN = "intervals that end inside a bin"


def interval_flaws(
    boxes: Boxes, columns: Sequence[QuasiIdentifier], shown: Sequence[bool], space: Workspace
) -> dict[str, int]:
    """The flaws by kind, counted over groups and shown columns.

    Paper: [XT07] Definition 2, and Section 4.1 on the least length of an interval.
    """
    flaws: Counter[str] = Counter()
    for number, column in enumerate(columns):
        for part in space.chunks(boxes.count if shown[number] else 0, boxes.low, boxes.high, boxes.missing):
            low, high = boxes.low[number, part], boxes.high[number, part]
            flaws.update(_flaws(low, high, boxes.missing[number, part], column))
    gridded = any(column.ends is Ends.GRID for column, here in zip(columns, shown, strict=True) if here)
    return {kind: flaws[kind] for kind in (*KINDS, *((INSIDE_A_BIN,) if gridded else ()))}


def telling_boxes(boxes: Boxes, shown: Sequence[bool], space: Workspace) -> int:
    """How many intervals of columns that are not shown say something all the same."""
    told = 0
    for number in (number for number, here in enumerate(shown) if not here):
        for part in space.chunks(boxes.count):
            sides = (boxes.low[number, part], boxes.high[number, part], boxes.missing[number, part])
            silent = [side == anything for side, anything in zip(sides, ANYTHING, strict=True)]
            told += _count(~np.logical_and.reduce(silent))
    return told


def _flaws(low: Int32, high: Int32, missing: Int8, column: QuasiIdentifier) -> dict[str, int]:
    interval = missing != ALL_MISSING  # where every member lacks the value there must be none
    at_odds = ((low == MISSING) == interval) | ((high == MISSING) == interval)
    width = high.astype(np.int64) - low + 1
    flaws = (
        (missing < NONE_MISSING) | (missing > ALL_MISSING),
        at_odds,
        interval & (width < 1),
        interval & (width >= 1) & (width < column.min_width),
        interval & _outside_domain(low, high, column),
    )
    counts = {kind: _count(flaw) for kind, flaw in zip(KINDS, flaws, strict=True)}
    if column.ends is Ends.GRID:
        counts[INSIDE_A_BIN] = _count(interval & ends_inside_a_bin(low, high, column))
    return counts


def _outside_domain(low: Int32, high: Int32, column: QuasiIdentifier) -> Bool:
    """Which intervals leave the declared domain; that of a category is its leaves."""
    domain = column.domain
    if domain is None and column.taxonomy is not None:
        domain = 0, len(column.taxonomy.leaves) - 1
    if domain is None:
        return np.zeros(len(low), np.bool_)
    outside: Bool = (low < domain[0]) | (high > domain[1])
    return outside


def _count(flags: Bool) -> int:
    return int(np.count_nonzero(flags))
