"""Generalized arc consistency of one group: a global-cardinality constraint, by matching and reachability."""

from reanon_core.compiled import compiled
from reanon_core.inference.elimination.problem import NOT_YET, Puzzle, choices, drop, is_known, mark, may_have


@compiled
def match(puzzle: Puzzle, group: int) -> bool:
    """Generalized arc consistency of one group: drop every value that no way of giving out its rows allows.

    The rows are capacities of the values. A matching gives everybody a row; a person can have another value exactly if
    the row can be handed on in a circle, or to a stranger's row: if both values lie on a cycle of the graph in which
    an edge leads from the value that somebody has to one that they may have.
    """
    begin, end = puzzle.first[group], puzzle.first[group + 1]
    values = puzzle.start[group + 1] - puzzle.start[group]
    if _nothing_to_find(puzzle, group, values):
        return True
    puzzle.used[:values] = 0
    puzzle.assigned[: end - begin] = NOT_YET
    for member in range(end - begin):
        if not _augment(puzzle, group, member, values):
            return False
    _close(puzzle, group, values)
    for member in range(end - begin):
        who, own = puzzle.person[begin + member], puzzle.assigned[member]
        if is_known(puzzle.domain, who):
            continue
        puzzle.gone[:] = 0
        for other in range(values):
            if puzzle.reach[other, own] == 0:
                mark(puzzle.gone, puzzle.value[puzzle.start[group] + other])
        drop(puzzle, who, puzzle.gone)  # the assigned value is left
    return True


@compiled
def _nothing_to_find(puzzle: Puzzle, group: int, values: int) -> bool:
    """Whether everybody may have every value of the group."""
    for entry in range(puzzle.first[group], puzzle.first[group + 1]):
        if choices(puzzle.domain, puzzle.person[entry]) != values:
            return False
    return True


@compiled
def _augment(puzzle: Puzzle, group: int, newcomer: int, values: int) -> bool:
    """Give one more member a row, if need be by moving others: breadth first over values."""
    begin, start = puzzle.first[group], puzzle.start[group]
    puzzle.wanting[:values] = NOT_YET
    head, tail, member = 0, 0, newcomer
    while True:
        for other in range(values):
            value = puzzle.value[start + other]
            if puzzle.wanting[other] == NOT_YET and may_have(puzzle.domain, puzzle.person[begin + member], value):
                puzzle.wanting[other] = member
                if puzzle.used[other] < puzzle.quantity[start + other]:
                    puzzle.used[other] += 1
                    _hand_on(puzzle, newcomer, other)
                    return True
                for holder in range(newcomer):
                    if puzzle.assigned[holder] == other:
                        puzzle.line[tail] = holder
                        tail += 1
        if head == tail:
            return False
        member = puzzle.line[head]
        head += 1


@compiled
def _hand_on(puzzle: Puzzle, newcomer: int, free: int) -> None:
    """Move everybody along the way that was found, from the free row back to the newcomer."""
    value = free
    while True:
        mover = puzzle.wanting[value]
        left = puzzle.assigned[mover]
        puzzle.assigned[mover] = value
        if mover == newcomer:
            return
        value = left


@compiled
def _close(puzzle: Puzzle, group: int, values: int) -> None:
    """From which value which others can be reached; the last node stands for the rows of strangers."""
    begin, start = puzzle.first[group], puzzle.start[group]
    reach = puzzle.reach
    for u in range(values + 1):
        for v in range(values + 1):
            reach[u, v] = 1 if u == v else 0
    for member in range(puzzle.first[group + 1] - begin):
        own = puzzle.assigned[member]
        for other in range(values):
            if may_have(puzzle.domain, puzzle.person[begin + member], puzzle.value[start + other]):
                reach[own, other] = 1
    for u in range(values):
        reach[u, values] = 1 if puzzle.used[u] < puzzle.quantity[start + u] else 0
        reach[values, u] = 1 if puzzle.used[u] > 0 else 0
    for middle in range(values + 1):
        for u in range(values + 1):
            if reach[u, middle]:
                for v in range(values + 1):
                    if reach[middle, v]:
                        reach[u, v] = 1
