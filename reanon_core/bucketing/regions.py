"""Regions: new rows that are near each other, so that a signature finds its values in one place.

Paper: none; departure D15 of m-invariance. New rows enter the buckets region by region, in whole layers. Regions are
cut from quasi-identifiers and sizes. Whether they are cut at all is decided by counts that the release shows anyway.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import MISSING, Bool, Int32, Int64

Regions = Literal["none", "sizes"]

LEAST_ROWS = 25
"""A region and a pilot have at least so many rows for each value that a signature must have."""
PILOT_SHARE = 16
"""One in so many rows of the first release is in the pilot."""
MOST_FREQUENT = (11, 20)
"""Regions are cut if the most frequent value has at most this part of the rows that m-eligibility allows it."""
MOST_FREQUENT_PARTIAL = (17, 20)
"""The same with partial blocks, which cost less where a region is not m-eligible."""


def cells_of(qi: Int32, m: int, values: int, *, pilot: bool) -> Int32:
    """The cell of each new row [n]: cell 0 is the pilot, which may be empty, and the others are the regions.

    `qi` [d, n] are the quasi-identifiers of the new rows, `values` is the number of sensitive values.

    Ensures: no sensitive value is looked at.
    """
    rows = qi.shape[1]
    if not rows:
        return np.empty(0, dtype=np.int32)
    codes = [_with_missing_below(of_one) for of_one in qi]
    spans = np.array([max(1, _width(of_one)) for of_one in codes])
    cell = np.ones(rows, dtype=np.int32)
    if pilot:
        size = max(LEAST_ROWS * m, rows // PILOT_SHARE)
        if size > rows // 2:
            return cell
        along = np.lexsort(codes[::-1])  # evenly over the quasi-identifiers
        cell[along[(np.arange(size) * rows) // size]] = 0
        del along
    others = np.flatnonzero(cell).astype(np.int32)
    for number, region in enumerate(_halved(codes, others, spans, least_rows(rows, m, values)), 1):
        cell[region] = number
    return cell


def least_rows(rows: int, m: int, values: int) -> int:
    """The least number of rows of a region: many new rows give more regions, and larger ones.

    Small regions make small boxes. They also make many signatures, and a value is more often too frequent in one; both
    cost counterfeits. docs/techniques/m-invariance.md has the measurements.
    """
    wanted = rows * rows * m * values
    root: int = round(wanted ** (1 / 3))
    root += int((root + 1) ** 3 <= wanted) - int(root**3 > wanted)  # the same on every machine
    return max(LEAST_ROWS * m, 2 * root // 5)


def are_merged(cells: Int64, shown: Int64, m: int, *, partial: bool = False) -> bool:
    """Whether all cells but the pilot become one region, because a value is too frequent for smaller ones.

    `cells` [cells, values] counts the new rows. `shown` [values] is how often the buckets of old rows show each value;
    where there are none, the pilot decides. `partial` says that regions take partial blocks.

    Ensures: a permutation of the values within a bucket does not change the answer. Buckets show all their values
    equally often. A pilot that is m-eligible enters in whole layers, and any other merges the cells.
    """
    counts = shown if shown.any() else cells[0]
    part, whole = MOST_FREQUENT_PARTIAL if partial else MOST_FREQUENT
    return not counts.any() or int(counts.max()) * m * whole > int(counts.sum()) * part


def merged(cells: Int64) -> Int64:
    """The pilot, and all other cells as one region."""
    return np.stack([cells[0], cells[1:].sum(axis=0)])


def shown_values(signatures: Signatures, depth: Int64, values: int) -> Int64:
    """How often buckets of this depth show each value."""
    return np.bincount(signatures.values, weights=signatures.per_slot(depth), minlength=values).astype(np.int64)


def region_cells(qi: Int32, sensitive: Int32, shown: Int64, m: int, *, partial: bool) -> tuple[Int32, Int64]:
    """The region of each new row [n], and how many new rows of each value each region has [regions, values].

    `qi` [d, n] and `sensitive` [n] are of the new rows; `shown` [values] and `partial` as for `are_merged`.
    """
    cell = cells_of(qi, m, len(shown), pilot=not shown.any())
    count, values = max(2, int(cell.max(initial=0)) + 1), len(shown)
    number = cell.astype(np.int64) * values + sensitive
    cells = np.bincount(number, minlength=count * values).reshape(count, values).astype(np.int64)
    if are_merged(cells, shown, m, partial=partial):
        return np.minimum(cell, 1), merged(cells)
    return cell, cells


def _with_missing_below(codes: Int32) -> Int32:
    """The codes, with one below the least of the others instead of MISSING."""
    missing = codes == MISSING
    if not missing.any():
        return codes
    present = codes[~missing]
    return np.where(missing, np.int32(present.min() - 1 if len(present) else 0), codes)


def _width(codes: Int32) -> int:
    return int(codes.max()) - int(codes.min())


def _halved(codes: list[Int32], rows: Int32, spans: Int64, least: int) -> Iterator[Int32]:
    """The rows, halved again and again until a half would have fewer than `least` rows."""
    waiting = [rows]
    while waiting:
        region = waiting.pop()
        halves = _halves(codes, region, spans, least) if len(region) >= 2 * least else None
        if halves is None:
            yield region
        else:
            waiting += [region[~halves], region[halves]]


def _halves(of_attributes: list[Int32], region: Int32, spans: Int64, least: int) -> Bool | None:
    """Which rows are in the lower half, on the relatively widest attribute that has a cut; None if none has.

    Attributes are looked at one by one: a copy of all of them would be as large as the table.
    """
    widths = np.array([_width(codes[region]) for codes in of_attributes]) / spans
    rows = len(region)
    for attribute in np.argsort(-widths, kind="stable").tolist():
        codes = of_attributes[attribute][region]
        median = int(np.partition(codes, rows // 2)[rows // 2])
        below = [int(np.count_nonzero(codes < cut)) for cut in (median, median + 1)]
        smaller = [min(count, rows - count) for count in below]
        best = int(smaller[1] > smaller[0])
        if smaller[best] >= least:
            lower: Bool = codes < median + best
            return lower
    return None


def allocated_slots(region: Int32, sensitive: Int32, in_order: Int32, taken: Int64, values: Int32) -> Int32:
    """The slot of each new row: the rows of a region and a value fill its slots in the given order.

    `region`, `sensitive`, `in_order` [n] are of the new rows; `taken` [regions, slots] is the plan, `values` [slots].
    """
    slots_by_value = np.argsort(values, kind="stable").astype(np.int32)
    filled = np.concatenate([np.repeat(slots_by_value, of_region[slots_by_value]) for of_region in taken])
    listed = in_order[np.lexsort((sensitive[in_order], region[in_order]))]
    slots = np.empty(len(region), dtype=np.int32)
    slots[listed] = filled
    return slots
