"""Atoms: sets of people whom the releases do not distinguish, because they share their whole trace.

A trace is the group of a person in each release. The candidates of any intersection or difference over any releases are
a union of atoms, so what holds for every atom holds for all of them.

Paper: [BPG] neighbourhoods and signatures, as an adversary sees them.
"""

from dataclasses import dataclass

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.view.box_lookup import group_masks_at
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.release import Release

ABSENT = -1
"""The person is not in the release."""
UNKNOWN = -2
"""The person is in the release, but several boxes contain them, or none."""
HALF = np.uint64(32)
LOWER = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, eq=False)
class Traces:
    """The group of each person in each release, where it is certain."""

    persons: Int64  # [n] ascending
    group: Int32  # [releases, n] a group, ABSENT or UNKNOWN

    @property
    def certain(self) -> Bool:
        """Whose group is certain in every release, bool[n]."""
        whole: Bool = (self.group != UNKNOWN).all(axis=0)
        return whole


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atoms of the people with a certain trace, and how large they can be."""

    atom: Int64  # [n] the atom of each person, -1 where the trace is uncertain
    size: Int64  # [a] its people
    most: Int64  # [a] its people, and the most people of uncertain trace who can belong to it


def certain_groups(qi: Int32, release: Release) -> Int32:
    """For each point, the only group that may contain it, or UNKNOWN.

    The mask of a group is its number and the number's complement. A union over several has some bit set in both.
    """
    number = np.arange(release.boxes.count, dtype=np.uint64)
    union = group_masks_at(qi, release, (number | (~number & LOWER) << HALF)[:, None])[:, 0]
    numbers, complements = union & LOWER, union >> HALF
    single = (numbers ^ complements) == LOWER  # the union is empty where no box contains the point
    return np.where(single, numbers.astype(np.int64), UNKNOWN).astype(np.int32)


def traces_of(history: History, knowledge: Knowledge, *, tracked: bool = False) -> Traces:
    """The group of each person in each release, derived from boxes and lifespans.

    With `tracked` the groups that the knowledge declares are used too: those of an adversary who can follow people
    through the releases.
    """
    persons = np.unique(np.concatenate([np.empty(0, np.int64), *(p.persons for p in knowledge.presences)]))
    group = np.full((len(history.releases), len(persons)), ABSENT, dtype=np.int32)
    for row, published, presence in zip(group, history.releases, knowledge.presences, strict=True):
        if tracked and presence.group is not None:
            known = presence.group
        else:
            known = certain_groups(presence.qi, published.release)
        row[persons.searchsorted(presence.persons)] = known
    return Traces(persons, group)


def atoms_of(traces: Traces, history: History) -> Atoms:
    """The atoms of the people with a certain trace.

    People of uncertain trace may belong to an atom too. In each group of its trace, at most the real rows less the
    people with a certain trace do.
    """
    inside = np.flatnonzero(traces.certain)
    group = traces.group[:, inside]
    label, atoms = _labels(group)
    size = np.bincount(label, minlength=atoms)
    others = np.full(atoms, np.iinfo(np.int64).max)
    for row, published in zip(group, history.releases, strict=True):
        shown = row >= 0
        real = real_rows(published)
        spare = np.maximum(0, real - np.bincount(row[shown], minlength=len(real)))
        # All people of an atom have the same group, so that any of them may represent it.
        others[label[shown]] = np.minimum(others[label[shown]], spare[row[shown]])
    atom = np.full(len(traces.persons), -1, dtype=np.int64)
    atom[inside] = label
    return Atoms(atom, size, size + others)


def real_rows(published: Published) -> Int64:
    """How many people each group shows: its rows less its counterfeits."""
    rows = np.bincount(published.release.group, minlength=published.release.boxes.count)
    rows[published.auxiliary.group] -= published.auxiliary.count
    return rows


@compiled
def _labels(group: Int32) -> tuple[Int64, int]:
    """A number for each distinct column, in their lexicographic order, and how many there are."""
    people, widest = group.shape[1], 0
    for row in group:
        for own in row:
            widest = max(widest, own - ABSENT)
    order = np.arange(people)
    for row in group[::-1]:  # a stable counting sort by one release after the other, the first at the end
        after = np.zeros(widest + 2, dtype=np.int64)
        for own in row:
            after[own - ABSENT + 1] += 1
        after = np.cumsum(after)
        sorted_ = np.empty(people, dtype=np.int64)
        for one in order:
            sorted_[after[row[one] - ABSENT]] = one
            after[row[one] - ABSENT] += 1
        order = sorted_
    label, count = np.zeros(people, dtype=np.int64), min(1, people)
    for at in range(1, people):
        for row in group:
            if row[order[at]] != row[order[at - 1]]:
                count += 1
                break
        label[order[at]] = count - 1
    return label, count
