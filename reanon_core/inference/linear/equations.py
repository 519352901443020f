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

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.linear.components import Incidence, most_groups, small_components
from reanon_core.inference.linear.derived_correlations import Sums, derived_sums, sum_scratch
from reanon_core.inference.view.known_groups import KnownGroups
from reanon_core.inference.view.membership import Membership
from reanon_core.model.arrays import Int64

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
        weight = Counter(self.added)
        weight.subtract(self.subtracted)
        return counts(weight)


def counts(counter: Counter[int]) -> Counts:
    """The entries other than zero, in ascending order."""
    return tuple(sorted((key, count) for key, count in counter.items() if count))


def find_equations(known: KnownGroups, smaller_than: int, most: int) -> list[Equation]:
    """All equations with fewer than `smaller_than` people on a side that sums of up to `most` groups give.

    In small components sums of any length are searched. Of the equations with the same people, the first is kept.
    """
    found: dict[tuple[Side, Side, bool], Equation] = {}
    for equation in (*_of_sums(known, smaller_than - 1, most), *_of_components(known, smaller_than - 1)):
        found.setdefault((equation.added, equation.subtracted, any(equation.unidentified)), equation)
    return list(found.values())


def _of_sums(known: KnownGroups, bound: int, most: int) -> Iterator[Equation]:
    """The equations of short sums; one in which rows of no identified person alone are left is an equation too."""
    membership = known.membership
    for groups, signs in _sums(membership, bound, most):
        weight: Counter[int] = Counter()
        difference: Counter[int] = Counter()
        unidentified = [0, 0]
        for group, sign in zip(groups, signs, strict=True):
            people = membership.members(group)
            unidentified[sign < 0] += int(membership.size[group]) - len(people)
            for person in people:
                weight[person] += sign
            for value, count in _shown(known, group):
                difference[value] += sign * count
        yield _equation(weight, (unidentified[0], unidentified[1]), difference, len(groups))


def _equation(weight: Counter[int], unidentified: tuple[int, int], difference: Counter[int], groups: int) -> Equation:
    """The equation with the side first that has the lowest number."""
    added, subtracted = (tuple(sorted(side.elements())) for side in (+weight, -weight))
    if subtracted and (not added or subtracted < added):
        added, subtracted, unidentified = subtracted, added, (unidentified[1], unidentified[0])
        difference = Counter({value: -count for value, count in difference.items()})
    return Equation(added, subtracted, unidentified, counts(difference), groups)


def _shown(known: KnownGroups, group: int) -> Iterable[tuple[int, int]]:
    """The values of a group, and how many rows show each."""
    inside = slice(int(known.start[group]), int(known.start[group + 1]))
    return zip(known.value[inside].tolist(), known.count[inside].tolist(), strict=True)


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


def _of_components(known: KnownGroups, most: int) -> Iterator[Equation]:
    """The equations of small components, by searching their whole row spaces."""
    membership = known.membership
    groups = membership.groups
    found = small_components(membership.writable(), 0, groups, np.ones(groups, np.bool_), most_groups(groups))
    for component in np.split(found, np.flatnonzero(found < 0) + 1):
        listed = [int(group) for group in component if group >= 0]
        if len(listed) > 1:
            values, rows = _value_rows(known, listed)
            for one, other, left in Incidence.of(membership, listed).equations(rows, most):
                difference = Counter(dict(zip(values, left, strict=True)))
                if any(difference.values()):
                    weight = Counter(one)
                    weight.subtract(other)
                    yield _equation(weight, (0, 0), difference, 0)
                else:  # people on both sides are kept: this is a correlation of the two sets
                    yield Equation(one, other, (0, 0), (), 0)


def _value_rows(known: KnownGroups, groups: list[int]) -> tuple[list[int], Int64]:
    """The values that some of these groups show, and how often each group shows each of them [groups, values]."""
    shown = [dict(_shown(known, group)) for group in groups]
    values = sorted({value for of in shown for value in of})
    return values, np.array([[of.get(value, 0) for value in values] for of in shown], np.int64)
