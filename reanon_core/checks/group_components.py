"""Small components of groups that share people, decided exactly: every small vector of their row space.

By linear reasoning, two sets of people have the same values if their sums agree on the null space of the incidence of
groups and people. The null space is computed modulo a prime and folded to two random numbers for each person, so that
equal sums of numbers stand for equal sums of vectors. A chance agreement has probability below 10^-9 for each table.
"""

import numpy as np

from reanon_core.checks.membership_table import Appearances, MembershipTable, same_signature
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int64

PRIME = 2_147_483_647
MOST_GROUPS, FEWER_GROUPS = 256, 48
"""The most groups of a small component: the first number in a short history, the second in a long one."""
LONG_HISTORY = 20_000
"""A history with more groups is long."""
MOST_SUMS = 1_000_000
"""The most sets of people that are compared in a component."""
OUTSIDE, LARGE = -1, -2
"""Labels of groups in no component of interest, and in a component that is not small."""


def judge_components(known: MembershipTable, first: int, left: int) -> tuple[Bool, Bool]:
    """For each group from `first` on: whether its component has a small correlation, and whether that was decided.

    A small correlation has at most `left` people on a side.
    """
    new = known.groups - first
    correlated, decided = np.zeros(new, np.bool_), np.zeros(new, np.bool_)
    label = _component_labels(known.appearances, first, MOST_GROUPS if first <= LONG_HISTORY else FEWER_GROUPS)
    small = np.flatnonzero(label >= 0)
    order = small[np.argsort(label[small], kind="stable")]
    for component in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
        mine = component[component >= first] - first
        if len(component) > 1:
            answer = _has_correlation(known, component.tolist(), left)
            decided[mine], correlated[mine] = answer is not None, bool(answer)
        else:
            decided[mine] = True  # one group by itself correlates no one
    return correlated, decided


@compiled
def _component_labels(known: Appearances, first: int, most: int) -> Int64:
    """A label for each component that has a group from `first` on; LARGE if it has more than `most` groups."""
    start = known.start
    label = np.full(len(start) - 1, OUTSIDE, dtype=np.int64)
    reached = np.empty(most, dtype=np.int64)
    for new in range(first, len(start) - 1):
        if label[new] != OUTSIDE:
            continue
        reached[0], label[new] = new, new
        found, done, many = 1, 0, False
        while done < found and not many:
            for i in range(start[reached[done]], start[reached[done] + 1]):
                appearance = known.latest[known.who[i]]
                while appearance >= 0 and not many:
                    other = known.group[appearance]
                    appearance = known.before[appearance]
                    # A person whose value changed is in groups with other values, which are no part of the component.
                    if label[other] == new or not same_signature(known, new, other):
                        continue
                    if found == most or label[other] == LARGE:
                        many = True
                    else:
                        label[other] = new
                        reached[found] = other
                        found += 1
            done += 1
        if many:
            for i in range(found):
                label[reached[i]] = LARGE
    return label


def _has_correlation(known: MembershipTable, component: list[int], left: int) -> bool | None:
    """Whether two distinct sets of equally many people, at most `left`, agree on the null space; None if too many."""
    members = [known.who[known.start[group] : known.start[group + 1]].tolist() for group in component]
    people = sorted({person for listed in members for person in listed})
    column = {person: at for at, person in enumerate(people)}
    if len(people) ** left > MOST_SUMS:
        return None
    counterfeits = [
        int(known.rows[group + 1] - known.rows[group]) - len(m) for group, m in zip(component, members, strict=True)
    ]
    matrix = np.zeros((len(component), len(people) + sum(counterfeits)), np.int64)
    at = len(people)
    for row, (listed, added) in enumerate(zip(members, counterfeits, strict=True)):
        matrix[row, [column[person] for person in listed]] = 1
        matrix[row, at : at + added] = 1
        at += added
    image = folded_null_space(matrix)[: len(people)]
    for size in range(1, left + 1):
        sums = np.zeros((1, 2), np.int64)
        lowest = np.zeros(1, np.int64)  # people are added in ascending order, so that every set occurs once
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
    # Any fixed generator will do: the matrix is known to the adversary, and the image is never published.
    image = np.zeros((columns, 2), np.int64)
    image[free] = np.random.default_rng(len(free)).integers(1, PRIME, (len(free), 2))
    for row, column in enumerate(pivots):
        total = np.zeros(2, np.int64)
        for other in free:
            if reduced[row, other]:
                total = (total - reduced[row, other] * image[other]) % PRIME
        image[column] = total
    return image
