"""Listing 1, reconstructed: class by class and piece by piece, what is published.

A piece of a class is published, extended, published in part while rows are held back, or rejected.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.orders import counting_order, starts_of
from reanon_core.model.arrays import Bool, Int8, Int32, Int64
from reanon_core.techniques.bpg.split_tally import (
    NO_ROW,
    PUBLISHED,
    REMAINING,
    SELECTED,
    Members,
    Rows,
    Rules,
    SplitTally,
    adds_value,
    clean_enough,
    count_members,
    empty_tally,
    extension_order,
    may_split,
    move_member,
    reset,
    satisfies,
)
from reanon_core.techniques.bpg.state import BpgState

UNION, MIDDLE, NODIRTY, GHOST = 0, 1, 2, 3
"""The variants: extend by everyone, by as few as needed, not at all, or by as few as needed with invented rows."""
ACCEPTED, TOO_FEW_NEW, TOO_FEW_LEFT, FROZEN, HELD_BACK, NOT_CORRECTED, CLASS_REJECTED, TOO_DIRTY, NO_CLASS = range(9)
"""The outcome of a piece or a row: ACCEPTED is published; HELD_BACK is a piece that is published without some of its
rows, or such a row; the others say why it is withheld."""
NO_ATOM = -1
"""The atom of people who were never published."""
NO_PIECE = -1
"""The piece of a row that is not published."""
REJECT_ATOM, REJECT_CLASS = 0, 1
"""What is withheld with a piece that fails: its own people only, or its whole class."""


@compiled
def correct_piece(
    members: Members, in_class: Bool, rows: Rows, tally: SplitTally, rules: Rules, by_order: Bool
) -> tuple[int, Int8, bool]:
    """Decide which members of an atom a class publishes: the outcome, and the side of each member.

    `in_class` [m] says which members the class holds. The last answer is whether any other class would get the same.
    Marks in `by_order` [n] the rows whose order may have decided; it is that of their pseudonyms.

    Paper: [BPG] variants (prose).

    Ensures: with ACCEPTED and HELD_BACK, both sides satisfy the principle in every column, or no one remains. With
    HELD_BACK, selected members had to remain for that. The tally is zero again.
    """
    first, for_all_classes = in_class, False
    if rules.reserve > rules.k and rules.variant != NODIRTY:
        first, for_all_classes = _first_piece(members, in_class, rows, rules)
    if rules.together > 0 and rules.variant != NODIRTY and _stays_whole(members, first, rows, tally, rules):
        return ACCEPTED, np.full(len(first), PUBLISHED, dtype=np.int8), for_all_classes
    side = np.where(first, PUBLISHED, REMAINING).astype(np.int8)
    count_members(tally, side, members, rows)
    outcome = ACCEPTED
    if not may_split(tally, members.past.shape[1], rules):
        outcome = NOT_CORRECTED
        if rules.variant != NODIRTY:
            outcome = _correct(side, members, in_class, rows, tally, rules, by_order)
    reset(tally, members.past.shape[1])
    return outcome, side, for_all_classes


@compiled
def _first_piece(members: Members, in_class: Bool, rows: Rows, rules: Rules) -> tuple[Bool, bool]:
    """The piece to start from: the members in the class, or all selected members if they are too few to separate."""
    selected, count = np.zeros(len(in_class), dtype=np.bool_), 0
    for i, row in enumerate(members.row):
        selected[i] = row != NO_ROW and rows.rank[row] == SELECTED
        count += selected[i]
    together = count < 2 * rules.reserve
    return (selected if together else in_class), together


@compiled
def _stays_whole(members: Members, first: Bool, rows: Rows, tally: SplitTally, rules: Rules) -> bool:
    """Whether the atom is published whole because few enough of it are not selected; Departure D14.

    Whether they are few enough depends on no value. An atom that the classes divide does not stay whole.
    """
    dirty = 0
    for i, row in enumerate(members.row):
        if row == NO_ROW or (rows.rank[row] == SELECTED and not first[i]):
            return False
        dirty += rows.rank[row] != SELECTED
    if dirty > min(rules.together, rules.max_dirty) * len(first):
        return False
    count_members(tally, np.full(len(first), PUBLISHED, dtype=np.int8), members, rows)
    good = satisfies(tally, PUBLISHED, members.past.shape[1], rules)
    reset(tally, members.past.shape[1])
    return good


@compiled
def _correct(
    side: Int8, members: Members, in_class: Bool, rows: Rows, tally: SplitTally, rules: Rules, by_order: Bool
) -> int:
    """Extend the piece; where that fails or makes it too dirty, publish selected members only and hold some back."""
    others = np.flatnonzero(~in_class & (members.row != NO_ROW))
    order, tied = extension_order(rows, members.row[others], members.row[in_class])
    by_order[members.row[others[tied]]] = True
    others = others[order]
    extended = _extend(others, side, members, rows, tally, rules)
    if extended and clean_enough(tally, rules):
        return ACCEPTED
    failure = TOO_DIRTY if extended else FROZEN
    selected = others[rows.rank[members.row[others]] == SELECTED]
    for i in others:
        target = PUBLISHED if rows.rank[members.row[i]] == SELECTED else REMAINING
        if side[i] != target:
            move_member(tally, side, members, int(i), rows)
    if not satisfies(tally, PUBLISHED, members.past.shape[1], rules):
        return failure if extended else TOO_FEW_LEFT
    by_order[members.row[in_class]] = True
    candidates = np.concatenate((selected[::-1], np.flatnonzero(in_class)[::-1]))
    return HELD_BACK if _hold_back(candidates, side, members, rows, tally, rules) else failure


@compiled
def _extend(others: Int64, side: Int8, members: Members, rows: Rows, tally: SplitTally, rules: Rules) -> bool:
    """Add members from outside of the class until the sides may be separated, or (union) all at once."""
    for at, i in enumerate(others):
        if side[i] == REMAINING:
            move_member(tally, side, members, i, rows)
        last = at == len(others) - 1
        if (rules.variant != UNION or last) and may_split(tally, members.past.shape[1], rules):
            return True
    return False


@compiled
def _hold_back(candidates: Int64, side: Int8, members: Members, rows: Rows, tally: SplitTally, rules: Rules) -> bool:
    """Hold back as few selected members as hide the remaining ones; all selected members are published before.

    Departure D5. First come members who add a value that the remaining ones lack, then any others.
    """
    columns = members.past.shape[1]
    for anyone in (False, True):
        for i in candidates:
            if tally.size[REMAINING] == 0 or satisfies(tally, REMAINING, columns, rules):
                return True
            useful = (anyone and tally.size[REMAINING] < rules.k) or adds_value(tally, members, i, rules.ell)
            if side[i] == PUBLISHED and useful:
                move_member(tally, side, members, i, rows)
                if not satisfies(tally, PUBLISHED, columns, rules):
                    move_member(tally, side, members, i, rows)
    return satisfies(tally, REMAINING, columns, rules)


@dataclass(frozen=True, eq=False)
class CorrectedPieces:
    """The pieces of a release: each is published whole and becomes an atom."""

    piece: Int32  # [n] the piece that publishes each row, or NO_PIECE
    class_of_piece: Int32  # [pieces] ascending
    invented: Int32  # [pieces] how many invented people a piece needs
    outcome: Int8  # [n] ACCEPTED, or why a selected row is withheld
    by_order: Bool  # [n] whether the order of pseudonyms may have decided about a row


class PublishedAtoms(NamedTuple):
    """The atoms of all earlier releases, and the rows of their members in this one."""

    members: Int32  # [p] atom after atom
    starts: Int64  # [a + 1] where the members of each begin
    columns: Int32  # [a]
    values: Int32  # [v]
    value_starts: Int64  # [p + 1]
    row_of: Int32  # [p] the row of each person, or NO_ROW
    atom_of_row: Int32  # [n] the atom of each row, or NO_ATOM


def correct_classes(rows: Rows, classes: int, state_row: Int32, state: BpgState, rules: Rules) -> CorrectedPieces:
    """Divide each class by atom and correct each piece; people who were never published are a piece of their own.

    `state_row` [n] is each row's place in the state, -1 for a person who was never published.

    Paper: [BPG] Listing 1, reconstructed.

    Ensures: every atom that results satisfies the principle in every column that was published of it.
    """
    row_of, atom_of_row = _link_rows(state_row, state.atom)
    atoms = PublishedAtoms(
        counting_order(state.atom, state.atoms),
        starts_of(state.atom, state.atoms),
        state.columns,
        state.values,
        state.value_starts,
        row_of,
        atom_of_row,
    )
    return CorrectedPieces(*_correct_classes(rows, classes, atoms, rules))


@compiled
def _correct_classes(
    rows: Rows, classes: int, atoms: PublishedAtoms, rules: Rules
) -> tuple[Int32, Int32, Int32, Int8, Bool]:
    atom_of_row = atoms.atom_of_row
    count, known = len(atom_of_row), len(atoms.columns)
    tally = empty_tally(atoms.columns.max() if known else 0, rules.values)
    # The rows of each atom that are in no piece yet; the last entry is that of NO_ATOM.
    free = np.roll(np.bincount(atom_of_row + 1, minlength=known + 1), -1)
    rejected = np.zeros(known, dtype=np.int8)  # the outcome of any piece of an atom, where it is known
    by_class, class_starts = _by_class_and_atom(rows.class_of, classes, atom_of_row, known)

    piece, outcomes = np.full(count, NO_PIECE, dtype=np.int32), np.zeros(count, dtype=np.int8)
    by_order = np.zeros(count, dtype=np.bool_)
    class_of_piece, invented = np.empty(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
    accepted, pieces = np.empty(count, dtype=np.int32), 0
    for own in range(classes):
        here = by_class[class_starts[own + 1] : class_starts[own + 2]]
        here = here[piece[here] == NO_PIECE]  # without the rows that an earlier class has published
        first, failed, begin, done = pieces, False, 0, 0
        while begin < len(here):
            atom, end = atom_of_row[here[begin]], begin
            while end < len(here) and atom_of_row[here[end]] == atom:
                end += 1
            part, begin = here[begin:end], end
            published, held, needed = part, part[:0], 0
            if atom == NO_ATOM:
                outcome, needed = _correct_newcomers(part, rows, tally, rules)
            elif free[atom] < rules.k:  # even with every free row the piece stays too small
                outcome = NOT_CORRECTED if rules.variant == NODIRTY else TOO_FEW_LEFT
            elif rejected[atom] != ACCEPTED:
                outcome = rejected[atom]
            else:
                members = _free_members(atom, atoms, piece)
                in_class = _in_class(members.row, rows.class_of, own)
                outcome, side, for_all_classes = correct_piece(members, in_class, rows, tally, rules, by_order)
                if for_all_classes and outcome not in (ACCEPTED, HELD_BACK):
                    rejected[atom] = outcome
                published = members.row[side == PUBLISHED]
                held = members.row[(side != PUBLISHED) & (members.row != NO_ROW) & (outcome == HELD_BACK)]
            if outcome in (ACCEPTED, HELD_BACK):
                piece[published] = pieces
                class_of_piece[pieces], invented[pieces] = own, needed
                pieces += 1
                free[atom] -= len(published)
                accepted[done : done + len(published)] = published
                done += len(published)
                outcomes[held] = HELD_BACK
            else:
                outcomes[part] = np.where(outcomes[part] == HELD_BACK, HELD_BACK, outcome)
                failed = True
        if failed and rules.reject == REJECT_CLASS:
            _withdraw(accepted[:done], piece, atom_of_row, free, rejected)
            outcomes[here] = np.where(outcomes[here] == ACCEPTED, CLASS_REJECTED, outcomes[here])
            pieces = first
    outcomes[piece != NO_PIECE] = ACCEPTED
    return piece, class_of_piece[:pieces].copy(), invented[:pieces].copy(), outcomes, by_order


@compiled
def _free_members(atom: int, atoms: PublishedAtoms, piece: Int32) -> Members:
    """The members of an atom whom no earlier piece of this release publishes, and what was published of each."""
    row_of, values, value_starts = atoms.row_of, atoms.values, atoms.value_starts
    everyone = atoms.members[atoms.starts[atom] : atoms.starts[atom + 1]]
    free = np.empty(len(everyone), dtype=np.bool_)
    for i, person in enumerate(everyone):
        free[i] = row_of[person] == NO_ROW or piece[row_of[person]] == NO_PIECE
    left = everyone[free]
    past = np.empty((len(left), atoms.columns[atom]), dtype=np.int32)
    for i, person in enumerate(left):
        first = value_starts[person]
        for column in range(past.shape[1]):
            past[i, column] = values[first + column]
    return Members(row_of[left], past)


@compiled
def _by_class_and_atom(class_of: Int32, classes: int, atom_of_row: Int32, atoms: int) -> tuple[Int32, Int64]:
    """The rows class by class, those without a class first, each by atom; and where each class begins."""
    by_atom = counting_order(atom_of_row + 1, atoms + 1)
    order = counting_order(class_of[by_atom] + 1, classes + 1)
    return by_atom[order], starts_of(class_of + 1, classes + 1)


@compiled
def _link_rows(state_row: Int32, atom: Int32) -> tuple[Int32, Int32]:
    """The row of each person in the state, or NO_ROW; and the atom of each row, or NO_ATOM."""
    row_of = np.full(len(atom), NO_ROW, dtype=np.int32)
    atom_of_row = np.full(len(state_row), NO_ATOM, dtype=np.int32)
    for row in range(len(state_row)):
        if state_row[row] >= 0:
            row_of[state_row[row]] = row
            atom_of_row[row] = atom[state_row[row]]
    return row_of, atom_of_row


@compiled
def _withdraw(rows: Int32, piece: Int32, atom_of_row: Int32, free: Int64, rejected: Int8) -> None:
    """Remove rows from their pieces again."""
    for row in rows:
        piece[row] = NO_PIECE
        free[atom_of_row[row]] += 1
        if atom_of_row[row] != NO_ATOM:
            rejected[atom_of_row[row]] = ACCEPTED


@compiled
def _correct_newcomers(part: Int32, rows: Rows, tally: SplitTally, rules: Rules) -> tuple[int, int]:
    """The outcome of people who were never published, who must satisfy the principle; and how many to invent."""
    members, side = Members(part, np.empty((len(part), 0), dtype=np.int32)), np.zeros(len(part), dtype=np.int8)
    count_members(tally, side, members, rows)  # all on the published side
    good, distinct = satisfies(tally, PUBLISHED, 0, rules), tally.distinct[PUBLISHED, 0]
    reset(tally, 0)
    if good:
        return ACCEPTED, 0
    if rules.variant != GHOST or rules.values < rules.ell:
        return TOO_FEW_NEW, 0
    needed = max(rules.k - len(part), rules.ell - distinct)
    return (ACCEPTED, needed) if needed <= rules.max_dirty * (len(part) + needed) else (TOO_DIRTY, 0)


@compiled
def _in_class(row: Int32, class_of: Int32, own: int) -> Bool:
    """Which members are in this class."""
    found = np.zeros(len(row), dtype=np.bool_)
    for i, place in enumerate(row):
        found[i] = place != NO_ROW and class_of[place] == own
    return found
