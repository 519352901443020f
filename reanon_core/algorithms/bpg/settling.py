"""Listing 1, reconstructed: class by class, piece by piece, what is published."""

from dataclasses import dataclass

import numpy as np

from reanon_core.algorithms.bpg.correcting import FEW_LEFT, FEW_NEW, FINE, HELD, NODIRTY, OF_CLASS, UNCORRECTED, correct
from reanon_core.algorithms.bpg.sides import PUBLISHED, holds, tally
from reanon_core.algorithms.bpg.state import BpgState
from reanon_core.compiled import compiled
from reanon_core.kernels.counting import counting_order, starts_of
from reanon_core.model.arrays import Bool, Int8, Int32, Int64
from reanon_core.model.snapshot import Snapshot

NEW = -1
"""The neighbourhood of people who were never published."""
BY_ATOM, BY_CLASS = 0, 1
"""What a piece that fails takes with it."""


@dataclass(frozen=True, eq=False)
class Settled:
    """The pieces of a release: each is published whole and becomes a neighbourhood of its own."""

    piece: Int32  # [n] the piece that publishes each row, -1 if it is withheld
    class_of_piece: Int32  # [pieces] ascending
    reason: Int8  # [n] why a row is withheld


def settle(
    snapshot: Snapshot,
    entry: Int32,
    state: BpgState,
    class_of: Int32,
    classes: int,
    scale: Int64,
    *,
    k: int,
    ell: int,
    reserve: int,
    variant: int,
    reject: int,
) -> Settled:
    """Divide each class by neighbourhood and correct each piece, never-published people being a piece of their own.

    Ensures: every neighbourhood that results satisfies the principle in every column that was published of it.
    """
    return Settled(
        *_settled(
            class_of,
            classes,
            entry,
            snapshot.sensitive,
            snapshot.qi,
            scale,
            state.neighbourhood,
            state.neighbourhoods,
            state.columns,
            state.values,
            state.value_starts(),
            len(snapshot.schema.sensitive.values),
            k,
            ell,
            reserve,
            variant,
            reject,
        )
    )


@compiled
def _settled(
    class_of: Int32,
    classes: int,
    entry: Int32,
    sensitive: Int32,
    qi: Int32,
    scale: Int64,
    neighbourhood: Int32,
    neighbourhoods: int,
    columns: Int32,
    values: Int32,
    value_starts: Int64,
    sensitive_values: int,
    k: int,
    ell: int,
    reserve: int,
    variant: int,
    reject: int,
) -> tuple[Int32, Int32, Int8]:
    most = columns.max() if len(columns) else 0
    counts = np.zeros((2, most + 1, max(1, sensitive_values)), dtype=np.int32)
    distinct, size = np.zeros((2, most + 1), dtype=np.int64), np.zeros(2, dtype=np.int64)
    row_of, home = _places(entry, neighbourhood)
    alive = np.bincount(home + 1, minlength=neighbourhoods + 1)[1:]  # those in the table whom no piece has taken
    members, member_starts = counting_order(neighbourhood, neighbourhoods), starts_of(neighbourhood, neighbourhoods)
    rows, row_starts = counting_order(class_of, classes), starts_of(class_of, classes)

    piece, reason = np.full(len(entry), -1, dtype=np.int32), np.zeros(len(entry), dtype=np.int8)
    class_of_piece = np.empty(len(entry), dtype=np.int32)
    taken, pieces = np.empty(len(entry), dtype=np.int32), 0
    for own in range(classes):
        here = rows[row_starts[own] : row_starts[own + 1]]
        here = here[piece[here] < 0]  # without those whom an earlier class has taken
        here = here[np.argsort(home[here], kind="mergesort")]
        first, failed, begin, count = pieces, False, 0, 0
        while begin < len(here):
            group, end = home[here[begin]], begin
            while end < len(here) and home[here[end]] == group:
                end += 1
            part, begin = here[begin:end], end
            if group == NEW:
                answer = _newcomers(part, sensitive, counts, distinct, size, k, ell)
                published, held = part, part[:0]
            elif alive[group] < k:  # whatever is added, the piece stays too small
                answer = UNCORRECTED if variant == NODIRTY else FEW_LEFT
                published, held = part, part[:0]
            else:
                left = members[member_starts[group] : member_starts[group + 1]]
                left = left[_stay(left, row_of, piece)]
                place = row_of[left]
                answer, side = correct(
                    place,
                    _are_in(place, class_of, own),
                    _past(left, values, value_starts, columns[group]),
                    columns[group],
                    sensitive,
                    qi,
                    scale,
                    counts,
                    distinct,
                    size,
                    k,
                    ell,
                    reserve,
                    variant,
                )
                published = place[side == PUBLISHED]
                held = place[(side != PUBLISHED) & (place >= 0)]
            if answer in (FINE, HELD):
                piece[published] = pieces
                class_of_piece[pieces] = own
                pieces += 1
                if group != NEW:
                    alive[group] -= len(published)
                taken[count : count + len(published)] = published
                count += len(published)
                if answer == HELD:
                    reason[held] = HELD
            else:
                reason[part] = np.where(reason[part] == HELD, HELD, answer)
                failed = True
        if failed and reject == BY_CLASS:
            _withdraw(taken[:count], piece, home, alive)
            reason[here] = np.where(reason[here] == FINE, OF_CLASS, reason[here])
            pieces = first
    reason[piece >= 0] = FINE
    return piece, class_of_piece[:pieces].copy(), reason


@compiled
def _places(entry: Int32, neighbourhood: Int32) -> tuple[Int32, Int32]:
    """The row of each known person, -1 without one; and the neighbourhood of each row, or NEW."""
    row_of = np.full(len(neighbourhood), -1, dtype=np.int32)
    home = np.full(len(entry), NEW, dtype=np.int32)
    for row in range(len(entry)):
        if entry[row] >= 0:
            row_of[entry[row]] = row
            home[row] = neighbourhood[entry[row]]
    return row_of, home


@compiled
def _withdraw(rows: Int32, piece: Int32, home: Int32, alive: Int64) -> None:
    """Take rows out of their pieces again."""
    for row in rows:
        piece[row] = -1
        if home[row] != NEW:
            alive[home[row]] += 1


@compiled
def _newcomers(part: Int32, sensitive: Int32, counts: Int32, distinct: Int64, size: Int64, k: int, ell: int) -> int:
    """Whether people who were never published satisfy the principle among themselves."""
    past = np.empty(0, dtype=np.int32)
    for row in part:
        tally(PUBLISHED, 1, counts, distinct, size, past, sensitive[row], 0)
    good = holds(PUBLISHED, size, distinct, 0, k, ell)
    for row in part:
        tally(PUBLISHED, -1, counts, distinct, size, past, sensitive[row], 0)
    return FINE if good else FEW_NEW


@compiled
def _stay(left: Int32, row_of: Int32, piece: Int32) -> Bool:
    """Which members an earlier piece of this release has not taken."""
    found = np.empty(len(left), dtype=np.bool_)
    for i, person in enumerate(left):
        found[i] = row_of[person] < 0 or piece[row_of[person]] < 0
    return found


@compiled
def _are_in(place: Int32, class_of: Int32, own: int) -> Int8:
    """Which members are in the table and in this class."""
    found = np.zeros(len(place), dtype=np.int8)
    for i, row in enumerate(place):
        if row >= 0 and class_of[row] == own:
            found[i] = 1
    return found


@compiled
def _past(left: Int32, values: Int32, value_starts: Int64, columns: int) -> Int32:
    """What was published of each member, column by column."""
    past = np.empty((len(left), columns), dtype=np.int32)
    for i, person in enumerate(left):
        past[i] = values[value_starts[person] : value_starts[person] + columns]
    return past
