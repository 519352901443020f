"""Ties: sets of people with the same values, found by adding and subtracting groups, as rules of the puzzle."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.elimination.problem import Puzzle, drop, mark, may_have
from reanon_core.inference.linear.components import Incidence, most_groups, small_components
from reanon_core.inference.linear.derived_correlations import derived
from reanon_core.inference.view.known_groups import Standings
from reanon_core.inference.view.membership import Web
from reanon_core.model.arrays import Int8, Int32, Int64

Side = tuple[int, ...]
MOST_PER_GROUP = 256
"""How many sums are written down for one group at most."""


@dataclass(frozen=True, eq=False)
class Ties:
    """Pairs of sets. Whoever is in one has a value of somebody in the other, unless a stranger may hide there."""

    start: Int64  # [2 t + 1] the people of each side, two sides for each tie
    person: Int32  # [n]
    closed: Int8  # [2 t] whether a side has no strangers and counterfeits
    groups: Int64  # [t] how many groups were added and subtracted; 0 where a whole component was searched


def ties_of(known: Standings, smaller_than: int, most: int) -> Ties:
    """Every tie of fewer than `smaller_than` people on a side that sums of up to `most` groups give.

    In small components all sums are searched, whatever their length.
    """
    found: dict[tuple[Side, Side], tuple[int, bool, bool]] = {}
    for groups, signs in _sums(known.web, smaller_than - 1, most):
        if not _same_rows(known, groups, signs):
            continue
        sides, spare = _sides(known.web, groups, signs)
        found.setdefault(sides, (len(groups), spare[0] == 0, spare[1] == 0))
    for sides in _component_ties(known.web, smaller_than - 1):
        found.setdefault(sides, (0, True, True))
    listed = [side for pair in found for side in pair]
    return Ties(
        start=np.concatenate([np.zeros(1, np.int64), np.cumsum([len(side) for side in listed], dtype=np.int64)]),
        person=np.array([person for side in listed for person in side], np.int32),
        closed=np.array([closed for _, *both in found.values() for closed in both], np.int8),
        groups=np.array([number for number, *_ in found.values()], np.int64),
    )


def _sums(web: Web, bound: int, most: int) -> list[tuple[list[int], list[int]]]:
    """Signed sums of groups that leave at most `bound` on a side, each once: the latest group stands first."""
    widest = int(np.diff(web.first).max(initial=1))
    longest = _longest(web)
    room = most * widest * (longest + 1) + 16
    # Copies: a compiled loop is compiled once more for arrays that may not be written.
    arrays = (web.person.copy(), web.group.copy(), web.previous.copy(), web.latest.copy(), web.first.copy())
    combination, signs = _all_derived(*arrays, web.size.copy(), bound, most, room)
    listed = []
    for groups, weights in zip(combination.tolist(), signs.tolist(), strict=True):
        used = [(group, weight) for group, weight in zip(groups, weights, strict=True) if group >= 0]
        listed.append(([group for group, _ in used], [weight for _, weight in used]))
    return listed


def _longest(web: Web) -> int:
    """The greatest number of groups of one person."""
    people = web.person[web.person >= 0]
    return int(np.bincount(people, minlength=1).max()) if len(people) else 0


@compiled
def _all_derived(
    person: Int32,
    group: Int32,
    previous: Int32,
    latest: Int32,
    first: Int64,
    size: Int32,
    bound: int,
    most: int,
    room: int,
) -> tuple[Int32, Int8]:
    """The sums of all groups in which the latest group stands first."""
    weight, count = np.zeros(len(latest), dtype=np.int8), np.zeros(len(size), dtype=np.int16)
    stacked, support = np.empty((most + 1, room), dtype=np.int32), np.empty(room, dtype=np.int32)
    touched = np.empty(room, dtype=np.int32)
    few, few_signs = np.empty((MOST_PER_GROUP, most), np.int32), np.empty((MOST_PER_GROUP, most), np.int8)
    listed, signs, total = np.empty((1024, most), np.int32), np.empty((1024, most), np.int8), 0
    for start in range(len(size)):
        found = derived(
            person,
            group,
            previous,
            latest,
            first,
            size,
            start,
            bound,
            most,
            weight,
            count,
            stacked,
            support,
            touched,
            few,
            few_signs,
        )
        for i in range(found):
            highest = few[i].max()
            if highest != start:
                continue
            if total == len(listed):
                longer, longer_signs = np.empty((2 * total, most), np.int32), np.empty((2 * total, most), np.int8)
                longer[:total], longer_signs[:total] = listed, signs
                listed, signs = longer, longer_signs
            listed[total], signs[total] = few[i], few_signs[i]
            total += 1
    return listed[:total], signs[:total]


def _same_rows(known: Standings, groups: list[int], signs: list[int]) -> bool:
    """Whether what is added and what is subtracted show the same values equally often."""
    rows: Counter[int] = Counter()
    for group, sign in zip(groups, signs, strict=True):
        inside = slice(int(known.start[group]), int(known.start[group + 1]))
        for value, count in zip(known.value[inside].tolist(), known.count[inside].tolist(), strict=True):
            rows[value] += sign * count
    return not any(rows.values())


def _sides(web: Web, groups: list[int], signs: list[int]) -> tuple[tuple[Side, Side], tuple[int, int]]:
    """Who is left on either side, the side with the lowest number first, and how many strangers beside them."""
    weight: Counter[int] = Counter()
    spare = [0, 0]
    for group, sign in zip(groups, signs, strict=True):
        people = [p for p in web.person[web.first[group] : web.first[group + 1]].tolist() if p >= 0]
        spare[sign < 0] += int(web.size[group]) - len(people)
        for person in people:
            weight[person] += sign
    plus = tuple(sorted(p for p, w in weight.items() if w > 0))
    minus = tuple(sorted(p for p, w in weight.items() if w < 0))
    if minus and (not plus or minus < plus):
        return (minus, plus), (spare[1], spare[0])
    return (plus, minus), (spare[0], spare[1])


def _component_ties(web: Web, most: int) -> list[tuple[Side, Side]]:
    """The ties of small components, searched wholly."""
    everything = np.ones(web.groups, np.bool_)
    arrays = (web.person.copy(), web.group.copy(), web.previous.copy(), web.latest.copy(), web.first.copy())
    found = small_components(*arrays, 0, web.groups, everything, most_groups(web.groups))
    ties = []
    for component in np.split(found, np.flatnonzero(found < 0) + 1):
        groups = [int(group) for group in component if group >= 0]
        members = [
            [p for p in web.person[web.first[group] : web.first[group + 1]].tolist() if p >= 0] for group in groups
        ]
        fakes = [int(web.size[group]) - len(listed) for group, listed in zip(groups, members, strict=True)]
        if len(groups) > 1:
            ties += Incidence(members, fakes).correlations(list(range(len(groups))), most)
    return ties


@compiled
def tie(puzzle: Puzzle, start: Int64, person: Int32, closed: Int8) -> int:
    """Take values from people that nobody on the other side may have; how many were taken.

    Paper: [RB09] Definition 4, for sets that more than two groups tie together.
    """
    taken = 0
    for side in range(len(closed)):
        other = side ^ 1
        if not closed[other]:
            continue
        for at in range(start[side], start[side + 1]):
            for value in range(64 * puzzle.domain.shape[1]):
                if not may_have(puzzle.domain, person[at], value):
                    continue
                shared = False
                for beyond in range(start[other], start[other + 1]):
                    shared = shared or may_have(puzzle.domain, person[beyond], value)
                if not shared:
                    puzzle.gone[:] = 0
                    mark(puzzle.gone, value)
                    drop(puzzle, person[at], puzzle.gone)
                    taken += 1
    return taken
