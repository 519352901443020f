"""Generalized arc consistency of one group: a global-cardinality constraint, by matching and reachability."""

from reanon_core.compiled import compiled
from reanon_core.inference.elimination.problem import (
    UNASSIGNED,
    ValueProblem,
    count_values,
    eliminate,
    include,
    is_known,
    may_have,
)


@compiled
def make_arc_consistent(problem: ValueProblem, group: int) -> bool:
    """Eliminate every value that no matching of the group's members with its rows contains; false if there is none.

    The rows are capacities of the values. One matching is enough: a person can have another value exactly if both
    values lie on a cycle of the residual graph, in which an edge leads from the value that a member has to each value
    that the member may have. Rows of unidentified people are a further node of that graph.
    """
    begin, end = problem.membership.first[group], problem.membership.first[group + 1]
    values = problem.start[group + 1] - problem.start[group]
    if _is_unrestricted(problem, group, values):
        return True
    problem.matching.used[:values] = 0
    problem.matching.assigned[: end - begin] = UNASSIGNED
    for member in range(end - begin):
        if not _augment(problem, group, member, values):
            return False
    _close_reachability(problem, group, values)
    for member in range(end - begin):
        person, own = problem.membership.person[begin + member], problem.matching.assigned[member]
        if is_known(problem.domain, person):
            continue
        problem.eliminated[:] = 0
        for other in range(values):
            if problem.matching.reach[other, own] == 0:
                include(problem.eliminated, problem.value[problem.start[group] + other])
        eliminate(problem, person, problem.eliminated)  # the assigned value is left
    return True


@compiled
def _is_unrestricted(problem: ValueProblem, group: int, values: int) -> bool:
    """Whether every member may have every value of the group."""
    for entry in range(problem.membership.first[group], problem.membership.first[group + 1]):
        if count_values(problem.domain, problem.membership.person[entry]) != values:
            return False
    return True


@compiled
def _augment(problem: ValueProblem, group: int, newcomer: int, values: int) -> bool:
    """Match one more member, if necessary by reassigning others; breadth-first search over values."""
    begin, start = problem.membership.first[group], problem.start[group]
    claimant, queue, used = problem.matching.claimant, problem.matching.queue, problem.matching.used
    claimant[:values] = UNASSIGNED
    head, tail, member = 0, 0, newcomer
    while True:
        for other in range(values):
            value = problem.value[start + other]
            if claimant[other] == UNASSIGNED and may_have(
                problem.domain, problem.membership.person[begin + member], value
            ):
                claimant[other] = member
                if used[other] < problem.quantity[start + other]:
                    used[other] += 1
                    _reassign(problem, newcomer, other)
                    return True
                for holder in range(newcomer):
                    if problem.matching.assigned[holder] == other:
                        queue[tail] = holder
                        tail += 1
        if head == tail:
            return False
        member = queue[head]
        head += 1


@compiled
def _reassign(problem: ValueProblem, newcomer: int, free: int) -> None:
    """Reassign the members along the augmenting path, from the free value back to the newcomer."""
    value = free
    while True:
        mover = problem.matching.claimant[value]
        left = problem.matching.assigned[mover]
        problem.matching.assigned[mover] = value
        if mover == newcomer:
            return
        value = left


@compiled
def _close_reachability(problem: ValueProblem, group: int, values: int) -> None:
    """Compute which value reaches which; the last node stands for the rows of unidentified people."""
    begin, start = problem.membership.first[group], problem.start[group]
    reach, used = problem.matching.reach, problem.matching.used
    for u in range(values + 1):
        for v in range(values + 1):
            reach[u, v] = 1 if u == v else 0
    for member in range(problem.membership.first[group + 1] - begin):
        own = problem.matching.assigned[member]
        for other in range(values):
            if may_have(problem.domain, problem.membership.person[begin + member], problem.value[start + other]):
                reach[own, other] = 1
    for u in range(values):
        reach[u, values] = 1 if used[u] < problem.quantity[start + u] else 0
        reach[values, u] = 1 if used[u] > 0 else 0
    for middle in range(values + 1):
        for u in range(values + 1):
            if reach[u, middle]:
                for v in range(values + 1):
                    if reach[middle, v]:
                        reach[u, v] = 1
