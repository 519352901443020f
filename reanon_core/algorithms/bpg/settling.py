"""Listing 1, reconstructed: class by class, piece by piece, what is published."""

from dataclasses import dataclass

import numpy as np

from reanon_core.algorithms.bpg.correcting import (
    DIRTY,
    FEW_LEFT,
    FEW_NEW,
    FINE,
    GHOST,
    HELD,
    NODIRTY,
    OF_CLASS,
    UNCORRECTED,
    correct,
)
from reanon_core.algorithms.bpg.sides import NOWHERE, PUBLISHED, Members, Rows, Rules, Sides, empty_sides, holds, tally
from reanon_core.algorithms.bpg.state import BpgState
from reanon_core.compiled import compiled
from reanon_core.kernels.counting import counting_order, starts_of
from reanon_core.model.arrays import Bool, Int8, Int32, Int64

NEW = -1
"""The neighbourhood of people who were never published."""
BY_ATOM, BY_CLASS = 0, 1
"""What a piece that fails takes with it."""


@dataclass(frozen=True, eq=False)
class Settled:
    """The pieces of a release: each is published whole and becomes a neighbourhood of its own."""

    piece: Int32  # [n] the piece that publishes each row, -1 if none does
    class_of_piece: Int32  # [pieces] ascending
    fakes: Int32  # [pieces] how many invented people a piece needs
    reason: Int8  # [n] why a row that is asked for is withheld


def settle(rows: Rows, classes: int, entry: Int32, state: BpgState, rules: Rules) -> Settled:
    """Divide each class by neighbourhood and correct each piece, never-published people being a piece of their own.

    `entry` [n] is each row's place in the state, -1 for whoever was never published.

    Ensures: every neighbourhood that results satisfies the principle in every column that was published of it.
    """
    return Settled(
        *_settled(
            rows,
            classes,
            entry,
            state.neighbourhood,
            state.neighbourhoods,
            state.columns,
            state.values,
            state.value_starts(),
            rules,
        )
    )


@compiled
def _settled(
    rows: Rows,
    classes: int,
    entry: Int32,
    neighbourhood: Int32,
    neighbourhoods: int,
    columns: Int32,
    values: Int32,
    value_starts: Int64,
    rules: Rules,
) -> tuple[Int32, Int32, Int32, Int8]:
    sides = empty_sides(columns.max() if len(columns) else 0, rules.values)
    row_of, home = _places(entry, neighbourhood)
    free = np.bincount(home + 1, minlength=neighbourhoods + 1)[1:]  # the rows of each that no piece has taken
    members, member_starts = counting_order(neighbourhood, neighbourhoods), starts_of(neighbourhood, neighbourhoods)
    by_class, row_starts = counting_order(rows.class_of + 1, classes + 1), starts_of(rows.class_of + 1, classes + 1)

    piece, reason = np.full(len(entry), -1, dtype=np.int32), np.zeros(len(entry), dtype=np.int8)
    class_of_piece, fakes = np.empty(len(entry), dtype=np.int32), np.zeros(len(entry), dtype=np.int32)
    taken, pieces = np.empty(len(entry), dtype=np.int32), 0
    for own in range(classes):
        here = by_class[row_starts[own + 1] : row_starts[own + 2]]
        here = here[piece[here] < 0]  # without those whom an earlier class has taken
        here = here[np.argsort(home[here], kind="mergesort")]
        first, failed, begin, count = pieces, False, 0, 0
        while begin < len(here):
            group, end = home[here[begin]], begin
            while end < len(here) and home[here[end]] == group:
                end += 1
            part, begin = here[begin:end], end
            published, held, invented = part, part[:0], 0
            if group == NEW:
                answer, invented = _newcomers(part, rows, sides, rules)
            elif free[group] < rules.k:  # whatever is added, the piece stays too small
                answer = UNCORRECTED if rules.variant == NODIRTY else FEW_LEFT
            else:
                left = members[member_starts[group] : member_starts[group + 1]]
                left = left[_stay(left, row_of, piece)]
                place = row_of[left]
                past = _past(left, values, value_starts, columns[group])
                answer, side = correct(Members(place, past), _are_in(place, rows.class_of, own), rows, sides, rules)
                published = place[side == PUBLISHED]
                held = place[(side != PUBLISHED) & (place != NOWHERE)]
            if answer in (FINE, HELD):
                piece[published] = pieces
                class_of_piece[pieces], fakes[pieces] = own, invented
                pieces += 1
                if group != NEW:
                    free[group] -= len(published)
                taken[count : count + len(published)] = published
                count += len(published)
                if answer == HELD:
                    reason[held] = HELD
            else:
                reason[part] = np.where(reason[part] == HELD, HELD, answer)
                failed = True
        if failed and rules.reject == BY_CLASS:
            _withdraw(taken[:count], piece, home, free)
            reason[here] = np.where(reason[here] == FINE, OF_CLASS, reason[here])
            pieces = first
    reason[piece >= 0] = FINE
    return piece, class_of_piece[:pieces].copy(), fakes[:pieces].copy(), reason


@compiled
def _places(entry: Int32, neighbourhood: Int32) -> tuple[Int32, Int32]:
    """The row of each known person, NOWHERE without one; and the neighbourhood of each row, or NEW."""
    row_of = np.full(len(neighbourhood), NOWHERE, dtype=np.int32)
    home = np.full(len(entry), NEW, dtype=np.int32)
    for row in range(len(entry)):
        if entry[row] >= 0:
            row_of[entry[row]] = row
            home[row] = neighbourhood[entry[row]]
    return row_of, home


@compiled
def _withdraw(rows: Int32, piece: Int32, home: Int32, free: Int64) -> None:
    """Take rows out of their pieces again."""
    for row in rows:
        piece[row] = -1
        if home[row] != NEW:
            free[home[row]] += 1


@compiled
def _newcomers(part: Int32, rows: Rows, sides: Sides, rules: Rules) -> tuple[int, int]:
    """Whether people who were never published satisfy the principle among themselves; and with how many invented."""
    members = Members(part, np.empty((len(part), 0), dtype=np.int32))
    for i in range(len(part)):
        tally(sides, PUBLISHED, 1, members, i, rows)
    good, distinct = holds(sides, PUBLISHED, 0, rules), sides.distinct[PUBLISHED, 0]
    for i in range(len(part)):
        tally(sides, PUBLISHED, -1, members, i, rows)
    if good:
        return FINE, 0
    if rules.variant != GHOST or rules.values < rules.ell:
        return FEW_NEW, 0
    invented = max(rules.k - len(part), rules.ell - distinct)
    return (FINE, invented) if invented <= rules.max_dirty * (len(part) + invented) else (DIRTY, 0)


@compiled
def _stay(left: Int32, row_of: Int32, piece: Int32) -> Bool:
    """Which members an earlier piece of this release has not taken."""
    found = np.empty(len(left), dtype=np.bool_)
    for i, person in enumerate(left):
        found[i] = row_of[person] == NOWHERE or piece[row_of[person]] < 0
    return found


@compiled
def _are_in(place: Int32, class_of: Int32, own: int) -> Bool:
    """Which members are in this class."""
    found = np.zeros(len(place), dtype=np.bool_)
    for i, row in enumerate(place):
        found[i] = row != NOWHERE and class_of[row] == own
    return found


@compiled
def _past(left: Int32, values: Int32, value_starts: Int64, columns: int) -> Int32:
    """What was published of each member, column by column."""
    past = np.empty((len(left), columns), dtype=np.int32)
    for i, person in enumerate(left):
        past[i] = values[value_starts[person] : value_starts[person] + columns]
    return past
