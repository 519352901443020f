"""One piece of a class: publish it, extend it, hold rows back, or reject it."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int8, Int64
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
    extension_order,
    may_split,
    move_member,
    reset,
    satisfies,
)

UNION, MIDDLE, NODIRTY, GHOST = 0, 1, 2, 3
"""The variants: extend by everyone, by as few as needed, not at all, or by as few as needed with invented rows."""
ACCEPTED, TOO_FEW_NEW, TOO_FEW_LEFT, FROZEN, HELD_BACK, NOT_CORRECTED, CLASS_REJECTED, TOO_DIRTY, NO_CLASS = range(9)
"""The outcome of a piece or a row: ACCEPTED is published; HELD_BACK is a piece that is published without some of its
rows, or such a row; the others say why it is withheld."""


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
