"""Small components wholly: the groups that hang together as a matrix, and every small vector of its row space.

Two sets of people have the same values for certain, by linear reasoning, if their sums agree on the null space of the
incidence of groups and people. The null space is found modulo a prime and folded to one number for each person, so that
equal sums of numbers are equal sums of vectors; a chance agreement has probability below one in 10^9 for each table.
"""

from itertools import combinations_with_replacement

import numpy as np

from reanon_core.checks.appearances import Appearances
from reanon_core.model.arrays import Bool, Int64

PRIME = 2_147_483_647
MOST_GROUPS = 48
"""A component of more groups is not small."""
MOST_SUMS = 200_000
"""Nor is one with more sets of people to compare."""


def judged_components(known: Appearances, first: int, left: int) -> tuple[Bool, Bool]:
    """For each group from `first` on: whether its component is broken, and whether it is small enough to say.

    Broken is a component with a correlation of at most `left` people on a side.
    """
    new = known.groups - first
    broken, wholly = np.zeros(new, np.bool_), np.zeros(new, np.bool_)
    seen = np.zeros(new, np.bool_)
    too_many: set[int] = set()
    for group in range(first, known.groups):
        if seen[group - first]:
            continue
        component = _component(known, group, too_many)
        if component is None:
            too_many.add(group)
            continue
        mine = np.array([other - first for other in component if other >= first])
        seen[mine] = True
        answer = _correlated(known, sorted(component), left)
        wholly[mine] = answer is not None
        broken[mine] = bool(answer)
    return broken, wholly


def _component(known: Appearances, group: int, too_many: set[int]) -> set[int] | None:
    """The groups that hang together with this one through people, or None if they are many."""
    component, queue = {group}, [group]
    while queue:
        now = queue.pop()
        for person in known.who[known.start[now] : known.start[now + 1]].tolist():
            appearance = int(known.latest[person])
            while appearance >= 0:
                other = int(known.group[appearance])
                if other not in component:
                    if other in too_many or len(component) == MOST_GROUPS:
                        too_many |= component
                        return None
                    component.add(other)
                    queue.append(other)
                appearance = int(known.before[appearance])
    return component


def _correlated(known: Appearances, component: list[int], left: int) -> bool | None:
    """Whether two different sets of equally many people, `left` at most, agree on the null space; None if too many."""
    members = [known.who[known.start[group] : known.start[group + 1]].tolist() for group in component]
    people = sorted({person for listed in members for person in listed})
    column = {person: at for at, person in enumerate(people)}
    if len(people) ** left > MOST_SUMS:
        return None
    fakes = [
        int(known.rows[group + 1] - known.rows[group]) - len(m) for group, m in zip(component, members, strict=True)
    ]
    matrix = np.zeros((len(component), len(people) + sum(fakes)), np.int64)
    at = len(people)
    for row, (listed, fake) in enumerate(zip(members, fakes, strict=True)):
        matrix[row, [column[person] for person in listed]] = 1
        matrix[row, at : at + fake] = 1
        at += fake
    image = folded_null_space(matrix)[: len(people)]
    for size in range(1, left + 1):
        sums: dict[tuple[int, int], set[tuple[int, ...]]] = {}
        for chosen in combinations_with_replacement(range(len(people)), size):
            key = tuple(int(x) for x in image[list(chosen)].sum(axis=0) % PRIME)
            sums.setdefault((key[0], key[1]), set()).add(chosen)
        if any(len(alike) > 1 for alike in sums.values()):
            return True
    return False


def folded_null_space(matrix: Int64) -> Int64:
    """Two numbers for each column [columns, 2]: random images of the column's coordinates in the null space."""
    rows, columns = matrix.shape
    reduced = matrix % PRIME
    pivots: list[int] = []
    for column in range(columns):
        below = [row for row in range(len(pivots), rows) if reduced[row, column]]
        if not below:
            continue
        top = len(pivots)
        reduced[[top, below[0]]] = reduced[[below[0], top]]
        reduced[top] = reduced[top] * pow(int(reduced[top, column]), -1, PRIME) % PRIME
        for row in range(rows):
            if row != top and reduced[row, column]:
                reduced[row] = (reduced[row] - reduced[row, column] * reduced[top]) % PRIME
        pivots.append(column)
        if len(pivots) == rows:
            break
    free = [column for column in range(columns) if column not in set(pivots)]
    # Any fixed generator will do: what is folded is known to everybody, and nothing of it shows.
    image = np.zeros((columns, 2), np.int64)
    image[free] = np.random.default_rng(len(free)).integers(1, PRIME, (len(free), 2))
    for row, column in enumerate(pivots):
        total = np.zeros(2, np.int64)
        for other in free:
            if reduced[row, other]:
                total = (total - reduced[row, other] * image[other]) % PRIME
        image[column] = total
    return image
