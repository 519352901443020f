"""The rules of the puzzle, used until nothing changes; and trying values out."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.elimination.arc_consistency import match
from reanon_core.inference.elimination.problem import (
    NOT_YET,
    Puzzle,
    choices,
    drop,
    is_known,
    mark,
    may_have,
    overwrite,
    stands,
)

CONTRADICTION, QUIET = -1, 0
UNBOUNDED = 1 << 40


@compiled
def solve(puzzle: Puzzle, steps: int) -> int:
    """Use the rules until nothing changes or so many groups were looked at; CONTRADICTION if something cannot be.

    While nothing is only tried, a contradiction means that the knowledge is wrong: that group is left out.
    """
    answer = QUIET
    while puzzle.ends[0] != puzzle.ends[1] and steps > 0:
        group = puzzle.queue[puzzle.ends[0]]
        puzzle.ends[0] = (puzzle.ends[0] + 1) % len(puzzle.queue)
        steps -= 1
        if puzzle.broken[group]:
            puzzle.queued[group] = False
            continue
        if puzzle.flags[0]:  # one look makes a group consistent: what it changes itself is no reason for another
            works = match(puzzle, group)
            puzzle.queued[group] = False
        else:
            puzzle.queued[group] = False
            works = exclude(puzzle, group)
        if works and puzzle.flags[1]:
            works = correlate(puzzle, group)
        if not works:
            answer = CONTRADICTION
            if puzzle.flags[2]:
                break
            puzzle.broken[group] = True
    while puzzle.ends[0] != puzzle.ends[1] and puzzle.flags[2]:
        puzzle.queued[puzzle.queue[puzzle.ends[0]]] = False
        puzzle.ends[0] = (puzzle.ends[0] + 1) % len(puzzle.queue)
    return answer


@compiled
def exclude(puzzle: Puzzle, group: int) -> bool:
    """Take a value from everybody else where known people have all its rows; false if more have it than rows.

    Paper: [RB09] Definition 2, ct-pvr.
    """
    puzzle.gone[:] = 0
    unknown, excluded = 0, False
    for at in range(puzzle.start[group], puzzle.start[group + 1]):
        value, known = puzzle.value[at], 0
        unknown = 0
        for entry in range(puzzle.first[group], puzzle.first[group + 1]):
            who = puzzle.person[entry]
            if not is_known(puzzle.domain, who):
                unknown += 1
            elif may_have(puzzle.domain, who, value):
                known += 1
        if known > puzzle.quantity[at]:
            return False
        if known == puzzle.quantity[at]:
            mark(puzzle.gone, value)
            excluded = True
    if unknown == 0 or not excluded:
        return True
    for entry in range(puzzle.first[group], puzzle.first[group + 1]):
        who = puzzle.person[entry]
        if not is_known(puzzle.domain, who) and not drop(puzzle, who, puzzle.gone):
            return False
    return True


@compiled
def correlate(puzzle: Puzzle, group: int) -> bool:
    """Take values from people whom this group is correlated with; false if somebody has none left.

    Everybody who may have a value here also stands in another group with the same rows: then its rows of that value
    are theirs, and nobody else there has it. That is hc-pvr, read from the side of those who are common.
    Paper: [RB09] Definition 4, hc-pvr; Theorem 1.
    """
    begin, end = puzzle.first[group], puzzle.first[group + 1]
    if puzzle.size[group] != end - begin:
        return True  # a stranger here may have any value
    for at in range(puzzle.start[group], puzzle.start[group + 1]):
        value, holder, holders, open_ones = puzzle.value[at], NOT_YET, 0, 0
        for entry in range(begin, end):
            if may_have(puzzle.domain, puzzle.person[entry], value):
                holders += 1
                open_ones += 0 if is_known(puzzle.domain, puzzle.person[entry]) else 1
                holder = entry if holder == NOT_YET else holder
        if holders == 0:
            return False
        if holders == end - begin or open_ones == 0:  # what known people exclude, the other group sees by itself
            continue
        entry = puzzle.latest[puzzle.person[holder]]
        while entry >= 0:
            other = puzzle.group[entry]
            entry = puzzle.previous[entry]
            if _holders_stand(puzzle, group, value, other) and not _take_from_others(puzzle, other, value, group):
                return False
    return True


@compiled
def _holders_stand(puzzle: Puzzle, group: int, value: int, other: int) -> bool:
    """Whether the other group has the same rows, and all who may have the value here stand there too."""
    if other == group or puzzle.broken[other] or puzzle.size[other] != puzzle.size[group]:
        return False
    for entry in range(puzzle.first[group], puzzle.first[group + 1]):
        who = puzzle.person[entry]
        if may_have(puzzle.domain, who, value) and not stands(puzzle.group, puzzle.previous, puzzle.latest, who, other):
            return False
    return _same_rows(puzzle, group, other)


@compiled
def _take_from_others(puzzle: Puzzle, other: int, value: int, group: int) -> bool:
    """Take the value from those of the other group who do not stand in this one; false if somebody has none left."""
    puzzle.gone[:] = 0
    mark(puzzle.gone, value)
    for entry in range(puzzle.first[other], puzzle.first[other + 1]):
        who = puzzle.person[entry]
        taken = may_have(puzzle.domain, who, value) and not stands(
            puzzle.group, puzzle.previous, puzzle.latest, who, group
        )
        if taken and not drop(puzzle, who, puzzle.gone):
            return False
    return True


@compiled
def _same_rows(puzzle: Puzzle, one: int, other: int) -> bool:
    """Whether two groups show the same values equally often."""
    length = puzzle.start[one + 1] - puzzle.start[one]
    if puzzle.size[one] != puzzle.size[other] or puzzle.start[other + 1] - puzzle.start[other] != length:
        return False
    for i in range(length):
        a, b = puzzle.start[one] + i, puzzle.start[other] + i
        if puzzle.value[a] != puzzle.value[b] or puzzle.quantity[a] != puzzle.quantity[b]:
            return False
    return True


@compiled
def attempt(puzzle: Puzzle, who: int, value: int, steps: int) -> bool:
    """Whether the person can have the value, as far as the rules see in so many steps; nothing is changed."""
    puzzle.flags[2] = 1
    puzzle.ends[2] = 0
    for word in range(puzzle.domain.shape[1]):
        mask = np.uint64(0)
        if word == value >> 6:
            mask = np.uint64(1) << np.uint64(value & 63)
        overwrite(puzzle, who, word, mask)
    answer = solve(puzzle, steps)
    for at in range(puzzle.ends[2] - 1, -1, -1):
        puzzle.domain[puzzle.trail_person[at], puzzle.trail_word[at]] = puzzle.trail_mask[at]
    puzzle.flags[2] = 0
    return bool(answer == QUIET)


@compiled
def shave(puzzle: Puzzle, widest: int, steps: int) -> int:
    """Try every value of everybody with at most `widest` left, and drop what leads to a contradiction; how many."""
    dropped, unbounded = 0, np.full(1, UNBOUNDED)[0]  # a literal would compile everything once more
    for who in range(len(puzzle.latest)):
        left = choices(puzzle.domain, who)
        if left < 2 or left > widest:
            continue
        for value in range(64 * puzzle.domain.shape[1]):
            if may_have(puzzle.domain, who, value) and not attempt(puzzle, who, value, steps):
                dropped += 1
                puzzle.gone[:] = 0
                mark(puzzle.gone, value)
                drop(puzzle, who, puzzle.gone)
                solve(puzzle, unbounded)
    return dropped
