"""Small components wholly: the groups that hang together as a matrix, and every small vector of its row space.

Two sets of people have the same values for certain, by linear reasoning, if their sums agree on the null space of the
incidence of groups and people. The null space is found modulo a prime and folded to one number for each person, so that
equal sums of numbers are equal sums of vectors; a chance agreement has probability below one in 10^9 for each table.
"""

import numpy as np

from reanon_core.checks.membership_table import Appearances
from reanon_core.checks.signed_sums import same_kind
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64

PRIME = 2_147_483_647
MOST_GROUPS, FEWER_GROUPS = 256, 48
"""A component of more groups is not small: the first while the history is short, the second when it is long."""
LONG_HISTORY = 20_000
"""The groups of a long history."""
MOST_SUMS = 1_000_000
"""Nor is one with more sets of people to compare."""


def judged_components(known: Appearances, first: int, left: int) -> tuple[Bool, Bool]:
    """For each group from `first` on: whether its component is broken, and whether it is small enough to say.

    Broken is a component with a correlation of at most `left` people on a side.
    """
    new = known.groups - first
    broken, wholly = np.zeros(new, np.bool_), np.zeros(new, np.bool_)
    arrays = (known.who, known.group, known.before, known.latest, known.start, known.values, known.rows)
    label = _labelled(*arrays, first, MOST_GROUPS if first <= LONG_HISTORY else FEWER_GROUPS)
    small = np.flatnonzero(label >= 0)
    order = small[np.argsort(label[small], kind="stable")]
    for component in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
        mine = component[component >= first] - first
        if len(component) > 1:
            answer = _correlated(known, component.tolist(), left)
            wholly[mine], broken[mine] = answer is not None, bool(answer)
        else:
            wholly[mine] = True  # one group says nothing of fewer people than it has values
    return broken, wholly


@compiled
def _labelled(
    who: Int32,
    group: Int32,
    before: Int32,
    latest: Int32,
    start: Int64,
    values: Int32,
    rows: Int64,
    first: int,
    most: int,
) -> Int64:
    """A label for every group whose component holds a group from `first` on; -1 for others.

    The label is -2 if the component has more than `most` groups.
    """
    label = np.full(len(start) - 1, -1, dtype=np.int64)
    reached = np.empty(most, dtype=np.int64)
    for new in range(first, len(start) - 1):
        if label[new] != -1:
            continue
        reached[0], label[new] = new, new
        found, done, many = 1, 0, False
        while done < found and not many:
            for i in range(start[reached[done]], start[reached[done] + 1]):
                appearance = latest[who[i]]
                while appearance >= 0 and not many:
                    other = group[appearance]
                    appearance = before[appearance]
                    # Somebody whose value has changed stands in groups with other values, and ties nothing together.
                    if label[other] == new or not same_kind(values, rows, new, other):
                        continue
                    if found == most or label[other] == -2:
                        many = True
                    else:
                        label[other] = new
                        reached[found] = other
                        found += 1
            done += 1
        if many:
            for i in range(found):
                label[reached[i]] = -2
    return label


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
        sums = np.zeros((1, 2), np.int64)
        lowest = np.zeros(1, np.int64)  # people are added in ascending order, so that every set comes once
        for _ in range(size):
            further = np.arange(len(people)) >= lowest[:, None]
            which, person = np.nonzero(further)
            sums, lowest = (sums[which] + image[person]) % PRIME, person
        keys = np.sort(sums[:, 0] * PRIME + sums[:, 1])
        if (keys[1:] == keys[:-1]).any():
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
