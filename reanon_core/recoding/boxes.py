"""The generalized values of a group: the intervals that cover its members, with the ends that the series declares."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import MISSING, Int8, Int32
from reanon_core.model.plan import Plan
from reanon_core.model.release import ALL_MISSING, SOME_MISSING, Boxes
from reanon_core.model.schema import Ends, QuasiIdentifier, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.bins import align


def bounding_boxes(snapshot: Snapshot, plan: Plan) -> Boxes:
    """The box of each group, over its real members; counterfeits have no quasi-identifiers.

    Paper: [XT07] Section 4.1: minimum intervals, of at least the threshold length; aligned to the grid unless the ends
    are exact.

    Requires: every group has a real member.
    """
    return cover_rows(snapshot.qi, plan.group, plan.groups, snapshot.schema)


def cover_rows(qi: Int32, group: Int32, groups: int, schema: Schema) -> Boxes:
    """The box of each group of rows, with the ends that the columns declare; rows of a negative group are left out."""
    low, high, missing = _extents(qi, group, groups)
    for attribute, column in enumerate(schema.quasi_identifiers):
        widen(low[attribute], high[attribute], missing[attribute], column)
    return Boxes(low, high, missing)


@compiled
def _extents(qi: Int32, group: Int32, groups: int) -> tuple[Int32, Int32, Int8]:
    attributes, rows = qi.shape
    low = np.full((attributes, groups), 2**31 - 1, dtype=np.int32)
    high = np.full((attributes, groups), MISSING, dtype=np.int32)
    missing = np.zeros((attributes, groups), dtype=np.int8)
    for attribute in range(attributes):
        for row in range(rows):
            own = group[row]
            if own < 0:
                continue
            code = qi[attribute, row]
            if code == MISSING:
                missing[attribute, own] = SOME_MISSING
            else:
                low[attribute, own] = min(low[attribute, own], code)
                high[attribute, own] = max(high[attribute, own], code)
        for own in range(groups):
            if high[attribute, own] == MISSING:
                low[attribute, own] = MISSING
                missing[attribute, own] = ALL_MISSING
    return low, high, missing


def widen(low: Int32, high: Int32, missing: Int8 | Int32, column: QuasiIdentifier) -> None:
    """Widen intervals to the ends of their bins or, if ends are exact, to the least width."""
    if column.ends is Ends.EXACT:
        _widen_upwards(low, high, missing, column)
        return
    some = missing != ALL_MISSING
    first, last = low[some], high[some]
    align(first, last, column)
    low[some], high[some] = first, last


def _widen_upwards(low: Int32, high: Int32, missing: Int8 | Int32, column: QuasiIdentifier) -> None:
    """Widen intervals upwards, and shift them down at the end of a declared domain.

    The width of an interval is high - low + 1 codes.
    """
    narrow = (missing != ALL_MISSING) & (high.astype(np.int64) - low < column.min_width - 1)
    if not narrow.any():
        return
    wide = low[narrow].astype(np.int64) + column.min_width - 1
    if column.bounds is not None:
        wide = np.minimum(wide, column.bounds[1])
        low[narrow] = np.minimum(low[narrow], wide - column.min_width + 1)
    high[narrow] = wide
