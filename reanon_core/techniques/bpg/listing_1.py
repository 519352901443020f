"""Listing 1, reconstructed: class by class, piece by piece, what is published."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.counting_sort import counting_order, starts_of
from reanon_core.model.arrays import Bool, Int8, Int32, Int64
from reanon_core.techniques.bpg.piece_correction import (
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
from reanon_core.techniques.bpg.split_tally import (
    NOWHERE,
    PUBLISHED,
    Members,
    Rows,
    Rules,
    Sides,
    clear,
    empty_sides,
    holds,
    tally,
)
from reanon_core.techniques.bpg.state import BpgState

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


class Known(NamedTuple):
    """What is known of everybody ever published, and where they are in this release."""

    members: Int32  # [p] neighbourhood after neighbourhood
    starts: Int64  # [a + 1] where the members of each begin
    columns: Int32  # [a]
    values: Int32  # [v]
    value_starts: Int64  # [p + 1]
    row_of: Int32  # [p] NOWHERE without one
    home: Int32  # [n] the neighbourhood of each row, or NEW


def settle(rows: Rows, classes: int, entry: Int32, state: BpgState, rules: Rules) -> Settled:
    """Divide each class by neighbourhood and correct each piece, never-published people being a piece of their own.

    `entry` [n] is each row's place in the state, -1 for whoever was never published.

    Ensures: every neighbourhood that results satisfies the principle in every column that was published of it.
    """
    row_of, home = _places(entry, state.neighbourhood)
    known = Known(
        counting_order(state.neighbourhood, state.neighbourhoods),
        starts_of(state.neighbourhood, state.neighbourhoods),
        state.columns,
        state.values,
        state.value_starts,
        row_of,
        home,
    )
    return Settled(*_settled(rows, classes, known, rules))


@compiled
def _settled(rows: Rows, classes: int, known: Known, rules: Rules) -> tuple[Int32, Int32, Int32, Int8]:
    count, home = len(known.home), known.home
    neighbourhoods = len(known.columns)
    sides = empty_sides(known.columns.max() if neighbourhoods else 0, rules.values)
    free = np.bincount(home + 1, minlength=neighbourhoods + 1)[1:]  # the rows of each that no piece has taken
    refused = np.zeros(neighbourhoods, dtype=np.int8)  # the answer to any piece of a neighbourhood, where it is known
    by_class, row_starts = _by_class_and_home(rows.class_of, classes, home, neighbourhoods)

    piece, reason = np.full(count, -1, dtype=np.int32), np.zeros(count, dtype=np.int8)
    class_of_piece, fakes = np.empty(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
    taken, pieces = np.empty(count, dtype=np.int32), 0
    for own in range(classes):
        here = by_class[row_starts[own + 1] : row_starts[own + 2]]
        here = here[piece[here] < 0]  # without those whom an earlier class has taken
        first, failed, begin, done = pieces, False, 0, 0
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
            elif refused[group] != FINE:
                answer = refused[group]
            else:
                answer, published, held = _of_neighbourhood(group, own, piece, known, refused, rows, sides, rules)
            if answer in (FINE, HELD):
                piece[published] = pieces
                class_of_piece[pieces], fakes[pieces] = own, invented
                pieces += 1
                if group != NEW:
                    free[group] -= len(published)
                taken[done : done + len(published)] = published
                done += len(published)
                reason[held] = HELD
            else:
                reason[part] = np.where(reason[part] == HELD, HELD, answer)
                failed = True
        if failed and rules.reject == BY_CLASS:
            _withdraw(taken[:done], piece, home, free, refused)
            reason[here] = np.where(reason[here] == FINE, OF_CLASS, reason[here])
            pieces = first
    reason[piece >= 0] = FINE
    return piece, class_of_piece[:pieces].copy(), fakes[:pieces].copy(), reason


@compiled
def _of_neighbourhood(
    group: int, own: int, piece: Int32, known: Known, refused: Int8, rows: Rows, sides: Sides, rules: Rules
) -> tuple[int, Int32, Int32]:
    """The answer to a neighbourhood's share of a class: the rows that are published, and those held back for it."""
    left = known.members[known.starts[group] : known.starts[group + 1]]
    left = left[_stay(left, known.row_of, piece)]
    place = known.row_of[left]
    members = Members(place, _past(left, known.values, known.value_starts, known.columns[group]))
    answer, side, whole = correct(members, _are_in(place, rows.class_of, own), rows, sides, rules)
    if whole and answer not in (FINE, HELD):
        refused[group] = answer
    held = place[:0] if answer != HELD else place[(side != PUBLISHED) & (place != NOWHERE)]
    return answer, place[side == PUBLISHED], held


@compiled
def _by_class_and_home(class_of: Int32, classes: int, home: Int32, neighbourhoods: int) -> tuple[Int32, Int64]:
    """The rows class by class, those without a class first, each by neighbourhood; and where each class begins."""
    by_home = counting_order(home + 1, neighbourhoods + 1)
    order = counting_order(class_of[by_home] + 1, classes + 1)
    return by_home[order], starts_of(class_of + 1, classes + 1)


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
def _withdraw(rows: Int32, piece: Int32, home: Int32, free: Int64, refused: Int8) -> None:
    """Take rows out of their pieces again."""
    for row in rows:
        piece[row] = -1
        if home[row] != NEW:
            free[home[row]] += 1
            refused[home[row]] = FINE


@compiled
def _newcomers(part: Int32, rows: Rows, sides: Sides, rules: Rules) -> tuple[int, int]:
    """Whether people who were never published satisfy the principle among themselves; and with how many invented."""
    members, side = Members(part, np.empty((len(part), 0), dtype=np.int32)), np.zeros(len(part), dtype=np.int8)
    tally(sides, side, members, rows)  # all on the published side
    good, distinct = holds(sides, PUBLISHED, 0, rules), sides.distinct[PUBLISHED, 0]
    clear(sides, 0)
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
        first = value_starts[person]
        for column in range(columns):
            past[i, column] = values[first + column]
    return past
