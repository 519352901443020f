"""Connected components of groups that share people, and the correlations of a small component.

By linear reasoning, groups together state the row space of their incidence with people. In a small component the whole
row space can be searched. In a large one that is a minimum-distance problem, and only short sums are searched
(derived_correlations.py).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.view.membership import Membership
from reanon_core.model.arrays import Bool, Int64

PRIME = (1 << 31) - 1
MOST_GROUPS, FEWER_GROUPS = 256, 48
"""The most groups of a small component: the first number in a short history, the second in a long one."""
LONG_HISTORY = 20_000
"""A history with more groups is long. Histories only grow, so what was searched once stays searched."""
MOST_SUMS = 1_000_000
"""The most sets of people that are compared in a component."""
BLOCK = 4096
"""How many pairs of sets are subtracted at a time."""
LARGE = -2
UNSEEN = -1


def most_groups(past: int) -> int:
    """The most groups of a small component after a history of `past` groups."""
    return MOST_GROUPS if past <= LONG_HISTORY else FEWER_GROUPS


@compiled
def small_components(membership: Membership, begin: int, end: int, alive: Bool, most: int) -> Int64:
    """The groups of every component of at most `most` groups that has an alive group of begin .. end - 1.

    Each component is followed by -1.
    """
    person, group, previous, first, _, latest = membership
    mark = np.full(len(first) - 1, UNSEEN, dtype=np.int32)
    listed, total = np.empty(1024, dtype=np.int64), 0
    queue = np.empty(most + 1, dtype=np.int64)
    for root in range(begin, end):
        if mark[root] != UNSEEN or not alive[root]:
            continue
        queue[0], mark[root] = root, root
        reached, at, large = 1, 0, False
        while at < reached and not large:
            for place in range(first[queue[at]], first[queue[at] + 1]):
                if person[place] < 0:
                    continue
                entry = latest[person[place]]
                while entry >= 0 and not large:
                    other = group[entry]
                    if mark[other] == LARGE or (mark[other] == UNSEEN and reached == most):
                        large = True
                    elif mark[other] == UNSEEN:
                        mark[other] = root
                        queue[reached] = other
                        reached += 1
                    entry = previous[entry]
            at += 1
        if large:
            for i in range(reached):
                mark[queue[i]] = LARGE
            continue
        while total + reached + 1 > len(listed):
            longer = np.empty(2 * len(listed), dtype=np.int64)
            longer[:total] = listed[:total]
            listed = longer
        listed[total : total + reached] = queue[:reached]
        listed[total + reached] = -1
        total += reached + 1
    return listed[:total]


@dataclass(frozen=True, eq=False)
class Incidence:
    """The incidence matrix of a component: a row for each group, a column for each person and each unidentified row."""

    members: list[list[int]]
    unidentified: list[int]
    """How many rows of each group are counterfeits, or belong to people who are not identified."""

    @staticmethod
    def of(membership: Membership, groups: list[int]) -> "Incidence":
        """The incidence of these groups."""
        members = [membership.members(group) for group in groups]
        sizes = [int(membership.size[group]) for group in groups]
        return Incidence(members, [size - len(listed) for size, listed in zip(sizes, members, strict=True)])

    def ranked(self) -> "tuple[list[int], Incidence]":
        """The people in ascending order, and the same incidence with a person's place among them for each person."""
        people = self._people(list(range(len(self.members))))
        place = {person: at for at, person in enumerate(people)}
        return people, Incidence([[place[person] for person in row] for row in self.members], self.unidentified)

    def correlations(self, rows: list[int], most: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Pairs of distinct sets of equally many people, at most `most`, that these rows prove to have the same values.

        Of several equal sets, each is paired with the next. A component with too many sets to compare has no answer.

        Requires: the groups have one signature, and show each of its values equally often. Then sets of equal size
        cannot differ in their values; otherwise they can (see `equations`).
        """
        people = self._people(rows)
        if not people or not self.is_searchable(rows, most):
            return []
        image, _ = self._solved(rows, people, np.empty((len(rows), 0), np.int64))
        found = []
        for size in range(1, most + 1):
            sets = _multisets(len(people), size)
            sums = image[sets].sum(axis=1) % PRIME
            keys = sums[:, 0] * PRIME + sums[:, 1]
            order = np.argsort(keys, kind="stable")
            for at in np.flatnonzero(keys[order][1:] == keys[order][:-1]).tolist():
                one, other = (tuple(people[i] for i in sets[order[at + step]]) for step in (0, 1))
                found.append((one, other))
        return found

    def equations(self, values: Int64, most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], list[int]]]:
        """Pairs of distinct sets of at most `most` people, and the values of the first less those of the second.

        `values` [groups, values] is how often each group shows each value; the differences are counted in its columns.
        A set may be empty: then the groups prove the values of the other. Of several sets that differ by known values,
        each is paired with the next. A component has no answer if its groups contradict each other, or if it has too
        many sets to compare.
        """
        rows = list(range(len(self.members)))
        people = self._people(rows)
        if not people or len(people) ** most > MOST_SUMS:
            return
        image, solution = self._solved(rows, people, values)
        if solution is None:
            return
        sets, sizes = _sets_to_compare(image, most)
        image, solution = (np.concatenate([part, np.zeros_like(part[:1])]) for part in (image, solution))
        sums = image[sets].sum(axis=1) % PRIME
        keys = sums[:, 0] * PRIME + sums[:, 1]
        folded = (solution * np.random.default_rng(len(people)).integers(1, PRIME, values.shape[1]) % PRIME).sum(axis=1)
        # Sets of the same size with the same values are next to each other: these pairs are correlations.
        order = np.lexsort(((folded % PRIME)[sets].sum(axis=1) % PRIME, sizes, keys))
        pairs = np.flatnonzero(keys[order][1:] == keys[order][:-1])
        for block in np.split(pairs, range(BLOCK, len(pairs), BLOCK)):
            one, other = sets[order[block]], sets[order[block + 1]]
            left = (solution[one].sum(axis=1) - solution[other].sum(axis=1)) % PRIME
            left = np.where(left > PRIME // 2, left - PRIME, left)
            possible = np.abs(left).max(axis=1, initial=0) <= most  # otherwise no people can have these values
            both = zip(one[possible].tolist(), other[possible].tolist(), left[possible].tolist(), strict=True)
            for first, second, difference in both:
                yield (
                    tuple([people[i] for i in first if i < len(people)]),
                    tuple([people[i] for i in second if i < len(people)]),
                    difference,
                )

    def is_searchable(self, rows: list[int], most: int) -> bool:
        """Whether there are few enough sets of at most `most` people to compare them all."""
        return int(len(self._people(rows)) ** most) <= MOST_SUMS

    def _people(self, rows: list[int]) -> list[int]:
        """The identified people of these groups."""
        return sorted({person for row in rows for person in self.members[row]})

    def _solved(self, rows: list[int], people: list[int], values: Int64) -> tuple[Int64, Int64 | None]:
        """The null space and one solution of the system that these groups state, for each person, modulo a prime.

        The null space is a random image of each person's coordinates in it [people, 2]. A sum of people with weights
        is a sum of groups if it is zero on the null space, which is tested on the images. For each pair of sets, the
        probability of a chance agreement is below 10^-18. The values of such a sum are those of any solution
        [people, values]. There is none if groups contradict each other.
        """
        column = {person: at for at, person in enumerate(people)}
        width = len(people) + sum(self.unidentified[row] for row in rows)
        matrix, at = np.zeros((len(rows), width + values.shape[1]), np.int64), len(people)
        for number, row in enumerate(rows):
            certain = np.array([column[person] for person in self.members[row]], dtype=np.int64)
            matrix[number, certain] = 1
            matrix[number, at : at + self.unidentified[row]] = 1
            at += self.unidentified[row]
        matrix[:, width:] = values
        pivots = _reduce(matrix, width)
        is_free = np.ones(width, np.bool_)
        is_free[pivots] = False
        free = np.flatnonzero(is_free)
        image = np.zeros((width, 2), np.int64)
        image[free] = np.random.default_rng(width).integers(1, PRIME, (len(free), 2))
        _express(matrix, pivots, free, image)
        solution = np.zeros((width, values.shape[1]), np.int64)
        solution[pivots] = matrix[: len(pivots), width:]
        contradictory = matrix[len(pivots) :, width:].any()
        return image[: len(people)], None if contradictory else solution[: len(people)]


def _sets_to_compare(image: Int64, most: int) -> tuple[Int64, Int64]:
    """Every multiset of at most `most` people [sets, most], and its size; places that are left have no one's number.

    A person who is alone determined (zero on the null space) is in no set of several people: they would add nothing.
    """
    nobody, open_ = len(image), np.flatnonzero(image.any(axis=1))
    listed = [np.empty((1, 0), np.int64), np.arange(len(image))[:, None]]
    listed += [open_[_multisets(len(open_), size)] for size in range(2, most + 1)]
    ends = np.cumsum([len(of) for of in listed[: most + 1]]).tolist()
    sets, sizes = np.full((ends[-1], most), nobody), np.zeros(ends[-1], np.int64)
    for size, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        sets[begin:end, :size], sizes[begin:end] = listed[size], size
    return sets, sizes


def _multisets(people: int, size: int) -> Int64:
    """Every multiset of `size` people, in ascending order [sets, size]."""
    if size == 2:
        return np.stack(np.triu_indices(people), axis=1)
    return np.array(list(combinations_with_replacement(range(people), size)), dtype=np.int64)


@compiled
def _reduce(matrix: Int64, width: int) -> Int64:
    """Bring the first columns to reduced echelon form modulo the prime, in place; the pivot column of each row."""
    pivots, top = np.empty(len(matrix), np.int64), 0
    for column in range(width):
        if top == len(matrix):
            break
        row = top
        while row < len(matrix) and matrix[row, column] == 0:
            row += 1
        if row == len(matrix):
            continue
        for at in range(matrix.shape[1]):
            matrix[top, at], matrix[row, at] = matrix[row, at], matrix[top, at]
        inverse = _inverse(matrix[top, column])
        for at in range(matrix.shape[1]):
            matrix[top, at] = matrix[top, at] * inverse % PRIME
        for other in range(len(matrix)):
            factor = matrix[other, column]
            if other != top and factor != 0:
                for at in range(matrix.shape[1]):
                    if matrix[top, at] != 0:
                        matrix[other, at] = (matrix[other, at] - factor * matrix[top, at] % PRIME) % PRIME
        pivots[top] = column
        top += 1
    return pivots[:top]


@compiled
def _inverse(number: int) -> int:
    """The inverse modulo the prime: the power by the prime less 2."""
    result, power, left = np.int64(1), np.int64(number), PRIME - 2
    while left:
        if left & 1:
            result = result * power % PRIME
        power = power * power % PRIME
        left >>= 1
    return int(result)


@compiled
def _express(matrix: Int64, pivots: Int64, free: Int64, image: Int64) -> None:
    """The images of the pivots, by the images of the free columns."""
    for row in range(len(pivots)):
        for part in range(image.shape[1]):
            total = np.int64(0)
            for column in free:
                if matrix[row, column] != 0:
                    total += matrix[row, column] * image[column, part] % PRIME
            image[pivots[row], part] = (-total) % PRIME
