"""The ways in which a group's values can be arranged over its people."""

import math

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32


def arrangements(values: Int32, most: int) -> tuple[Int32, bool]:
    """Arrangements [a, n] of the values, the given one first; and whether they are all different ones there are.

    If there are more than `most`, they are the given one and every exchange of two different values in it.
    """
    if arrangement_count(values) > most:
        return _exchanges(values), False
    found = _all_arrangements(np.sort(values), arrangement_count(values))
    given = int(np.flatnonzero((found == values).all(axis=1))[0])
    found[[0, given]] = found[[given, 0]]
    return found, True


def arrangement_count(values: Int32) -> int:
    """How many different arrangements there are."""
    _, counts = np.unique(values, return_counts=True)
    return math.factorial(len(values)) // math.prod(math.factorial(int(count)) for count in counts)


def _exchanges(values: Int32) -> Int32:
    one, other = np.triu_indices(len(values), 1)
    different = values[one] != values[other]
    one, other = one[different], other[different]
    found = np.tile(values, (len(one) + 1, 1))
    at = np.arange(1, len(found))
    found[at, one], found[at, other] = values[other], values[one]
    return found


@compiled
def _all_arrangements(ascending: Int32, count: int) -> Int32:
    """All of them in lexicographic order."""
    size = len(ascending)
    found = np.empty((count, size), dtype=np.int32)
    found[0] = ascending
    for row in range(1, count):
        found[row] = found[row - 1]
        here = found[row]
        last = size - 2
        while here[last] >= here[last + 1]:
            last -= 1
        above = size - 1
        while here[above] <= here[last]:
            above -= 1
        here[last], here[above] = here[above], here[last]
        here[last + 1 :] = here[last + 1 :][::-1].copy()
    return found
