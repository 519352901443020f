"""Groups that hang together through people, as far as they are few, and the small vectors of their row space.

What groups say together, by linear reasoning, is the row space of their incidence with people. In a small component
all of it can be searched; in a large one that is a minimum-distance problem, and only short sums are (derivations.py).
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64

PRIME = (1 << 31) - 1
MOST_GROUPS, FEWER_GROUPS = 256, 48
"""A component with more groups is not small: the first number in a short history, the second in a long one."""
LONG_HISTORY = 20_000
"""How many groups make a history long. They only become more, so what was searched once stays searched."""
MOST_SUMS = 1_000_000
"""Nor is one with more sets of people to compare."""
LARGE = -2
UNSEEN = -1


def most_groups(past: int) -> int:
    """How many groups a small component has at most, after so many groups of the past."""
    return MOST_GROUPS if past <= LONG_HISTORY else FEWER_GROUPS


@compiled
def small_components(
    person: Int32,
    group: Int32,
    previous: Int32,
    latest: Int32,
    first: Int64,
    begin: int,
    end: int,
    alive: Bool,
    most: int,
) -> Int64:
    """The groups of every small component that holds an alive group of begin .. end - 1, component after component.

    Each component is followed by -1.
    """
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
    """The people of each group of a component; counterfeits and strangers are columns of their own."""

    members: list[list[int]]
    fakes: list[int]

    def correlations(self, rows: list[int], most: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Pairs of different sets of equally many people, at most `most`, that these rows make equal.

        Of many sets that are all alike, each is paired with the next. Nothing is said about components with too many
        sets to compare.
        """
        people = sorted({person for row in rows for person in self.members[row]})
        if not people or not self.decided(rows, most):
            return []
        image = self._image(rows, people)
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

    def decided(self, rows: list[int], most: int) -> bool:
        """Whether the component is small enough to search all of it."""
        people = len({person for row in rows for person in self.members[row]})
        return int(people**most) <= MOST_SUMS

    def _image(self, rows: list[int], people: list[int]) -> Int64:
        """A random image, modulo a prime, of everybody's coordinates in the null space [people, 2].

        Two sets agree on the null space if their sums do; here, if the sums of their images do. That those agree by
        chance has probability below 10^-18 for each pair of sets.
        """
        column = {person: at for at, person in enumerate(people)}
        width = len(people) + sum(self.fakes[row] for row in rows)
        matrix, at = np.zeros((len(rows), width), np.int64), len(people)
        for number, row in enumerate(rows):
            certain = np.array([column[person] for person in self.members[row]], dtype=np.int64)
            matrix[number, certain] = 1
            matrix[number, at : at + self.fakes[row]] = 1
            at += self.fakes[row]
        pivots = _eliminated(matrix)
        free = np.setdiff1d(np.arange(width), np.array(list(pivots), dtype=np.int64))
        image = np.zeros((width, 2), np.int64)
        image[free] = np.random.default_rng(width).integers(1, PRIME, (len(free), 2))
        for row, pivot in enumerate(pivots):
            coefficients = matrix[row, free]
            used = np.flatnonzero(coefficients)
            image[pivot] = (-(coefficients[used, None] * image[free[used]] % PRIME).sum(axis=0)) % PRIME
        return image[: len(people)]


def _multisets(people: int, size: int) -> Int64:
    """Every choice of so many people, with repetition, in ascending order [sets, size]."""
    if size == 2:
        return np.stack(np.triu_indices(people), axis=1)
    return np.array(list(combinations_with_replacement(range(people), size)), dtype=np.int64)


def _eliminated(matrix: Int64) -> list[int]:
    """Bring the matrix to reduced echelon form modulo the prime, in place; the pivot column of each row."""
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        top = len(pivots)
        if top == len(matrix):
            break
        below = top + np.flatnonzero(matrix[top:, column])
        if not len(below):
            continue
        matrix[[top, below[0]]] = matrix[[below[0], top]]
        matrix[top] = matrix[top] * pow(int(matrix[top, column]), PRIME - 2, PRIME) % PRIME
        others = np.flatnonzero(matrix[:, column])
        others = others[others != top]
        matrix[others] = (matrix[others] - matrix[others, column, None] * matrix[top] % PRIME) % PRIME
        pivots.append(column)
    return pivots
