"""The bins of small columns, one after the other, as docs/limitations.md defines them."""

from collections.abc import Iterator
from functools import cache

from reanon_core.model.schema import Kind, QuasiIdentifier

Bins = list[tuple[int, int]]


def bins(column: QuasiIdentifier, reach: int = 0) -> Bins:
    """The first and last code of every bin, in order; without a domain those between -reach and reach."""
    if column.hierarchical:
        assert column.taxonomy is not None
        return finest_nodes(tuple(path[::-1] for path in column.taxonomy.paths), column.min_width)
    if column.bounds is not None:
        return _of_domain(*column.bounds, _width_in_domain(column))
    if column.min_width > 1 or column.kind is Kind.DATE:
        width = column.min_width if column.min_width > 1 else 28
        return [(at * width, at * width + width - 1) for at in range(-reach // width, reach // width + 1)]
    right = list(_growing(reach))
    return [(-1 - last, -1 - first) for first, last in reversed(right)] + right


def bin_of(code: int, listed: Bins) -> tuple[int, int]:
    """The bin that holds a code."""
    return next((first, last) for first, last in listed if first <= code <= last)


def _width_in_domain(column: QuasiIdentifier) -> int:
    assert column.bounds is not None
    values = column.bounds[1] - column.bounds[0] + 1
    if column.min_width > 1 or column.kind is Kind.CATEGORICAL or values < 4:
        return column.min_width
    return max(2, *(2**power for power in range(24) if 2**power <= max(1, values / 128)))


def _of_domain(first: int, last: int, width: int) -> Bins:
    found = []
    while last - first + 1 >= 2 * width:
        found.append((first, first + width - 1))
        first += width
    return [*found, (first, last)]


def _growing(reach: int) -> Iterator[tuple[int, int]]:
    at = 0
    while at <= reach:
        width = max(2, *(2**power for power in range(24) if 2**power <= max(1, at / 128)))
        yield at, at + width - 1
        at += width


def finest_nodes(ways: tuple[tuple[str, ...], ...], least: int) -> Bins:
    """Of all divisions of the leaves into nodes of `least` leaves or more, the one with the most nodes."""
    return max(_divisions(ways, 0, 0, least), key=len)


@cache
def _divisions(ways: tuple[tuple[str, ...], ...], first: int, depth: int, least: int) -> list[Bins]:
    found: list[Bins] = [[(first, first + len(ways) - 1)]] if len(ways) >= least else []
    if len(ways) > 1:
        below: list[Bins] = [[]]
        at = first
        for name in dict.fromkeys(way[depth + 1] for way in ways):
            child = tuple(way for way in ways if way[depth + 1] == name)
            below = [[*left, *right] for left in below for right in _divisions(child, at, depth + 1, least)]
            at += len(child)
        found += below
    return found
