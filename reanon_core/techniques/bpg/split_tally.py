"""A neighbourhood divided in two, what is published and what stays, and the principle on both sides."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int8, Int32, Int64

PUBLISHED, STAYS = 0, 1
"""The two sides. The published side has one column more: the values of this release."""
NOWHERE = -1
"""The row of a member who has none in this release."""


class Rules(NamedTuple):
    """The parameters that decide about a piece."""

    k: int
    ell: int
    reserve: int
    """How many people both parts keep where people who are asked for could be published together."""
    variant: int
    reject: int
    max_dirty: float
    values: int
    """How many sensitive values there are."""


class Rows(NamedTuple):
    """The rows that may be published: the table, and whom a pool adds to it."""

    class_of: Int32  # [n] NOWHERE if not asked for
    sensitive: Int32  # [n]
    qi: Int32  # [d, n]
    scale: Int64  # [d]
    rank: Int8  # [n] 0 asked for, 1 in the table, 2 not in the table


class Members(NamedTuple):
    """The members of one neighbourhood who are left in it."""

    row: Int32  # [m] the row of each, or NOWHERE
    past: Int32  # [m, columns] what was published of each


class Sides(NamedTuple):
    """The tallies of both sides; zero between two neighbourhoods."""

    counts: Int32  # [2, columns + 1, values]
    distinct: Int64  # [2, columns + 1]
    size: Int64  # [2]
    selected: Int64  # [2] how many of them are asked for


@compiled
def empty_sides(columns: int, values: int) -> Sides:
    """Room for so many past columns and one more."""
    return Sides(
        np.zeros((2, columns + 1, max(1, values)), dtype=np.int32),
        np.zeros((2, columns + 1), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


@compiled
def holds(sides: Sides, side: int, columns: int, rules: Rules) -> bool:
    """Whether one side has k people and ell values in every published column; the published side in this one too.

    Paper: [BPG] Definition 3: the principle is monotonous, so it need not be tested on unions.
    """
    if sides.size[side] < rules.k:
        return False
    for column in range(columns + 1 if side == PUBLISHED else columns):
        if sides.distinct[side, column] < rules.ell:
            return False
    return True


@compiled
def parted(sides: Sides, columns: int, rules: Rules) -> bool:
    """Whether the two sides may be told apart."""
    if not holds(sides, PUBLISHED, columns, rules):
        return False
    if sides.size[STAYS] > 0 and not holds(sides, STAYS, columns, rules):
        return False
    # With a reserve, people who could be published together part only if both parts can lose members later.
    left = sides.selected[STAYS]
    return bool(rules.reserve <= rules.k or left == 0 or min(left, sides.size[PUBLISHED]) >= rules.reserve)


@compiled
def clean(sides: Sides, rules: Rules) -> bool:
    """Whether few enough of those who are published are not asked for."""
    dirty = sides.size[PUBLISHED] - sides.selected[PUBLISHED]
    return bool(dirty <= rules.max_dirty * sides.size[PUBLISHED])


@compiled
def clear(sides: Sides, columns: int) -> None:
    """Zero again."""
    sides.counts[:, : columns + 1] = 0
    sides.distinct[:, : columns + 1] = 0
    sides.size[:] = 0
    sides.selected[:] = 0


@compiled
def tally(sides: Sides, side: Int8, members: Members, rows: Rows) -> None:
    """Add every member to their side. The tallies are zero before."""
    # Tuples of arrays are costly to hand on, and sums in memory to add to: the loop has its own.
    counts, place, past, sensitive, rank = sides.counts, members.row, members.past, rows.sensitive, rows.rank
    columns, stay, selected, selected_stay = past.shape[1], 0, 0, 0
    for i in range(len(side)):
        own = side[i]
        stay += own
        for column in range(columns):
            counts[own, column, past[i, column]] += 1
        row = place[i]
        if row != NOWHERE:
            counts[own, columns, sensitive[row]] += 1
            if rank[row] == 0:
                selected += 1
                selected_stay += own
    sides.size[PUBLISHED], sides.size[STAYS] = len(side) - stay, stay
    sides.selected[PUBLISHED], sides.selected[STAYS] = selected - selected_stay, selected_stay
    for own in (PUBLISHED, STAYS):
        for column in range(columns + 1):
            distinct = 0
            for value in range(counts.shape[2]):
                distinct += counts[own, column, value] > 0
            sides.distinct[own, column] = distinct


@compiled
def move(sides: Sides, side: Int8, members: Members, i: int, rows: Rows) -> None:
    """Take a member to the other side."""
    counts, distinct, size, selected = sides.counts, sides.distinct, sides.size, sides.selected
    place, past, sensitive, rank = members.row[i], members.past, rows.sensitive, rows.rank
    _add(counts, distinct, size, selected, side[i], -1, place, past, i, sensitive, rank)
    side[i] = STAYS if side[i] == PUBLISHED else PUBLISHED
    _add(counts, distinct, size, selected, side[i], 1, place, past, i, sensitive, rank)


@compiled
def helps(sides: Sides, members: Members, i: int, ell: int) -> bool:
    """Whether a member would bring a value to what stays in a column that has too few."""
    for column in range(members.past.shape[1]):
        if sides.distinct[STAYS, column] < ell and sides.counts[STAYS, column, members.past[i, column]] == 0:
            return True
    return False


@compiled
def nearest(rows: Rows, others: Int32, inside: Int32) -> Int64:
    """The order in which others join the rows `inside`: asked for first, not in the table last; nearest first."""
    far = np.zeros(len(others), dtype=np.int64)
    missing = np.iinfo(np.int32).min
    for attribute in range(rows.qi.shape[0]):
        low, high = np.int64(2**31), np.int64(-(2**31))
        for row in inside:
            code = rows.qi[attribute, row]
            if code != missing:
                low, high = min(low, np.int64(code)), max(high, np.int64(code))
        if low > high:
            continue
        for i, row in enumerate(others):
            code = np.int64(rows.qi[attribute, row])
            if code != missing:
                far[i] += max(low - code, code - high, np.int64(0)) * rows.scale[attribute]
    order, found, at = np.argsort(far, kind="mergesort"), np.empty(len(others), dtype=np.int64), 0
    for rank in range(3):
        for i in order:
            if rows.rank[others[i]] == rank:
                found[at] = i
                at += 1
    return found


@compiled
def _add(
    counts: Int32,
    distinct: Int64,
    size: Int64,
    selected: Int64,
    side: int,
    step: int,
    place: int,
    past: Int32,
    i: int,
    sensitive: Int32,
    rank: Int8,
) -> None:
    size[side] += step
    columns = past.shape[1]
    for column in range(columns):
        _count(counts, distinct, side, step, column, past[i, column])
    if place != NOWHERE:
        _count(counts, distinct, side, step, columns, sensitive[place])
        if rank[place] == 0:
            selected[side] += step


@compiled
def _count(counts: Int32, distinct: Int64, side: int, step: int, column: int, value: int) -> None:
    before = counts[side, column, value]
    after = before + step
    counts[side, column, value] = after
    distinct[side, column] += (after > 0) - (before > 0)  # without a branch, which would be a guess every time
