"""Regions: new rows that are near each other, so that a signature finds its values in one place.

Paper: none; departure D15 of m-invariance. New rows enter the buckets region by region, in whole layers. Then a group
tells how values and quasi-identifiers go together. Regions are cut from quasi-identifiers, from sizes, and from what
the buckets of old rows show; never from a value of a person.
"""

from collections.abc import Callable
from math import fsum, sqrt
from typing import Literal, NamedTuple

import numpy as np

from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import MISSING, Bool, Int32, Int64

Regions = Literal["none", "sizes"]

LEAST_ROWS = 25
"""A region has at least so many rows for each value that a signature must have."""
TABLE_ROWS = 25
"""A table is cut only if it has so many new rows for each known value, times m: fewer show no relation."""
VALUES = 3
"""Regions are cut only if so many values are known for each unit of m: with fewer, one is soon too frequent."""
FINENESS, COARSEST, FINEST = 30, 5, 10
"""What m is compared with in `least_rows`, and the bounds of the result."""
BINS = 16
"""A relation is looked for between so many bins of a quasi-identifier, with about as many old rows in each."""
SAMPLE = 1 << 17
"""At most so many old rows are looked at."""
WHOLE = 1 << 20
"""A row counts as so much, divided among the values of its signature: whole numbers are the same on every machine."""
CHANCE = 3.0
"""How many standard deviations beyond its mean a chi-square must be to be more than chance."""


class ShownRows(NamedTuple):
    """What is public of the rows in buckets: who is where, and which values that bucket shows."""

    qi: Int32  # [d, old]
    signature: Int32  # [old]
    signatures: Signatures


class _Binned(NamedTuple):
    """A quasi-identifier in bins, and how strongly it goes together with the values that old rows show."""

    bin: Int32  # [new] the bin of each new row
    bins: int
    relation: float


Cut = Callable[[Int32, int], Bool | None]
"""Which of some new rows are in the lower half, each half having so many rows or more; None if they are not cut."""


def region_of_new_rows(qi: Int32, shown: ShownRows, m: int, values: int) -> Int32:
    """The region of each new row [n], from 0 on.

    `qi` [d, n] are the quasi-identifiers of the new rows, `values` is the number of sensitive values. Where at least
    half of the rows are new, as in the first release, regions are cut along every quasi-identifier, if there are rows
    enough to show a relation. Otherwise a quasi-identifier is cut as far as the old rows show one: where they do not,
    regions would cost counterfeits and give nothing.

    Ensures: a permutation of the values within the buckets changes nothing.
    """
    rows = qi.shape[1]
    first = rows >= len(shown.signature)
    if values < VALUES * m or (first and rows < TABLE_ROWS * m * values):
        return np.zeros(rows, dtype=np.int32)
    least = least_rows(rows, m, values)
    if first:
        spans = np.array([max(1, _width(_with_missing_below(codes))) for codes in qi])
        return _divided(rows, least, lambda region, fewest: _widest_half(qi, region, spans, fewest))
    columns = [column for codes, old in zip(qi, shown.qi, strict=True) if (column := _binned(codes, old, shown))]
    return _divided(rows, least, lambda region, fewest: _related_half(columns, region, fewest))


def least_rows(rows: int, m: int, values: int) -> int:
    """The least number of rows of a region: many rows give more regions, and larger ones.

    Small regions keep more of the relations. They also make many signatures, and a value is more often too frequent in
    one; both cost counterfeits in every later release, hardly any with a small m and many with a large one.
    docs/techniques/m-invariance.md has the measurements.
    """
    wanted = rows * rows * m * values
    root: int = round(wanted ** (1 / 3))
    root += int((root + 1) ** 3 <= wanted) - int(root**3 > wanted)  # the same on every machine
    return max(LEAST_ROWS * m, root // min(max(COARSEST, FINENESS // m), FINEST))


def _divided(rows: int, least: int, cut: Cut) -> Int32:
    """The region of each row, halved again and again until no half would have `least` rows."""
    region = np.zeros(rows, dtype=np.int32)
    waiting, number = [np.arange(rows, dtype=np.int32)], 0
    while waiting:
        here = waiting.pop()
        lower = cut(here, least) if len(here) >= 2 * least else None
        if lower is None:
            region[here] = number
            number += 1
        else:
            waiting += [here[~lower], here[lower]]
    return region


def _widest_half(of_attributes: Int32, region: Int32, spans: Int64, least: int) -> Bool | None:
    """The lower half on the relatively widest attribute that has a cut.

    Attributes are looked at one by one: a copy of all of them would be as large as the table.
    """
    widths = np.array([_width(_with_missing_below(codes[region])) for codes in of_attributes]) / spans
    for attribute in np.argsort(-widths, kind="stable").tolist():
        lower = _lower_half(_with_missing_below(of_attributes[attribute][region]), least)
        if lower is not None:
            return lower
    return None


def _related_half(columns: list[_Binned], region: Int32, least: int) -> Bool | None:
    """The lower half on the attribute whose bins, as far as the region still spans them, tell most about the values."""
    told = []
    for column in columns:
        spanned = _width(column.bin[region]) / (column.bins - 1)
        told.append(column.relation * spanned * spanned)
    for attribute in np.argsort(-np.array(told), kind="stable").tolist():
        lower = _lower_half(columns[attribute].bin[region], least) if told[attribute] else None
        if lower is not None:
            return lower
    return None


def _lower_half(codes: Int32, least: int) -> Bool | None:
    """Which codes are below the median, or up to it, whichever halves are more alike; None if one is too small."""
    median = int(np.partition(codes, len(codes) // 2)[len(codes) // 2])
    below = [int(np.count_nonzero(codes < cut)) for cut in (median, median + 1)]
    smaller = [min(count, len(codes) - count) for count in below]
    best = int(smaller[1] > smaller[0])
    if smaller[best] < least:
        return None
    lower: Bool = codes < median + best
    return lower


def _binned(codes: Int32, old: Int32, shown: ShownRows) -> _Binned | None:
    """The quasi-identifier in bins; None if old rows show no relation with the values."""
    some = slice(None, None, max(1, -(-len(old) // SAMPLE)))
    distinct, place, rows = np.unique(old[some], return_inverse=True, return_counts=True)
    middle = np.cumsum(rows) - rows // 2
    _, bin_of = np.unique(middle * BINS // (int(rows.sum()) + 1), return_inverse=True)
    bins = int(bin_of[-1]) + 1
    strength = strongest(_shown_values(bin_of[place], bins, shown.signature[some], shown.signatures))
    if not strength:
        return None
    least_code = distinct[np.flatnonzero(np.diff(bin_of, prepend=-1))]
    own = np.maximum(least_code.searchsorted(codes, side="right") - 1, 0).astype(np.int32)
    return _Binned(own, bins, strength)


def _shown_values(bin_of: Int64, bins: int, signature: Int32, signatures: Signatures) -> Int64:
    """How much of each value [bins, values] the rows of each bin show; a row shows all values of its bucket alike."""
    rows = np.bincount(bin_of * signatures.count + signature, minlength=bins * signatures.count)
    share = signatures.per_slot(WHOLE // np.diff(signatures.offsets))
    table = np.zeros((bins, int(signatures.values.max()) + 1), dtype=np.int64)
    for of_bin, counts in zip(table, rows.reshape(bins, signatures.count), strict=True):
        np.add.at(of_bin, signatures.values, signatures.per_slot(counts) * share)
    return table


def strongest(table: Int64) -> float:
    """The strongest relation [bins, values] between bins, or pairs of bins, or pairs of these, and so on, and values.

    Many bins show a relation that goes up and down; few are enough for one that does not, and chance hides it less.
    """
    found: list[float] = []
    while len(table) > 1:
        found.append(relation(table))
        table = np.add.reduceat(table, np.arange(0, len(table), 2))
    return max(found, default=0.0)


def relation(table: Int64) -> float:
    """How strongly bins and values go together: chi-square beyond its mean under chance, for each row.

    `table` [bins, values] counts rows in units of WHOLE. 0 if chance could well explain it: a column that is related
    only by chance must not be cut.
    """
    table = table[:, table.any(axis=0)]
    total = int(table.sum())
    expected = table.sum(axis=1, keepdims=True) * (table.sum(axis=0) / total)
    rows = total / WHOLE
    chi_square = fsum((((table - expected) ** 2 / expected) / WHOLE).ravel().tolist())
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    if chi_square <= freedom + CHANCE * sqrt(2 * freedom):
        return 0.0
    strength: float = (chi_square - freedom) / rows
    return strength


def _with_missing_below(codes: Int32) -> Int32:
    """The codes, with one below the least of the others instead of MISSING."""
    missing = codes == MISSING
    if not missing.any():
        return codes
    present = codes[~missing]
    return np.where(missing, np.int32(present.min() - 1 if len(present) else 0), codes)


def _width(codes: Int32) -> int:
    return int(codes.max()) - int(codes.min()) if len(codes) else 0


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
