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
from reanon_core.model.arrays import Int32, UInt64


@compiled
def make_arc_consistent(problem: ValueProblem, group: int) -> bool:
    """Eliminate every value that no matching of the group's members with its rows contains; false if there is none.

    The rows are capacities of the values. One matching is enough: a person can have another value exactly if both
    values lie on a cycle of the residual graph, in which an edge leads from the value that a member has to each value
    that the member may have. Rows of unidentified people are a further node of that graph.
    """
    person, first, domain = problem.membership.person, problem.membership.first, problem.domain
    begin, members = first[group], first[group + 1] - first[group]
    start, values = problem.start[group], problem.start[group + 1] - problem.start[group]
    if _is_unrestricted(domain, person[begin : begin + members], values):
        return True
    assigned, reach, eliminated = problem.matching.assigned, problem.matching.reach, problem.eliminated
    problem.matching.used[:values] = 0
    assigned[:members] = UNASSIGNED
    if not _match(problem, group, members, values):
        return False
    _close_reachability(problem, group, values)
    for member in range(members):
        who, own = person[begin + member], assigned[member]
        if is_known(domain, who):
            continue
        eliminated[:] = 0
        for other in range(values):
            if reach[other, own] == 0:
                include(eliminated, problem.value[start + other])
        eliminate(problem, who, eliminated)  # the assigned value is left
    return True


@compiled
def _is_unrestricted(domain: UInt64, members: Int32, values: int) -> bool:
    """Whether every member may have every value of the group."""
    for person in members:
        if count_values(domain, person) != values:
            return False
    return True


@compiled
def _match(problem: ValueProblem, group: int, members: int, values: int) -> bool:
    """Match one member after the other, if necessary by reassigning others; breadth-first search over values."""
    begin, start = problem.membership.first[group], problem.start[group]
    person, domain, value, quantity = problem.membership.person, problem.domain, problem.value, problem.quantity
    assigned, used, claimant, queue, _ = problem.matching
    for newcomer in range(members):
        claimant[:values] = UNASSIGNED
        head, tail, member, matched = 0, 0, newcomer, False
        while not matched:
            for other in range(values):
                if claimant[other] == UNASSIGNED and may_have(domain, person[begin + member], value[start + other]):
                    claimant[other] = member
                    if used[other] < quantity[start + other]:
                        used[other] += 1
                        _reassign(assigned, claimant, newcomer, other)
                        matched = True
                        break
                    for holder in range(newcomer):
                        if assigned[holder] == other:
                            queue[tail] = holder
                            tail += 1
            if matched:
                break
            if head == tail:
                return False
            member = queue[head]
            head += 1
    return True


@compiled
def _reassign(assigned: Int32, claimant: Int32, newcomer: int, free: int) -> None:
    """Reassign the members along the augmenting path, from the free value back to the newcomer."""
    value = free
    while True:
        mover = claimant[value]
        left = assigned[mover]
        assigned[mover] = value
        if mover == newcomer:
            return
        value = left


@compiled
def _close_reachability(problem: ValueProblem, group: int, values: int) -> None:
    """Compute which value reaches which; the last node stands for the rows of unidentified people."""
    person, first, domain = problem.membership.person, problem.membership.first, problem.domain
    value, quantity, start = problem.value, problem.quantity, problem.start[group]
    assigned, used, _, _, reach = problem.matching
    begin = first[group]
    for u in range(values + 1):
        for v in range(values + 1):
            reach[u, v] = 1 if u == v else 0
    for member in range(first[group + 1] - begin):
        own = assigned[member]
        for other in range(values):
            if may_have(domain, person[begin + member], value[start + other]):
                reach[own, other] = 1
    for u in range(values):
        reach[u, values] = 1 if used[u] < quantity[start + u] else 0
        reach[values, u] = 1 if used[u] > 0 else 0
    for middle in range(values + 1):
        for u in range(values + 1):
            if reach[u, middle]:
                for v in range(values + 1):
                    if reach[middle, v]:
                        reach[u, v] = 1
