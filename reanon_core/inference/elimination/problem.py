"""The elimination problem: one value for each person, so that every group shows exactly the values it published.

A rule looks at one group at a time. A person who loses a value puts all their groups back on the queue. A rule only
eliminates values that no solution contains, so a person's last remaining value is certain.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.view.known_groups import KnownGroups
from reanon_core.inference.view.membership import Membership
from reanon_core.model.arrays import Bool, Int8, Int32, Int64, UInt64

UNASSIGNED = -1


class GroupQueue(NamedTuple):
    """The groups that a rule has yet to look at, in a ring."""

    ring: Int32  # [g + 1]
    begin: Int64  # [1]
    end: Int64  # [1]
    queued: Bool  # [g]


class Trail(NamedTuple):
    """The words that were overwritten while a value is tried, so that they can be restored."""

    person: Int32  # [t]
    word: Int32  # [t]
    mask: UInt64  # [t]
    length: Int64  # [1]


class MatchingScratch(NamedTuple):
    """Scratch space for matching the members of one group with its values."""

    assigned: Int32  # [widest] the value of each member, or UNASSIGNED
    used: Int32  # [values] how many members have each value
    claimant: Int32  # [values] the member through whom the search reached a value
    queue: Int32  # [widest] members whose value is claimed
    reach: Int8  # [values + 1, values + 1] which value reaches which in the residual graph


class ValueProblem(NamedTuple):
    """The problem with its remaining values, which the rules change in place."""

    membership: Membership
    start: Int64  # [g + 1] the values of each group, as in KnownGroups
    value: Int32  # [v]
    quantity: Int32  # [v] how many rows of the group show the value
    domain: UInt64  # [p, words] the values that each person may still have
    queue: GroupQueue
    broken: Bool  # [g] groups that contradict the others, which are ignored
    trail: Trail
    tentative: Bool  # [1] whether a value is being tried, so that changes are recorded on the trail
    matching: MatchingScratch
    eliminated: UInt64  # [words] scratch space: the values to eliminate for a person
    effort: Int64  # [1] about how many groups and entries the rules have looked at
    by_matching: bool
    """Whether groups are made arc consistent by matching; otherwise by [RB09] Definition 2 alone."""
    by_correlations: bool
    """Whether historical correlations are used as well."""


def value_problem(known: KnownGroups, *, matching: bool, correlations: bool) -> ValueProblem:
    """The problem before any rule was applied."""
    membership, groups = known.membership, known.membership.groups
    widest = int(np.diff(membership.first).max(initial=1))
    values = int(np.diff(known.start).max(initial=1))
    trail = max(1024, min(len(membership.person), 1 << 22))
    return ValueProblem(
        membership=membership,
        start=known.start,
        value=known.value,
        quantity=known.count,
        domain=known.domain.copy(),
        queue=GroupQueue(
            ring=np.zeros(groups + 1, np.int32),
            begin=np.zeros(1, np.int64),
            end=np.zeros(1, np.int64),
            queued=np.zeros(groups, np.bool_),
        ),
        broken=np.zeros(groups, np.bool_),
        trail=Trail(
            person=np.empty(trail, np.int32),
            word=np.empty(trail, np.int32),
            mask=np.empty(trail, np.uint64),
            length=np.zeros(1, np.int64),
        ),
        tentative=np.zeros(1, np.bool_),
        matching=MatchingScratch(
            assigned=np.empty(widest, np.int32),
            used=np.empty(values, np.int32),
            claimant=np.empty(values, np.int32),
            queue=np.empty(widest, np.int32),
            reach=np.empty((values + 1, values + 1), np.int8),
        ),
        eliminated=np.zeros(known.domain.shape[1], np.uint64),
        effort=np.zeros(1, np.int64),
        by_matching=matching,
        by_correlations=correlations,
    )


@compiled
def enqueue(queue: GroupQueue, group: int) -> None:
    """Put the group on the queue, unless it is there."""
    if not queue.queued[group]:
        queue.queued[group] = True
        queue.ring[queue.end[0]] = group
        queue.end[0] = (queue.end[0] + 1) % len(queue.ring)


@compiled
def enqueue_all(problem: ValueProblem) -> None:
    """Put every group on the queue."""
    for group in range(len(problem.membership.size)):
        enqueue(problem.queue, group)


@compiled
def may_have(domain: UInt64, person: int, value: int) -> bool:
    """Whether the person may have the value."""
    return bool((domain[person, value >> 6] >> np.uint64(value & 63)) & np.uint64(1))


@compiled
def count_values(domain: UInt64, person: int) -> int:
    """How many values the person may have."""
    total = 0
    for word in range(domain.shape[1]):
        mask = domain[person, word]
        while mask != 0:
            mask &= mask - np.uint64(1)
            total += 1
    return total


@compiled
def is_known(domain: UInt64, person: int) -> bool:
    """Whether exactly one value is left."""
    seen = False
    for word in range(domain.shape[1]):
        mask = domain[person, word]
        if mask != 0:
            if seen or mask & (mask - np.uint64(1)) != 0:
                return False
            seen = True
    return seen


@compiled
def overwrite(problem: ValueProblem, person: int, word: int, mask: np.uint64) -> None:
    """Change a word of a person's domain, record it while a value is being tried, and enqueue the person's groups."""
    if problem.tentative[0]:
        trail = problem.trail
        at = trail.length[0]
        if at == len(trail.person):
            return  # the trail is full: keeping a value is always sound
        trail.person[at], trail.word[at] = person, word
        trail.mask[at] = problem.domain[person, word]
        trail.length[0] += 1
    problem.domain[person, word] = mask
    queue, group, previous = problem.queue, problem.membership.group, problem.membership.previous
    entry = problem.membership.latest[person]
    while entry >= 0:
        enqueue(queue, group[entry])
        entry = previous[entry]


@compiled
def eliminate(problem: ValueProblem, person: int, values: UInt64) -> bool:
    """Eliminate these values for a person; false if none is left."""
    left = False
    for word in range(len(values)):
        if problem.domain[person, word] & values[word] != 0:
            overwrite(problem, person, word, problem.domain[person, word] & ~values[word])
        left = left or problem.domain[person, word] != 0
    return left


@compiled
def include(values: UInt64, value: int) -> None:
    """Add a value to a set."""
    values[value >> 6] |= np.uint64(1) << np.uint64(value & 63)
