"""Derived correlations as rules of the elimination problem: the two sides of a correlation have the same values."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.elimination.problem import ValueProblem, eliminate, include, may_have
from reanon_core.inference.linear.components import Incidence, most_groups, small_components
from reanon_core.inference.linear.derived_correlations import Sums, derived_sums, sum_scratch
from reanon_core.inference.view.known_groups import KnownGroups
from reanon_core.inference.view.membership import Membership
from reanon_core.model.arrays import Int8, Int32, Int64

Side = tuple[int, ...]
SUMS_PER_GROUP = 256
"""The most sums that are listed for one group."""


class Correlations(NamedTuple):
    """Pairs of sets with the same values: a person of one side has a value of a person of the other.

    Unless the other side has rows of no identified person, which may have the value instead.
    """

    start: Int64  # [2 c + 1] the people of each side, two sides for each correlation
    person: Int32  # [n]
    closed: Int8  # [2 c] whether all rows of a side belong to identified people
    groups: Int64  # [c] how many groups were added and subtracted; 0 where a whole component was searched


def find_correlations(known: KnownGroups, smaller_than: int, most: int) -> Correlations:
    """All correlations with fewer than `smaller_than` people on a side that sums of up to `most` groups give.

    In small components sums of any length are searched.
    """
    found: dict[tuple[Side, Side], tuple[int, bool, bool]] = {}
    for groups, signs in _sums(known.membership, smaller_than - 1, most):
        if not _same_values(known, groups, signs):
            continue
        sides, unidentified = _sides(known.membership, groups, signs)
        found.setdefault(sides, (len(groups), unidentified[0] == 0, unidentified[1] == 0))
    for sides in _component_correlations(known.membership, smaller_than - 1):
        found.setdefault(sides, (0, True, True))
    listed = [side for pair in found for side in pair]
    return Correlations(
        start=np.concatenate([np.zeros(1, np.int64), np.cumsum([len(side) for side in listed], dtype=np.int64)]),
        person=np.array([person for side in listed for person in side], np.int32),
        closed=np.array([closed for _, *both in found.values() for closed in both], np.int8),
        groups=np.array([number for number, *_ in found.values()], np.int64),
    )


def _sums(membership: Membership, bound: int, most: int) -> list[tuple[list[int], list[int]]]:
    """Signed sums of groups that leave at most `bound` on a side, each once, with the latest group first."""
    widest = int(np.diff(membership.first).max(initial=1))
    room = most * widest * (_longest(membership) + 1) + 16
    found = _all_sums(membership.writable(), bound, most, room)
    listed = []
    for groups, signs in zip(found.group.tolist(), found.sign.tolist(), strict=True):
        used = [(group, sign) for group, sign in zip(groups, signs, strict=True) if group >= 0]
        listed.append(([group for group, _ in used], [sign for _, sign in used]))
    return listed


def _longest(membership: Membership) -> int:
    """The greatest number of groups of one person."""
    people = membership.person[membership.person >= 0]
    return int(np.bincount(people, minlength=1).max()) if len(people) else 0


@compiled
def _all_sums(membership: Membership, bound: int, most: int, room: int) -> Sums:
    """The sums from every group in which it is the latest."""
    groups = len(membership.size)
    scratch = sum_scratch(len(membership.latest), groups, most, room)
    some = Sums(np.empty((SUMS_PER_GROUP, most), np.int32), np.empty((SUMS_PER_GROUP, most), np.int8))
    listed, signs, total = np.empty((1024, most), np.int32), np.empty((1024, most), np.int8), 0
    for start in range(groups):
        found = derived_sums(membership, start, bound, most, scratch, some)
        for i in range(found):
            if some.group[i].max() != start:
                continue
            if total == len(listed):
                longer, longer_signs = np.empty((2 * total, most), np.int32), np.empty((2 * total, most), np.int8)
                longer[:total], longer_signs[:total] = listed, signs
                listed, signs = longer, longer_signs
            listed[total], signs[total] = some.group[i], some.sign[i]
            total += 1
    return Sums(listed[:total], signs[:total])


def _same_values(known: KnownGroups, groups: list[int], signs: list[int]) -> bool:
    """Whether the added and the subtracted groups show the same values equally often."""
    rows: Counter[int] = Counter()
    for group, sign in zip(groups, signs, strict=True):
        inside = slice(int(known.start[group]), int(known.start[group + 1]))
        for value, count in zip(known.value[inside].tolist(), known.count[inside].tolist(), strict=True):
            rows[value] += sign * count
    return not any(rows.values())


def _sides(membership: Membership, groups: list[int], signs: list[int]) -> tuple[tuple[Side, Side], tuple[int, int]]:
    """The people left on either side, the side with the lowest number first, and the unidentified rows beside them."""
    weight: Counter[int] = Counter()
    unidentified = [0, 0]
    for group, sign in zip(groups, signs, strict=True):
        people = membership.members(group)
        unidentified[sign < 0] += int(membership.size[group]) - len(people)
        for person in people:
            weight[person] += sign
    plus = tuple(sorted(p for p, w in weight.items() if w > 0))
    minus = tuple(sorted(p for p, w in weight.items() if w < 0))
    if minus and (not plus or minus < plus):
        return (minus, plus), (unidentified[1], unidentified[0])
    return (plus, minus), (unidentified[0], unidentified[1])


def _component_correlations(membership: Membership, most: int) -> list[tuple[Side, Side]]:
    """The correlations of small components, by searching their whole row spaces."""
    groups = membership.groups
    found = small_components(membership.writable(), 0, groups, np.ones(groups, np.bool_), most_groups(groups))
    correlations = []
    for component in np.split(found, np.flatnonzero(found < 0) + 1):
        listed = [int(group) for group in component if group >= 0]
        if len(listed) > 1:
            correlations += Incidence.of(membership, listed).correlations(list(range(len(listed))), most)
    return correlations


@compiled
def exclude_by_derived_correlations(problem: ValueProblem, correlations: Correlations) -> int:
    """Exclude values that no person of the other side may have; how many were excluded.

    Paper: [RB09] Definition 4, for sets that more than two groups correlate.
    """
    start, person, domain = correlations.start, correlations.person, problem.domain
    excluded = 0
    for side in range(len(correlations.closed)):
        other = side ^ 1
        if not correlations.closed[other]:
            continue
        for at in range(start[side], start[side + 1]):
            for value in range(64 * domain.shape[1]):
                if not may_have(domain, person[at], value):
                    continue
                shared = False
                for beyond in range(start[other], start[other + 1]):
                    shared = shared or may_have(domain, person[beyond], value)
                if not shared:
                    problem.eliminated[:] = 0
                    include(problem.eliminated, value)
                    eliminate(problem, person[at], problem.eliminated)
                    excluded += 1
    return excluded
