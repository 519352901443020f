"""How many people of one list are in another, some of them at a time."""

from collections.abc import Iterable

import numpy as np

from reanon_core.model.arrays import Int64, forget_pages


def counted_among(parts: Iterable[Int64], persons: Int64) -> tuple[int, int]:
    """How many people of the parts are among `persons`, and how many they are.

    Requires: `persons` ascend.
    """
    here = total = 0
    for part in parts:
        total += len(part)
        if len(persons):
            before = np.sort(part)  # neighbours are found near each other
            places = np.minimum(persons.searchsorted(before), len(persons) - 1)
            here += int(np.count_nonzero(persons[places] == before))
            forget_pages(persons)
    return here, total
