"""Values numbered in the order in which they first occur."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32


@compiled
def numbered_by_occurrence(position: Int32, absent: Bool) -> tuple[Int32, Int32]:
    """The positions 0 .. len(absent) - 1 that occur, in the order of their first entry, and each entry's number there.

    A position that is `absent` has no number: -1.
    """
    number_of = np.full(len(absent), -1, dtype=np.int32)
    occurring = np.empty(len(absent), dtype=np.int32)
    number = np.empty(len(position), dtype=np.int32)
    found = 0
    for entry in range(len(position)):
        at = position[entry]
        if number_of[at] < 0 and not absent[at]:
            number_of[at] = found
            occurring[found] = at
            found += 1
        number[entry] = number_of[at]
    return occurring[:found], number
