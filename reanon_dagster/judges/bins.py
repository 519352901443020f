"""Whether intervals begin and end where bins do, for the judges at size; docs/limitations.md defines the bins."""

import datetime as dt
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.schema import FOUR_WEEKS, SHARE, SMALLEST, Kind, QuasiIdentifier

EPOCH = dt.date(1970, 1, 1)


def ends_inside_a_bin(low: Int32, high: Int32, column: QuasiIdentifier) -> Bool:
    """Which intervals begin inside a bin, or end before the last code of one."""
    begin, after = low.astype(np.int64), high.astype(np.int64) + 1
    if column.kind is Kind.CATEGORICAL:
        starts = _leaf_starts(column)
        return ~(np.isin(begin, starts) & np.isin(after, starts))
    return ~(_starts(begin, column) & _starts(after, column))


def _starts(codes: Int64, column: QuasiIdentifier) -> Bool:
    """Whether a bin of numbers or dates starts at each code; one starts behind the last code, too."""
    first, last = _first_and_last(column)
    if column.domain is None and column.kind is Kind.NUMERIC and column.min_width == 1:
        inner = _starts_by_magnitude(codes)
    else:
        width = _bin_width(column)
        zero = first if column.domain is not None else 0
        # What is too narrow for a bin, at either end, belongs to the bin next to it.
        inner = ((codes - zero) % width == 0) & (codes - first >= width) & (last + 1 - codes >= width)
    found: Bool = (codes == first) | (codes == last + 1) | ((first < codes) & (codes <= last) & inner)
    return found


def _starts_by_magnitude(codes: Int64) -> Bool:
    """Bins of numbers without a domain: powers of two, up to a 128th of the number itself."""
    size = np.abs(codes)
    width = np.full(len(codes), SMALLEST, np.int64)
    while (wider := 2 * width * SHARE <= size).any():
        width[wider] *= 2
    starts: Bool = size % width == 0
    return starts


def _first_and_last(column: QuasiIdentifier) -> tuple[int, int]:
    """The codes that a column may have at all."""
    if column.domain is not None:
        return column.domain
    if column.kind is Kind.DATE:
        return (dt.date.min - EPOCH).days, (dt.date.max - EPOCH).days
    return MISSING + 1, -MISSING - 1


def _bin_width(column: QuasiIdentifier) -> int:
    if column.min_width > 1:
        return column.min_width
    if column.domain is None:
        return FOUR_WEEKS
    codes = column.domain[1] - column.domain[0] + 1
    if codes < 2 * SMALLEST:
        return 1
    return int(max(SMALLEST, 1 << max(0, (codes // SHARE).bit_length() - 1)))


def _leaf_starts(column: QuasiIdentifier) -> Int64:
    """The leaves at which a bin of categories starts, and the place behind the last one."""
    paths = () if column.taxonomy is None else column.taxonomy.paths
    if column.hierarchical:
        starts = list(_node_starts([path[::-1] for path in paths], 0, 1, column.min_width))
    else:
        starts = [0, *range(0, len(paths) - column.min_width + 1, column.min_width)]
    return np.array([*starts, len(paths)], np.int64)


def _node_starts(ways: Sequence[tuple[str, ...]], first: int, depth: int, least: int) -> Iterator[int]:
    """Where bins start below a node: at its children's, unless a child has fewer leaves than a bin needs.

    `ways` lead from the root to the leaves of the node, its children are at this depth, and `first` is its first leaf.
    """
    children = [list(of_child) for _, of_child in groupby(ways, key=lambda way: way[depth : depth + 1])]
    if len(ways) == 1 or min(map(len, children)) < least:
        yield first
        return
    for child in children:
        yield from _node_starts(child, first, depth + 1, least)
        first += len(child)
