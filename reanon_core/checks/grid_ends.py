"""Whether published intervals begin and end where bins do, told from the definition of the bins."""

import datetime as dt

import numpy as np

from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.schema import FOUR_WEEKS, SHARE, SMALLEST, Kind, QuasiIdentifier

INT32 = np.iinfo(np.int32)


def off_grid(low: Int32, high: Int32, column: QuasiIdentifier) -> Bool:
    """Which intervals do not begin where a bin begins, or do not end just before the next one begins."""
    begin, after = low.astype(np.int64), high.astype(np.int64) + 1
    if column.kind is Kind.CATEGORICAL:
        begins = _category_begins(column)
        beyond = (begin < 0) | (begin >= len(begins)) | (after < 0) | (after >= len(begins))
        return beyond | ~begins[np.where(beyond, 0, begin)] | ~begins[np.where(beyond, 0, after)]
    return ~_bin_begins(begin, column) | ~_bin_begins(after, column)


def _bin_begins(codes: Int64, column: QuasiIdentifier) -> Bool:
    """Whether a bin of numbers or dates begins at each code; the code after the last one counts as a beginning."""
    first, last = _outermost(column)
    inside: Bool
    if column.domain is None and column.kind is Kind.NUMERIC and column.min_width == 1:
        size = np.abs(codes)
        share = 2.0 ** np.floor(np.log2(np.maximum(size / SHARE, 1)))
        inside = size % np.maximum(share, SMALLEST) == 0
    else:
        width = _width(column)
        origin = 0 if column.domain is None else first
        whole = (codes - first >= width) & (last - codes + 1 >= width)
        inside = ((codes - origin) % width == 0) & whole
    outermost: Bool = (codes == first) | (codes == last + 1) | (inside & (codes > first) & (codes <= last))
    return outermost


def _outermost(column: QuasiIdentifier) -> tuple[int, int]:
    """The first and last code of the column: of its domain, of the calendar, or of all numbers but the missing sign."""
    if column.domain is not None:
        return column.domain
    if column.kind is Kind.DATE:
        epoch = dt.date(1970, 1, 1)
        return (dt.date.min - epoch).days, (dt.date.max - epoch).days
    return int(INT32.min) + 1, int(INT32.max)


def _width(column: QuasiIdentifier) -> int:
    """The codes of a bin: min_width, or a power of two by the domain, or four weeks."""
    if column.min_width > 1:
        return column.min_width
    if column.domain is None:
        return FOUR_WEEKS
    values = column.domain[1] - column.domain[0] + 1
    if values < 2 * SMALLEST:  # one bin would hold them all: they are published as they are
        return 1
    width = SMALLEST
    while 2 * width * SHARE <= values:
        width *= 2
    return width


def _category_begins(column: QuasiIdentifier) -> Bool:
    """Whether a bin of categories begins at each leaf; the place after the last one counts as a beginning."""
    paths = () if column.taxonomy is None else column.taxonomy.paths
    begins = np.zeros(len(paths) + 1, dtype=np.bool_)
    begins[-1] = True
    if column.hierarchical:
        for first in _tree_bins([path[::-1] for path in paths], 0, 0, column.min_width):
            begins[first] = True
        return begins
    begins[0] = True
    begins[0 : len(paths) - column.min_width + 1 : column.min_width] = True
    return begins


def _tree_bins(down: list[tuple[str, ...]], first: int, depth: int, least: int) -> list[int]:
    """Where the bins below a node begin: its children's, if each child has `least` leaves or more, else its own.

    `down` are the ways from the root to the leaves of the node, which is at this depth; `first` is its first leaf.
    """
    if len(down) == 1:
        return [first]
    children: list[list[tuple[str, ...]]] = []
    for way in down:
        if children and children[-1][-1][depth + 1 : depth + 2] == way[depth + 1 : depth + 2]:
            children[-1].append(way)
        else:
            children.append([way])
    if min(len(child) for child in children) < least:
        return [first]
    bins = []
    for child in children:
        bins += _tree_bins(child, first, depth + 1, least)
        first += len(child)
    return bins
