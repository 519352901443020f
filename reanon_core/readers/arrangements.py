"""The ways in which a group's values can be arranged over its people."""

import math

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32

MOST_CELLS = 1_000_000
"""How many values all listed arrangements have together at most, so that a large group does not fill the memory."""


def arrangements(values: Int32, most: int) -> tuple[Int32, bool]:
    """Arrangements [a, n] of the values, the given one first; and whether they are all different ones there are.

    If there are more than `most`, or too many for MOST_CELLS, they are the given one and exchanges of two different
    values in it: of every two people, or of pairs at regular distances if these are too many.
    """
    count = arrangement_count(values)
    if count > most or count * len(values) > MOST_CELLS:
        return _exchanges(values), False
    found = _all_arrangements(np.sort(values), count)
    given = int(np.flatnonzero((found == values).all(axis=1))[0])
    found[[0, given]] = found[[given, 0]]
    return found, True


def arrangement_count(values: Int32) -> int:
    """How many different arrangements there are."""
    _, counts = np.unique(values, return_counts=True)
    return math.factorial(len(values)) // math.prod(math.factorial(int(count)) for count in counts)


def _exchanges(values: Int32) -> Int32:
    size = len(values)
    pairs = size * (size - 1) // 2
    number = np.unique(np.linspace(0, pairs - 1, min(pairs, max(1, MOST_CELLS // size))).astype(np.int64))
    # Pair (one, other) with one < other has the number other (other - 1) / 2 + one.
    other = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    other -= other * (other - 1) // 2 > number  # a rounding up
    one = number - other * (other - 1) // 2
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
