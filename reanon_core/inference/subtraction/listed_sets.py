"""The sets of people of many releases in one list, to find those inside the sets of one release at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.subtraction.differences import NOT_INSIDE, NOT_SEEN, PeopleSets
from reanon_core.model.arrays import Bool, Int32, Int64


class ListedSets(NamedTuple):
    """The people who are in a set without spare rows, release after release."""

    person: Int64  # [m]
    set_number: Int64  # [m] the set of the person, counted over all releases
    release: Int32  # [sets]


def listed_sets(releases: Sequence[PeopleSets]) -> ListedSets:
    """The sets of these releases that can be subtracted."""
    person, number = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    before = 0
    for sets in releases:
        own = sets.set_of[sets.people]
        usable = own >= 0
        usable[usable] = sets.spare[own[usable]] == 0
        person.append(sets.people[usable])
        number.append(own[usable].astype(np.int64) + before)
        before += len(sets.spare)
    counts = [len(sets.spare) for sets in releases]
    release = np.repeat(np.arange(len(releases), dtype=np.int32), counts)
    return ListedSets(np.concatenate(person), np.concatenate(number), release)


@compiled
def with_contained_sets(listed: ListedSets, set_of: Int32, releases: int) -> Bool:
    """Which of so many releases have a set whose people are all in one set of a release, `set_of` [n]."""
    container = np.full(len(listed.release), NOT_SEEN, dtype=np.int64)
    for i in range(len(listed.person)):
        own = listed.set_number[i]
        holder = set_of[listed.person[i]]
        if holder < 0 or (container[own] != NOT_SEEN and container[own] != holder):
            container[own] = NOT_INSIDE
        elif container[own] == NOT_SEEN:
            container[own] = holder
    found = np.zeros(releases, dtype=np.bool_)
    for own in range(len(container)):
        if container[own] >= 0:
            found[listed.release[own]] = True
    return found
