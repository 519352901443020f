"""An atom split in two, what is published and what remains, and the principle on both sides."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import MISSING, Bool, Int8, Int32, Int64

PUBLISHED, REMAINING = 0, 1
"""The two sides. The published side has one column more: the values of this release."""
NO_ROW = -1
"""The row of a member who has none in this release."""
SELECTED, IN_TABLE, NOT_IN_TABLE = 0, 1, 2
"""The ranks of rows, in the order in which they extend a piece."""


class Rules(NamedTuple):
    """The parameters that decide about a piece."""

    k: int
    ell: int
    reserve: int
    """How many people both sides keep where selected people could be published together."""
    variant: int
    reject: int
    max_dirty: float
    together: float
    """Up to which share of dirty records an atom is published whole, though it could be separated."""
    values: int
    """How many sensitive values there are."""


class Rows(NamedTuple):
    """The rows that may be published: the table, and the rows that the pool adds to it."""

    class_of: Int32  # [n] negative if a row has no class
    sensitive: Int32  # [n]
    qi: Int32  # [d, n]
    scale: Int64  # [d]
    rank: Int8  # [n] SELECTED, IN_TABLE or NOT_IN_TABLE


class Members(NamedTuple):
    """The members of one atom that no piece of this release has published yet."""

    row: Int32  # [m] the row of each, or NO_ROW
    past: Int32  # [m, columns] what was published of each


class SplitTally(NamedTuple):
    """The counts of both sides; zero between two atoms."""

    counts: Int32  # [2, columns + 1, values]
    distinct: Int64  # [2, columns + 1]
    size: Int64  # [2]
    selected: Int64  # [2] how many of them are selected


@compiled
def empty_tally(columns: int, values: int) -> SplitTally:
    """Space for this many past columns and one more."""
    return SplitTally(
        np.zeros((2, columns + 1, max(1, values)), dtype=np.int32),
        np.zeros((2, columns + 1), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


@compiled
def satisfies(tally: SplitTally, side: int, columns: int, rules: Rules) -> bool:
    """Whether one side has k people, and ell values in every column that was published of it.

    The published side also needs ell values in this release. Unions need no test, because the principle is monotonous.
    """
    if tally.size[side] < rules.k:
        return False
    for column in range(columns + 1 if side == PUBLISHED else columns):
        if tally.distinct[side, column] < rules.ell:
            return False
    return True


@compiled
def may_split(tally: SplitTally, columns: int, rules: Rules) -> bool:
    """Whether a release may separate the two sides."""
    if not satisfies(tally, PUBLISHED, columns, rules):
        return False
    if tally.size[REMAINING] > 0 and not satisfies(tally, REMAINING, columns, rules):
        return False
    # With a reserve, people who could be published together are separated only if both sides can lose members later.
    left = tally.selected[REMAINING]
    return bool(rules.reserve <= rules.k or left == 0 or min(left, tally.size[PUBLISHED]) >= rules.reserve)


@compiled
def clean_enough(tally: SplitTally, rules: Rules) -> bool:
    """Whether the share of published people who are not selected is at most max_dirty."""
    dirty = tally.size[PUBLISHED] - tally.selected[PUBLISHED]
    return bool(dirty <= rules.max_dirty * tally.size[PUBLISHED])


@compiled
def reset(tally: SplitTally, columns: int) -> None:
    """Set all counts to zero."""
    tally.counts[:, : columns + 1] = 0
    tally.distinct[:, : columns + 1] = 0
    tally.size[:] = 0
    tally.selected[:] = 0


@compiled
def count_members(tally: SplitTally, side: Int8, members: Members, rows: Rows) -> None:
    """Count every member on their side [m].

    Requires: all counts are zero.
    """
    # Tuples of arrays are costly to hand on, and sums in memory to add to: the loop has its own.
    counts, row_of, past, sensitive, rank = tally.counts, members.row, members.past, rows.sensitive, rows.rank
    columns, remaining, selected, selected_remaining = past.shape[1], 0, 0, 0
    for i in range(len(side)):
        own = side[i]
        remaining += own
        for column in range(columns):
            counts[own, column, past[i, column]] += 1
        row = row_of[i]
        if row != NO_ROW:
            counts[own, columns, sensitive[row]] += 1
            if rank[row] == SELECTED:
                selected += 1
                selected_remaining += own
    tally.size[PUBLISHED], tally.size[REMAINING] = len(side) - remaining, remaining
    tally.selected[PUBLISHED], tally.selected[REMAINING] = selected - selected_remaining, selected_remaining
    for own in (PUBLISHED, REMAINING):
        for column in range(columns + 1):
            distinct = 0
            for value in range(counts.shape[2]):
                distinct += counts[own, column, value] > 0
            tally.distinct[own, column] = distinct


@compiled
def move_member(tally: SplitTally, side: Int8, members: Members, i: int, rows: Rows) -> None:
    """Move a member to the other side."""
    counts, distinct, past, row = tally.counts, tally.distinct, members.past, members.row[i]
    source = side[i]
    target = REMAINING if source == PUBLISHED else PUBLISHED
    side[i] = target
    tally.size[source] -= 1
    tally.size[target] += 1
    columns = past.shape[1]
    for column in range(columns):
        _move_value(counts[:, column], distinct[:, column], past[i, column], source, target)
    if row != NO_ROW:
        _move_value(counts[:, columns], distinct[:, columns], rows.sensitive[row], source, target)
        if rows.rank[row] == SELECTED:
            tally.selected[source] -= 1
            tally.selected[target] += 1


@compiled
def _move_value(counts: Int32, distinct: Int64, value: int, source: int, target: int) -> None:
    """Move one value of a column, counts [2, values] and distinct [2], to the other side."""
    counts[source, value] -= 1
    distinct[source] -= counts[source, value] == 0
    distinct[target] += counts[target, value] == 0
    counts[target, value] += 1


@compiled
def adds_value(tally: SplitTally, members: Members, i: int, ell: int) -> bool:
    """Whether a member would add a value to the remaining side in a column that has fewer than ell there."""
    for column in range(members.past.shape[1]):
        if tally.distinct[REMAINING, column] < ell and tally.counts[REMAINING, column, members.past[i, column]] == 0:
            return True
    return False


@compiled
def extension_order(rows: Rows, others: Int32, inside: Int32) -> tuple[Int64, Bool]:
    """The order in which other rows extend the rows `inside`: by rank, and nearest first within each rank.

    Also which of the other rows, as given, are as near as another of their rank: pseudonyms decide between these.
    """
    distance = np.zeros(len(others), dtype=np.int64)
    for attribute in range(rows.qi.shape[0]):
        low, high = np.int64(2**31), np.int64(-(2**31))
        for row in inside:
            code = rows.qi[attribute, row]
            if code != MISSING:
                low, high = min(low, np.int64(code)), max(high, np.int64(code))
        if low > high:
            continue
        for i, row in enumerate(others):
            code = np.int64(rows.qi[attribute, row])
            if code != MISSING:
                distance[i] += max(low - code, code - high, np.int64(0)) * rows.scale[attribute]
    nearest, order, at = np.argsort(distance, kind="mergesort"), np.empty(len(others), dtype=np.int64), 0
    for rank in (SELECTED, IN_TABLE, NOT_IN_TABLE):
        for i in nearest:
            if rows.rank[others[i]] == rank:
                order[at] = i
                at += 1
    tied = np.zeros(len(others), dtype=np.bool_)
    for place in range(1, len(order)):
        i, j = order[place - 1], order[place]
        if distance[i] == distance[j] and rows.rank[others[i]] == rows.rank[others[j]]:
            tied[i] = tied[j] = True
    return order, tied
