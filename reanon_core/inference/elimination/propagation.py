"""Propagation: the elimination rules applied until nothing changes, and shaving, which tries values out.

One group is made arc consistent: a global-cardinality constraint, by matching and reachability.
"""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.elimination.problem import (
    UNASSIGNED,
    ValueProblem,
    count_values,
    eliminate,
    include,
    is_known,
    may_have,
    overwrite,
)
from reanon_core.inference.view.membership import belongs_to, has_entry
from reanon_core.model.arrays import Int32, Int64, UInt64

CONTRADICTION, CONSISTENT = -1, 0
UNBOUNDED = 1 << 40
EFFORT = 20_000_000
"""How much trying values may cost. Correlations make a trial cost the square of the number of releases, so that in long
histories the later trials do without them, and look at fewer groups."""
PAIR = 64
"""What it costs to compare the people of two groups, in entries."""


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


@compiled
def propagate(problem: ValueProblem, steps: int) -> int:
    """Apply the rules until nothing changes or that many groups were examined; CONTRADICTION if one has no solution.

    Unless a value is being tried, a contradiction means that the knowledge is wrong: the group is ignored from then on.
    """
    answer, tentative = CONSISTENT, problem.tentative[0]
    queue = problem.queue
    while queue.begin[0] != queue.end[0] and steps > 0:
        group = queue.ring[queue.begin[0]]
        queue.begin[0] = (queue.begin[0] + 1) % len(queue.ring)
        steps -= 1
        problem.effort[0] += 1
        if problem.broken[group]:
            queue.queued[group] = False
            continue
        if problem.by_matching:  # one pass makes a group consistent, so that its own changes need no second pass
            possible = make_arc_consistent(problem, group)
            queue.queued[group] = False
        else:
            queue.queued[group] = False
            possible = exclude_by_known_people(problem, group)
        if possible and problem.by_correlations and not (tentative and problem.effort[0] > EFFORT):
            possible = exclude_by_correlations(problem, group)
        if not possible:
            answer = CONTRADICTION
            if tentative:
                break
            problem.broken[group] = True
    while queue.begin[0] != queue.end[0] and tentative:
        queue.queued[queue.ring[queue.begin[0]]] = False
        queue.begin[0] = (queue.begin[0] + 1) % len(queue.ring)
    return answer


@compiled
def exclude_by_known_people(problem: ValueProblem, group: int) -> bool:
    """Exclude a value for the other members where known people have all its rows; false if they have more.

    Paper: [RB09] Definition 2, ct-pvr; departure D9 on the value of the known people themselves.
    """
    begin, end = problem.membership.first[group], problem.membership.first[group + 1]
    person, domain = problem.membership.person, problem.domain
    problem.eliminated[:] = 0
    unknown, excluded = 0, False
    for at in range(problem.start[group], problem.start[group + 1]):
        value, known = problem.value[at], 0
        unknown = 0
        for entry in range(begin, end):
            if not is_known(domain, person[entry]):
                unknown += 1
            elif may_have(domain, person[entry], value):
                known += 1
        if known > problem.quantity[at]:
            return False
        if known == problem.quantity[at]:
            include(problem.eliminated, value)
            excluded = True
    if unknown == 0 or not excluded:
        return True
    for entry in range(begin, end):
        if not is_known(domain, person[entry]) and not eliminate(problem, person[entry], problem.eliminated):
            return False
    return True


@compiled
def exclude_by_correlations(problem: ValueProblem, group: int) -> bool:
    """Exclude values for people with whom this group is correlated; false if one of them has no value left.

    If everyone who may have a value here also belongs to another group with the same values, they have all its rows of
    that value, and no other member of it has the value. That is hc-pvr from the side of the common members (departure
    D9).
    Paper: [RB09] Definition 4, hc-pvr; [RB09] Theorem 1, by which correlated sets have the same values.
    """
    # Tuples are unpacked once: each time that a tuple is passed on, the references to all its arrays are counted.
    membership, domain, broken = problem.membership, problem.domain, problem.broken
    person, group_of, previous, first, size, latest = membership
    start, values, quantity = problem.start, problem.value, problem.quantity
    begin, end = first[group], first[group + 1]
    if size[group] != end - begin:
        return True  # an unidentified person here may have any value
    for at in range(start[group], start[group + 1]):
        value, holder, last, holders, unknown = values[at], UNASSIGNED, UNASSIGNED, 0, 0
        for entry in range(begin, end):
            if may_have(domain, person[entry], value):
                holders += 1
                unknown += 0 if is_known(domain, person[entry]) else 1
                holder = entry if holder == UNASSIGNED else holder
                last = entry
        if holders == 0:
            return False
        if holders == end - begin or unknown == 0:  # ct-pvr in the other group excludes what known people have
            continue
        entry, of_last, effort = latest[person[holder]], latest[person[last]], 0
        while entry >= 0:
            other = group_of[entry]
            entry = previous[entry]
            effort += 1
            while of_last >= first[other + 1]:  # the groups of both holders, from the latest to the first
                of_last = previous[of_last]
            if of_last < first[other] or other == group or broken[other] or size[other] != size[group]:
                continue
            effort += PAIR
            between = person[holder + 1 : last]
            if (
                _same_values(start, values, quantity, group, other)
                and _holders_have_entry(domain, between, latest, previous, value, first[other], first[other + 1])
                and _concerns_others(domain, person, latest, previous, first, other, value, group)
                and not _exclude_for_others(problem, other, value, group)
            ):
                return False
        problem.effort[0] += effort
    return True


@compiled
def _holders_have_entry(
    domain: UInt64, people: Int32, latest: Int32, previous: Int32, value: int, begin: int, end: int
) -> bool:
    """Whether all of these people who may have the value have one of the entries begin .. end - 1."""
    for person in people:
        if may_have(domain, person, value) and not has_entry(latest[person], previous, begin, end):
            return False
    return True


@compiled
def _concerns_others(
    domain: UInt64, person: Int32, latest: Int32, previous: Int32, first: Int64, other: int, value: int, group: int
) -> bool:
    """Whether a member of the other group who is not in this one may have the value."""
    for entry in range(first[other], first[other + 1]):
        if may_have(domain, person[entry], value) and not has_entry(
            latest[person[entry]], previous, first[group], first[group + 1]
        ):
            return True
    return False


@compiled
def _exclude_for_others(problem: ValueProblem, other: int, value: int, group: int) -> bool:
    """Exclude the value for the members of the other group who are not in this one; false if one has none left."""
    membership = problem.membership
    problem.eliminated[:] = 0
    include(problem.eliminated, value)
    for entry in range(membership.first[other], membership.first[other + 1]):
        person = membership.person[entry]
        excluded = may_have(problem.domain, person, value) and not belongs_to(membership, person, group)
        if excluded and not eliminate(problem, person, problem.eliminated):
            return False
    return True


@compiled
def _same_values(start: Int64, value: Int32, quantity: Int32, one: int, other: int) -> bool:
    """Whether two groups of equally many rows show the same values equally often."""
    length = start[one + 1] - start[one]
    if start[other + 1] - start[other] != length:
        return False
    for i in range(length):
        a, b = start[one] + i, start[other] + i
        if value[a] != value[b] or quantity[a] != quantity[b]:
            return False
    return True


@compiled
def can_have(problem: ValueProblem, person: int, value: int, steps: int) -> bool:
    """Whether propagation over that many groups finds no contradiction if the person has the value; changes nothing."""
    trail = problem.trail
    problem.tentative[0] = True
    trail.length[0] = 0
    for word in range(problem.domain.shape[1]):
        mask = np.uint64(0)
        if word == value >> 6:
            mask = np.uint64(1) << np.uint64(value & 63)
        overwrite(problem, person, word, mask)
    answer = propagate(problem, steps)
    for at in range(trail.length[0] - 1, -1, -1):
        problem.domain[trail.person[at], trail.word[at]] = trail.mask[at]
    problem.tentative[0] = False
    return bool(answer == CONSISTENT)


@compiled
def shave(problem: ValueProblem, widest: int, steps: int, fewest: int) -> int:
    """Try every value of each person with at most `widest` left, and eliminate what is contradictory; how many.

    A trial looks at `steps` groups, and at `fewest` once the effort is used up.
    """
    dropped, unbounded = 0, np.full(1, UNBOUNDED)[0]  # a literal would compile everything once more
    for person in range(len(problem.membership.latest)):
        left = count_values(problem.domain, person)
        if left < 2 or left > widest:
            continue
        for value in range(64 * problem.domain.shape[1]):
            depth = fewest if problem.effort[0] > EFFORT else steps
            if may_have(problem.domain, person, value) and not can_have(problem, person, value, depth):
                dropped += 1
                problem.eliminated[:] = 0
                include(problem.eliminated, value)
                eliminate(problem, person, problem.eliminated)
                propagate(problem, unbounded)
    return dropped
