"""One piece of a class: keep it, extend it, hold rows back, or reject it."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int8, Int64
from reanon_core.techniques.bpg.split_tally import (
    NOWHERE,
    PUBLISHED,
    STAYS,
    Members,
    Rows,
    Rules,
    Sides,
    clean,
    clear,
    helps,
    holds,
    move,
    nearest,
    parted,
    tally,
)

UNION, MIDDLE, NODIRTY, GHOST = 0, 1, 2, 3
"""The variants: extend by everybody, by as few as needed, or not at all; and as few as needed, invented where gone."""
FINE, FEW_NEW, FEW_LEFT, FROZEN, HELD, UNCORRECTED, OF_CLASS, DIRTY, LEFT_OUT = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""What becomes of a piece or a row: FINE is published; HELD hides others who are; the rest is why it is withheld."""


@compiled
def correct(members: Members, wanted: Bool, rows: Rows, sides: Sides, rules: Rules) -> tuple[int, Int8, bool]:
    """Decide which members of one neighbourhood are published now: the answer, and the side of each.

    `wanted` [m] says whom the class holds. The last answer is whether it would be the same for any other class.

    Ensures: with FINE, both sides satisfy the principle in every column, or nobody stays; so with HELD, where members
    who are asked for had to stay for that. The tallies are zero again.
    """
    least, whole = wanted, False
    if rules.reserve > rules.k and rules.variant != NODIRTY:
        least, whole = _least(members, wanted, rows, rules)
    side = np.where(least, PUBLISHED, STAYS).astype(np.int8)
    tally(sides, side, members, rows)
    answer = FINE
    if not parted(sides, members.past.shape[1], rules):
        answer = UNCORRECTED if rules.variant == NODIRTY else _corrected(side, members, wanted, rows, sides, rules)
    clear(sides, members.past.shape[1])
    return answer, side, whole


@compiled
def _least(members: Members, wanted: Bool, rows: Rows, rules: Rules) -> tuple[Bool, bool]:
    """The least that may be published: whom the class holds, or everybody asked for if they are too few to part."""
    selected, count = np.zeros(len(wanted), dtype=np.bool_), 0
    for i, row in enumerate(members.row):
        selected[i] = row != NOWHERE and rows.rank[row] == 0
        count += selected[i]
    whole = count < 2 * rules.reserve
    return (selected if whole else wanted), whole


@compiled
def _corrected(side: Int8, members: Members, wanted: Bool, rows: Rows, sides: Sides, rules: Rules) -> int:
    """Extend the piece; where that fails or adds too many who are not asked for, publish without them."""
    others = np.flatnonzero(~wanted & (members.row != NOWHERE))
    near = others[nearest(rows, members.row[others], members.row[wanted])]
    extended = _extended(near, side, members, rows, sides, rules)
    if extended and clean(sides, rules):
        return FINE
    failure = DIRTY if extended else FROZEN
    selected = near[rows.rank[members.row[near]] == 0]
    for i in near:
        target = PUBLISHED if rows.rank[members.row[i]] == 0 else STAYS
        if side[i] != target:
            move(sides, side, members, i, rows)
    if not holds(sides, PUBLISHED, members.past.shape[1], rules):
        return failure if extended else FEW_LEFT
    back = np.concatenate((selected[::-1], np.flatnonzero(wanted)[::-1]))
    return HELD if _held_back(back, side, members, rows, sides, rules) else failure


@compiled
def _extended(near: Int64, side: Int8, members: Members, rows: Rows, sides: Sides, rules: Rules) -> bool:
    """Add members from outside of the piece until the sides may be told apart, or (union) all at once."""
    for at, i in enumerate(near):
        if side[i] == STAYS:
            move(sides, side, members, i, rows)
        last = at == len(near) - 1
        if (rules.variant != UNION or last) and parted(sides, members.past.shape[1], rules):
            return True
    return False


@compiled
def _held_back(back: Int64, side: Int8, members: Members, rows: Rows, sides: Sides, rules: Rules) -> bool:
    """Everybody who is asked for is on the published side: keep as few back as hide those who stay.

    Departure D5. First those who bring a value that is missing among those who stay, then anybody.
    """
    columns = members.past.shape[1]
    for anybody in (False, True):
        for i in back:
            if sides.size[STAYS] == 0 or holds(sides, STAYS, columns, rules):
                return True
            wanted = (anybody and sides.size[STAYS] < rules.k) or helps(sides, members, i, rules.ell)
            if side[i] == PUBLISHED and wanted:
                move(sides, side, members, i, rows)
                if not holds(sides, PUBLISHED, columns, rules):
                    move(sides, side, members, i, rows)
    return holds(sides, STAYS, columns, rules)
