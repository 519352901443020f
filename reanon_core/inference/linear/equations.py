"""Equations between the values of a few people, derived by adding groups to and subtracting them from each other.

Let X[p, v] be 1 if person p has value v, and 0 otherwise. A group with the people p1, ..., pk and with rows of no
identified person (counterfeits, people whose group is uncertain) states for every value v

    X[p1, v] + ... + X[pk, v] + U[v]  =  n[v],

where n[v] is the number of its rows that show v, and U[v] the number of those that belong to no identified person. A
weighted sum of groups, with weights y, therefore states for every v

    (the weights of the people) . X[., v] + (the unidentified rows)  =  sum of y[g] n[g, v]  =  d[v].

If a set S of people is left with weight 1, a set T with weight -1, and no unidentified row, then S has the values of T
and the values d: d[v] of each v more, or fewer if d[v] is negative. S and T have *the same* values exactly if d is
zero, that is, if the published values of the groups cancel as well. Then the equation is a correlation, as in [RB09].
In a history with one signature for each person (m-invariance, Cor-Split) every group shows its values equally often,
and d is zero for sets of equal size. In any other history d must be computed; the equation holds with it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.elimination.problem import ValueProblem, eliminate, include, is_known, may_have
from reanon_core.inference.linear.components import Incidence, most_groups, small_components
from reanon_core.inference.linear.derived_correlations import Sums, derived_sums, sum_scratch
from reanon_core.inference.view.known_groups import KnownGroups
from reanon_core.inference.view.membership import Membership
from reanon_core.model.arrays import Int32, Int64

Side = tuple[int, ...]
"""People in ascending order; a person with a weight of 2 is listed twice."""
Counts = tuple[tuple[int, int], ...]
"""Values or people with counts other than zero, in ascending order."""
SUMS_PER_GROUP = 256
"""The most sums that are listed for one group."""


@dataclass(frozen=True)
class Equation:
    """The values of the added people, less those of the subtracted people, are the difference.

    Rows of no identified person have values too, which are not known.
    """

    added: Side
    subtracted: Side
    unidentified: tuple[int, int]
    """How many rows of no identified person are added and subtracted."""
    difference: Counts
    """How often each value remains; negative if it is subtracted. Empty for a correlation."""
    groups: int
    """How many groups were added and subtracted; 0 where a whole component was searched."""

    @property
    def sides(self) -> tuple[Side, Side]:
        """The added and the subtracted people."""
        return self.added, self.subtracted

    @property
    def weights(self) -> Counts:
        """The people with their weights."""
        return counts(_weights(self.added, self.subtracted))


def _weights(added: Side, subtracted: Side) -> dict[int, int]:
    weight: dict[int, int] = {}
    for side, sign in ((added, 1), (subtracted, -1)):
        for person in side:
            weight[person] = weight.get(person, 0) + sign
    return weight


def counts(counter: Mapping[int, int]) -> Counts:
    """The entries other than zero, in ascending order."""
    return tuple(sorted([(key, count) for key, count in counter.items() if count]))


def find_equations(known: KnownGroups, smaller_than: int, most: int) -> list[Equation]:
    """All equations with fewer than `smaller_than` people on a side that sums of up to `most` groups give.

    In small components sums of any length are searched. Of the equations with the same people, the first is kept.
    """
    found: dict[tuple[Side, Side, bool], Equation] = {}
    for equation in (*_of_sums(known, smaller_than - 1, most), *_of_components(known, smaller_than - 1)):
        found.setdefault((equation.added, equation.subtracted, any(equation.unidentified)), equation)
    return list(found.values())


def _of_sums(known: KnownGroups, bound: int, most: int) -> Iterator[Equation]:
    """The equations of short sums, each once; one in which rows of no identified person alone are left is one too."""
    membership = known.membership
    people_of: dict[int, list[int]] = {}  # a group is in many sums
    shown_by: dict[int, list[tuple[int, int]]] = {}
    size = membership.size.tolist()
    for groups, signs in _sums(membership, bound, most):
        weight: dict[int, int] = {}
        difference: dict[int, int] = {}
        unidentified = [0, 0]
        for group, sign in zip(groups, signs, strict=True):
            if group not in people_of:
                people_of[group], shown_by[group] = list(membership.members(group)), list(_shown(known, group))
            people = people_of[group]
            unidentified[sign < 0] += size[group] - len(people)
            for person in people:
                weight[person] = weight.get(person, 0) + sign
            for value, count in shown_by[group]:
                difference[value] = difference.get(value, 0) + sign * count
        yield _equation(weight, (unidentified[0], unidentified[1]), difference, len(groups))


def _equation(
    weight: Mapping[int, int], unidentified: tuple[int, int], difference: Mapping[int, int], groups: int
) -> Equation:
    """The equation with the side first that has the lowest number."""
    added, subtracted = _side(weight, 1), _side(weight, -1)
    if subtracted and (not added or subtracted < added):
        added, subtracted, unidentified = subtracted, added, (unidentified[1], unidentified[0])
        difference = {value: -count for value, count in difference.items()}
    return Equation(added, subtracted, unidentified, counts(difference), groups)


def _side(weight: Mapping[int, int], sign: int) -> Side:
    """The people whose weight has this sign, each as often as their weight says."""
    return tuple(sorted(person for person, own in weight.items() for _ in range(sign * own)))


def _shown(known: KnownGroups, group: int) -> Iterable[tuple[int, int]]:
    """The values of a group, and how many rows show each."""
    inside = slice(int(known.start[group]), int(known.start[group + 1]))
    return zip(known.value[inside].tolist(), known.count[inside].tolist(), strict=True)


def _sums(membership: Membership, bound: int, most: int) -> list[tuple[list[int], list[int]]]:
    """Signed sums of groups that leave at most `bound` on a side, the first with each equation, latest group first."""
    widest = int(np.diff(membership.first).max(initial=1))
    room = most * widest * (_longest(membership) + 1) + 16
    found = _all_sums(membership.writable(), bound, most, room)
    # Most sums give an equation that an earlier one gave.
    first = first_rows(_sides_left(membership.writable(), found, bound))
    listed = []
    for groups, signs in zip(found.group[first].tolist(), found.sign[first].tolist(), strict=True):
        used = [(group, sign) for group, sign in zip(groups, signs, strict=True) if group >= 0]
        listed.append(([group for group, _ in used], [sign for _, sign in used]))
    return listed


@compiled
def first_rows(table: Int32) -> Int64:
    """The first of the rows that are equal to each other, for all rows, in ascending order."""
    places = 16
    while places < 2 * len(table):
        places *= 2
    row_at = np.full(places, -1, np.int64)  # a hash table: sorting many rows of which few are distinct takes long
    first = np.empty(len(table), np.int64)
    total = 0
    for row in range(len(table)):
        mixed = np.uint64(0)
        for part in table[row]:
            mixed = (mixed ^ np.uint64(part)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        place = np.int64(mixed & np.uint64(places - 1))
        while row_at[place] >= 0 and not np.array_equal(table[row_at[place]], table[row]):
            place = (place + 1) & (places - 1)
        if row_at[place] < 0:
            row_at[place] = row
            first[total] = row
            total += 1
    return first[:total].copy()


@compiled
def _sides_left(membership: Membership, sums: Sums, bound: int) -> Int32:
    """The people on each side of each sum, the side with the lowest number first, and whether others are left.

    [sums, 2 * bound + 1]: a side has at most `bound` people in ascending order, and -1 beyond the last.
    """
    sides = np.full((len(sums.group), 2 * bound + 1), -1, np.int32)
    weight = np.zeros(len(membership.latest), np.int32)
    for row in range(len(sums.group)):
        sides[row, 2 * bound] = 0
        for at in range(sums.group.shape[1]):
            group = sums.group[row, at]
            if group < 0:
                continue
            people = 0
            for entry in range(membership.first[group], membership.first[group + 1]):
                if membership.person[entry] >= 0:
                    weight[membership.person[entry]] += sums.sign[row, at]
                    people += 1
            if membership.size[group] != people:
                sides[row, 2 * bound] = 1
        for at in range(sums.group.shape[1]):
            group = sums.group[row, at]
            if group < 0:
                continue
            for entry in range(membership.first[group], membership.first[group + 1]):
                person = membership.person[entry]
                if person < 0:
                    continue
                begin = 0 if weight[person] > 0 else bound
                for _ in range(abs(weight[person])):
                    _insert(sides[row, begin : begin + bound], person)
                weight[person] = 0
        _order_sides(sides[row], bound)
    return sides


@compiled
def _insert(side: Int32, person: int) -> None:
    """Insert a person into a side in ascending order."""
    place = 0
    while side[place] >= 0 and side[place] < person:
        place += 1
    for at in range(len(side) - 1, place, -1):
        side[at] = side[at - 1]
    side[place] = person


@compiled
def _order_sides(sides: Int32, bound: int) -> None:
    """Exchange the two sides if the second has the lowest number, or if the first is empty."""
    at = 0
    while at < bound and sides[at] == sides[bound + at]:
        at += 1
    if at < bound and (sides[0] < 0 or (sides[bound] >= 0 and sides[bound + at] < sides[at])):
        for i in range(bound):
            sides[i], sides[bound + i] = sides[bound + i], sides[i]


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


def _of_components(known: KnownGroups, most: int) -> Iterator[Equation]:
    """The equations of small components, by searching their whole row spaces."""
    membership = known.membership
    groups = membership.groups
    found = small_components(membership.writable(), 0, groups, np.ones(groups, np.bool_), most_groups(groups))
    searched: dict[tuple[object, ...], list[tuple[Side, Side, list[int]]]] = {}  # many components are alike
    for component in np.split(found, np.flatnonzero(found < 0) + 1):
        listed = component[component >= 0].tolist()
        if len(listed) > 1:
            values, rows = _value_rows(known, listed)
            people, ranked = Incidence.of(membership, listed).ranked()
            like = (tuple(map(tuple, ranked.members)), tuple(ranked.unidentified), rows.tobytes())
            if like not in searched:
                searched[like] = list(ranked.equations(rows, most))
            for places, other_places, left in searched[like]:
                one, other = tuple([people[i] for i in places]), tuple([people[i] for i in other_places])
                if any(left):
                    yield _equation(_weights(one, other), (0, 0), dict(zip(values, left, strict=True)), 0)
                else:  # people on both sides are kept: this is a correlation of the two sets
                    yield Equation(one, other, (0, 0), (), 0)


def _value_rows(known: KnownGroups, groups: list[int]) -> tuple[list[int], Int64]:
    """The values that some of these groups show, and how often each group shows each of them [groups, values]."""
    shown = [dict(_shown(known, group)) for group in groups]
    values = sorted({value for of in shown for value in of})
    return values, np.array([[of.get(value, 0) for value in values] for of in shown], np.int64)


class EquationTable(NamedTuple):
    """Equations for compiled functions: people with weights on one side, values with counts on the other."""

    start: Int64  # [e + 1] the people of each equation
    person: Int32  # [n]
    weight: Int32  # [n] above 0 for added people, below 0 for subtracted people
    unidentified: Int32  # [e, 2] added and subtracted rows of no identified person
    value_start: Int64  # [e + 1] the values that do not cancel in each equation
    value: Int32  # [v]
    times: Int32  # [v] how often, with a sign
    difference: Int32  # [values] scratch space: the counts of one equation, zeros between equations


def equation_table(equations: Iterable[Equation], values: int) -> EquationTable:
    """The equations as arrays, each once; a person who is added and subtracted has no weight."""
    weighted = ((one.weights, one.unidentified, one.difference) for one in equations)
    distinct = dict.fromkeys(one for one in weighted if one[0])
    people, counts = [weights for weights, _, _ in distinct], [difference for _, _, difference in distinct]
    return EquationTable(
        start=_starts(people),
        person=np.array([person for of in people for person, _ in of], np.int32),
        weight=np.array([weight for of in people for _, weight in of], np.int32),
        unidentified=np.array([rows for _, rows, _ in distinct], np.int32).reshape(len(distinct), 2),
        value_start=_starts(counts),
        value=np.array([value for of in counts for value, _ in of], np.int32),
        times=np.array([count for of in counts for _, count in of], np.int32),
        difference=np.zeros(values, np.int32),
    )


def _starts(listed: list[Counts]) -> Int64:
    return np.cumsum([0, *(len(of) for of in listed)], dtype=np.int64)


@compiled
def exclude_by_equations(problem: ValueProblem, table: EquationTable) -> int:
    """Exclude the values with which an equation has no solution; how many people lost values.

    For each value by itself, the added people who have it, less the subtracted people who have it, are as many as the
    equation says. An equation that has no solution left comes from values that changed, and excludes nothing.
    Paper: [RB09] Definition 4, for sets that more than two groups correlate.
    """
    difference, excluded = table.difference, 0
    for equation in range(len(table.start) - 1):
        own = slice(table.value_start[equation], table.value_start[equation + 1])
        for at in range(own.start, own.stop):
            difference[table.value[at]] = table.times[at]
        for value in range(len(difference)):
            excluded += _exclude_value(problem, table, equation, value)
        for at in range(own.start, own.stop):
            difference[table.value[at]] = 0
    return excluded


@compiled
def _exclude_value(problem: ValueProblem, table: EquationTable, equation: int, value: int) -> int:
    """Exclude the value, or all others, for people without whom, or with whom, the equation cannot be satisfied."""
    domain, person, weight = problem.domain, table.person, table.weight
    begin, end = table.start[equation], table.start[equation + 1]
    least, greatest = -table.unidentified[equation, 1], table.unidentified[equation, 0]
    for at in range(begin, end):
        if may_have(domain, person[at], value):
            known = is_known(domain, person[at])
            least += weight[at] if known or weight[at] < 0 else 0
            greatest += weight[at] if known or weight[at] > 0 else 0
    wanted, excluded = table.difference[value], 0
    if least > wanted or greatest < wanted:
        return 0
    for at in range(begin, end):
        if not may_have(domain, person[at], value) or is_known(domain, person[at]):
            continue
        too_many, too_few = least + abs(weight[at]) > wanted, greatest - abs(weight[at]) < wanted
        if not too_many and not too_few:
            continue
        problem.eliminated[:] = 0
        include(problem.eliminated, value)
        if too_many != (weight[at] > 0):  # without the person the equation has no solution: they have the value
            for word in range(len(problem.eliminated)):
                problem.eliminated[word] = ~problem.eliminated[word]
        eliminate(problem, person[at], problem.eliminated)
        excluded += 1
    return excluded
