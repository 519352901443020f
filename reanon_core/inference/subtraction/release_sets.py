"""The sets of people of all releases in arrays that a compiled function walks through, release after release."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.subtraction.differences import (
    PeopleSets,
    containing_sets,
    fewer,
    infer_values,
    remove_known,
    subtract_and_infer,
)
from reanon_core.model.arrays import Int32, Int64


class ReleaseSets(NamedTuple):
    """The arrays of `PeopleSets` of each release, one release after the other; they are changed in place."""

    people: Int64  # [m]
    set_of: Int32  # [releases, n]
    start: Int64  # [g] counted from the first row of the release
    length: Int64  # [g]
    values: Int32  # [rows]
    spare: Int64  # [g]
    first_person: Int64  # [releases + 1] where the people of each release begin
    first_set: Int64  # [releases + 1]
    first_row: Int64  # [releases + 1]

    @staticmethod
    def of(releases: Sequence[PeopleSets], people: int) -> "ReleaseSets":
        """Copies of the sets of these releases, of `people` people in all."""
        none, codes = np.empty(0, np.int64), np.empty(0, np.int32)
        return ReleaseSets(
            np.concatenate([none, *(sets.people for sets in releases)]),
            np.stack([sets.set_of for sets in releases]) if releases else np.empty((0, people), np.int32),
            np.concatenate([none, *(sets.start for sets in releases)]),
            np.concatenate([none, *(sets.length for sets in releases)]),
            np.concatenate([codes, *(sets.values for sets in releases)]),
            np.concatenate([none, *(sets.spare for sets in releases)]),
            _begins([len(sets.people) for sets in releases]),
            _begins([len(sets.start) for sets in releases]),
            _begins([len(sets.values) for sets in releases]),
        )

    def copy(self) -> "ReleaseSets":
        """The same sets in arrays of their own."""
        return self._replace(
            set_of=self.set_of.copy(), length=self.length.copy(), values=self.values.copy(), spare=self.spare.copy()
        )

    def present(self) -> "ReleaseSets":
        """The same arrays, for the people who are still in a set."""
        release = np.repeat(np.arange(len(self.set_of)), np.diff(self.first_person))
        kept = self.set_of[release, self.people] >= 0
        counts = np.bincount(release[kept], minlength=len(self.set_of))
        return self._replace(people=self.people[kept], first_person=_begins(counts.tolist()))


def _begins(counts: Sequence[int]) -> Int64:
    return np.cumsum([0, *counts], dtype=np.int64)


@compiled
def release_at(releases: ReleaseSets, index: int) -> PeopleSets:
    """The sets of one release, in the same memory."""
    person, following_person = releases.first_person[index], releases.first_person[index + 1]
    first, following = releases.first_set[index], releases.first_set[index + 1]
    row, following_row = releases.first_row[index], releases.first_row[index + 1]
    return PeopleSets(
        releases.people[person:following_person],
        releases.set_of[index],
        releases.start[first:following],
        releases.length[first:following],
        releases.values[row:following_row],
        releases.spare[first:following],
    )


@compiled
def remove_known_everywhere(releases: ReleaseSets, known: Int32) -> int:
    """Remove the people whose value is known from every release; the number of contradictions."""
    contradictions = 0
    for index in range(len(releases.set_of)):
        contradictions += remove_known(release_at(releases, index), known)
    return contradictions


@compiled
def infer_everywhere(releases: ReleaseSets, inferred: Int32, distinct: int) -> int:
    """Infer values from every release; the fewest values of a set with people, or 0 if there is none."""
    fewest = 0
    for index in range(len(releases.set_of)):
        sets = release_at(releases, index)
        fewest = fewer(fewest, infer_values(sets, np.arange(len(sets.start)), inferred, distinct))
    return fewest


@compiled
def subtract_releases(
    releases: ReleaseSets, index: int, rest: ReleaseSets, inferred: Int32, distinct: int
) -> tuple[int, int]:
    """Subtract every other release from this one: each alone from a copy, and all in turn from its rest, in place.

    Most releases have no set inside one of this release and are skipped: what is subtracted makes sets smaller, so that
    none comes to be inside one. The contradictions, and the fewest values of a set with people; 0 if there is none.
    """
    sets, remainder = release_at(releases, index), release_at(rest, index)
    contradictions, fewest = 0, 0
    for other in range(len(releases.set_of)):
        inner = release_at(releases, other)
        if other == index:
            continue
        container = containing_sets(inner, sets)
        if not (container >= 0).any():
            continue
        alone = PeopleSets(
            sets.people, sets.set_of.copy(), sets.start, sets.length.copy(), sets.values.copy(), sets.spare.copy()
        )
        found, left = subtract_and_infer(alone, inner, container, inferred, distinct)
        contradictions, fewest = contradictions + found, fewer(fewest, left)
        found, left = subtract_and_infer(remainder, inner, containing_sets(inner, remainder), inferred, distinct)
        contradictions, fewest = contradictions + found, fewer(fewest, left)
    return contradictions, fewest


@compiled
def subtract_remainders(
    remainders: ReleaseSets, index: int, rest: ReleaseSets, inferred: Int32, distinct: int
) -> tuple[int, int]:
    """Subtract the remainders of all other releases in turn from the rest of this one, in place.

    Remainders alone would cost twice the time and add little. The contradictions, and the fewest values of a set with
    people; 0 if there is none.
    """
    remainder = release_at(rest, index)
    contradictions, fewest = 0, 0
    for other in range(len(remainders.set_of)):
        if other != index:
            inner = release_at(remainders, other)
            container = containing_sets(inner, remainder)
            found, left = subtract_and_infer(remainder, inner, container, inferred, distinct)
            contradictions, fewest = contradictions + found, fewer(fewest, left)
    return contradictions, fewest
