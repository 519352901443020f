"""One piece of a class: keep it, extend it, hold rows back, or reject it."""

import numpy as np

from reanon_core.algorithms.bpg.sides import PUBLISHED, STAYS, distances, helps, holds, tally
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int8, Int32, Int64

UNION, MIDDLE, NODIRTY = 0, 1, 2
"""The variants: extend by everybody, by as few as needed, or not at all."""
FINE, FEW_NEW, FEW_LEFT, FROZEN, HELD, UNCORRECTED, OF_CLASS = 0, 1, 2, 3, 4, 5, 6
"""What becomes of a piece or a row: FINE is published; HELD hides others who are; the rest is why it is withheld."""


@compiled
def correct(
    row: Int32,
    wanted: Int8,
    past: Int32,
    columns: int,
    sensitive: Int32,
    qi: Int32,
    scale: Int64,
    counts: Int32,
    distinct: Int64,
    size: Int64,
    k: int,
    ell: int,
    reserve: int,
    variant: int,
) -> tuple[int, Int8]:
    """Decide which members of one neighbourhood are published now: the answer, and the side of each.

    `row` [m] is each member's row in the table, -1 without one; `wanted` [m] whether the class holds them; `past`
    [m, columns] what was published of them.

    Ensures: with FINE, both sides satisfy the principle in every column, or nobody stays; so with HELD, where members
    who are in the table had to stay for that. The tallies are zero again.
    """
    side = np.where(wanted == 1, PUBLISHED, STAYS).astype(np.int8)
    for i in range(len(row)):
        tally(side[i], 1, counts, distinct, size, past[i], sensitive[row[i]] if row[i] >= 0 else -1, columns)
    others = np.flatnonzero((wanted == 0) & (row >= 0))
    answer = FINE
    if not _fits(len(others), size, distinct, columns, k, ell, reserve):
        answer = UNCORRECTED
        if variant != NODIRTY:
            near = others[np.argsort(distances(qi, scale, row[others], row[wanted == 1]), kind="mergesort")]
            answer = _extended(
                near, side, row, past, columns, sensitive, counts, distinct, size, k, ell, reserve, variant
            )
            if answer != FINE:
                back = np.concatenate((near[::-1], np.flatnonzero(wanted == 1)[::-1]))
                answer = _held_back(back, side, row, past, columns, sensitive, counts, distinct, size, k, ell)
    for i in range(len(row)):
        tally(side[i], -1, counts, distinct, size, past[i], sensitive[row[i]] if row[i] >= 0 else -1, columns)
    return answer, side


@compiled
def _fits(left: int, size: Int64, distinct: Int64, columns: int, k: int, ell: int, reserve: int) -> bool:
    """Whether the two sides may be told apart; `left` is how many of those who stay are in the table."""
    if not holds(PUBLISHED, size, distinct, columns, k, ell):
        return False
    if size[STAYS] > 0 and not holds(STAYS, size, distinct, columns, k, ell):
        return False
    # With a reserve, people who could be published together part only if both parts can lose members later.
    return reserve <= k or left == 0 or (size[PUBLISHED] >= reserve and left >= reserve)


@compiled
def _move(
    i: int,
    side: Int8,
    row: Int32,
    past: Int32,
    columns: int,
    sensitive: Int32,
    counts: Int32,
    distinct: Int64,
    size: Int64,
) -> None:
    """Take a member who is in the table to the other side."""
    tally(side[i], -1, counts, distinct, size, past[i], sensitive[row[i]], columns)
    side[i] = STAYS if side[i] == PUBLISHED else PUBLISHED
    tally(side[i], 1, counts, distinct, size, past[i], sensitive[row[i]], columns)


@compiled
def _extended(
    near: Int64,
    side: Int8,
    row: Int32,
    past: Int32,
    columns: int,
    sensitive: Int32,
    counts: Int32,
    distinct: Int64,
    size: Int64,
    k: int,
    ell: int,
    reserve: int,
    variant: int,
) -> int:
    """Add members from other classes, nearest first, until the sides may be told apart, or (union) all at once."""
    for moved in range(len(near)):
        _move(near[moved], side, row, past, columns, sensitive, counts, distinct, size)
        left = len(near) - moved - 1
        if (variant == MIDDLE or left == 0) and _fits(left, size, distinct, columns, k, ell, reserve):
            return FINE
    return FROZEN


@compiled
def _held_back(
    back: Int64,
    side: Int8,
    row: Int32,
    past: Int32,
    columns: int,
    sensitive: Int32,
    counts: Int32,
    distinct: Int64,
    size: Int64,
    k: int,
    ell: int,
) -> int:
    """Everybody in the table is on the published side: keep as few back as hide those who left.

    Departure D5. First those who bring a value that is missing among those who stay, then anybody.
    """
    if not holds(PUBLISHED, size, distinct, columns, k, ell):
        return FEW_LEFT
    for anybody in (False, True):
        for i in back:
            if holds(STAYS, size, distinct, columns, k, ell):
                return HELD
            wanted = (anybody and size[STAYS] < k) or helps(counts, distinct, past[i], columns, ell)
            if side[i] == PUBLISHED and wanted:
                _move(i, side, row, past, columns, sensitive, counts, distinct, size)
                if not holds(PUBLISHED, size, distinct, columns, k, ell):
                    _move(i, side, row, past, columns, sensitive, counts, distinct, size)
    return HELD if holds(STAYS, size, distinct, columns, k, ell) else FROZEN
