"""[BPG]: what remains of a set of people and their values when whole sets inside it are subtracted.

A release gives disjoint sets of people, and for each set rows that hold all their values. Rows beyond the people
(counterfeits, people whose group is uncertain) are spare. If a set without spare rows lies inside another set, the
adversary knows exactly which values to subtract. Known sets are subtracted from all others, over all releases, until no
new value is inferred.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.view.traces import Traces
from reanon_core.inference.view.value_sets import highest_value
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.history import History
from reanon_core.model.release import Release

NO_SET = -1
"""The set of a person who is in none."""
NOT_SEEN, NOT_INSIDE = -1, -2
"""Why a set lies inside no other: it has no people, or they are in several sets or in none."""
NO_VALUE = -1
"""Nothing is inferred about the person's value."""
CONFLICT = -2
"""Two values are inferred: the person's value has changed, or the knowledge is false."""
CONTRADICTED = -1
"""The spare rows of a set that contradicts what is known."""
ROUNDS = 4
"""How often all releases are subtracted from each other at most; whatever is inferred by then is certain."""


class PeopleSets(NamedTuple):
    """Disjoint sets of people, and the rows that show their values; the arrays are changed in place.

    Ensures: a set always has as many people as rows that are not spare.
    """

    people: Int64  # [m] the people who are in a set at first
    set_of: Int32  # [n] the set of each person, or NO_SET
    start: Int64  # [g] where the rows of a set begin
    length: Int64  # [g] how many rows remain
    values: Int32  # [rows] set after set
    spare: Int64  # [g] rows beyond people, or CONTRADICTED


def sets_of(release: Release, group: Int32) -> PeopleSets:
    """The groups of a release with the people who are certainly in them."""
    people = np.flatnonzero(group >= 0)
    rows = np.bincount(release.group, minlength=release.boxes.count)
    start = np.concatenate([[0], np.cumsum(rows)[:-1]]).astype(np.int64) if len(rows) else np.empty(0, np.int64)
    spare = rows - np.bincount(group[people], minlength=len(rows))
    values = release.sensitive[np.argsort(release.group, kind="stable")].astype(np.int32)
    return PeopleSets(people, np.where(group >= 0, group, NO_SET).astype(np.int32), start, rows, values, spare)


@compiled
def remove_known(sets: PeopleSets, known: Int32) -> int:
    """Remove the people whose value is known, each with a row; the number of sets that have no such row."""
    people, set_of, start, length, values, spare = sets
    contradictions = 0
    for person in people:
        own = set_of[person]
        if own < 0 or known[person] < 0:
            continue
        set_of[person] = NO_SET
        last = start[own] + length[own] - 1
        row = start[own]
        while row <= last and values[row] != known[person]:
            row += 1
        if row > last:
            contradictions += spare[own] >= 0
            spare[own] = CONTRADICTED
        else:
            values[row] = values[last]
            length[own] -= 1
    return contradictions


@compiled
def containing_sets(inner: PeopleSets, outer: PeopleSets) -> Int64:
    """The set of `outer` that holds all people of each set of `inner`; negative if none does, or rows are spare."""
    set_of, spare, outer_set_of = inner.set_of, inner.spare, outer.set_of
    container = np.full(len(spare), NOT_SEEN, dtype=np.int64)
    for person in inner.people:
        own = set_of[person]
        if own < 0 or container[own] == NOT_INSIDE:
            continue
        holder = outer_set_of[person]
        if holder < 0 or spare[own] != 0 or (container[own] != NOT_SEEN and container[own] != holder):
            container[own] = NOT_INSIDE
        else:
            container[own] = holder
    return container


@compiled
def subtract(outer: PeopleSets, inner: PeopleSets, container: Int64, distinct: int) -> int:
    """Subtract the sets of `inner` from the sets of `outer` that contain them; the number of contradictions.

    A set that has fewer rows of some value than the sets inside it contradicts them, and nothing is subtracted from
    it. `distinct` is the number of sensitive values.

    Paper: [BPG] difference attack (prose).
    """
    start, length, values, spare = outer.start, outer.length, outer.values, outer.spare
    inner_start, inner_length, inner_values, inner_set_of = inner.start, inner.length, inner.values, inner.set_of
    contradictions = 0
    count = np.zeros(distinct, dtype=np.int64)
    first, following = _inner_chains(container, len(start))
    for own in range(len(start)):
        if first[own] < 0:
            continue
        rows = values[start[own] : start[own] + length[own]]
        for value in rows:
            count[value] += 1
        consistent = spare[own] >= 0
        inside = first[own]
        while inside >= 0:
            for row in range(inner_start[inside], inner_start[inside] + inner_length[inside]):
                count[inner_values[row]] -= 1
                consistent = consistent and count[inner_values[row]] >= 0
            inside = following[inside]
        if consistent:
            length[own] = _keep_rows(rows, count)
        else:
            contradictions += spare[own] >= 0
            spare[own] = CONTRADICTED
            count[:] = 0
    for person in inner.people:
        inside = inner_set_of[person]
        if inside >= 0 and container[inside] >= 0 and spare[container[inside]] >= 0:
            outer.set_of[person] = NO_SET
    return contradictions


@compiled
def infer_values(sets: PeopleSets, which: Int64, inferred: Int32, distinct: int) -> int:
    """Infer the value of the people of these sets where only one remains; the fewest values of a set with people.

    `inferred` [n] is changed in place; the answer is 0 if no set has people. `distinct` is the number of sensitive
    values.
    """
    people, set_of, start, length, values, spare = sets
    seen = np.full(distinct, -1, dtype=np.int64)
    only = np.full(len(start), NO_VALUE, dtype=np.int64)
    fewest = 0
    for own in which:
        if spare[own] < 0 or length[own] == spare[own]:
            continue
        different = 0
        for row in range(start[own], start[own] + length[own]):
            if seen[values[row]] != own:
                seen[values[row]] = own
                different += 1
        if different == 1:
            only[own] = values[start[own]]
        fewest = different if fewest == 0 else min(fewest, different)
    if fewest == 1:
        for person in people:
            if set_of[person] >= 0 and only[set_of[person]] != NO_VALUE:
                if inferred[person] == NO_VALUE:
                    inferred[person] = only[set_of[person]]
                elif inferred[person] != only[set_of[person]]:
                    inferred[person] = CONFLICT
    return fewest


@compiled
def subtract_and_infer(
    outer: PeopleSets, inner: PeopleSets, container: Int64, inferred: Int32, distinct: int
) -> tuple[int, int]:
    """Subtract in place, and infer from the sets that changed; the contradictions and the fewest values."""
    changed = np.zeros(len(outer.start), dtype=np.bool_)
    for own in container:
        if own >= 0:
            changed[own] = True
    if not changed.any():
        return 0, 0
    contradictions = subtract(outer, inner, container, distinct)
    return contradictions, infer_values(outer, np.flatnonzero(changed), inferred, distinct)


@compiled
def fewer(fewest: int, others: int) -> int:
    """The lower of two numbers of values, where 0 says that there is none."""
    return others if fewest == 0 or 0 < others < fewest else fewest


@compiled
def _inner_chains(container: Int64, sets: int) -> tuple[Int64, Int64]:
    """The inner sets of each outer set as a chain: the first, and after each the next; -1 at the end."""
    first = np.full(sets, -1, dtype=np.int64)
    following = np.full(len(container), -1, dtype=np.int64)
    for inside in range(len(container)):
        if container[inside] >= 0:
            following[inside] = first[container[inside]]
            first[container[inside]] = inside
    return first, following


@compiled
def _keep_rows(rows: Int32, count: Int64) -> int:
    """Move as many rows of each value to the front as `count` says, and leave the counts at 0; how many rows."""
    kept = 0
    for row in range(len(rows)):
        if count[rows[row]] > 0:
            count[rows[row]] -= 1
            rows[kept] = rows[row]
            kept += 1
    return kept


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


def search_differences(history: History, traces: Traces, *, across_releases: bool) -> "DifferenceSearch":
    """What the releases reveal about the people with these traces.

    Without `across_releases` each release is taken by itself, as if values could change between releases.
    """
    releases = tuple(published.release for published in history.releases)
    distinct = max(len(history.schema.sensitive.values), highest_value(releases) + 1)
    people = len(traces.persons)
    sets = [sets_of(release, group) for release, group in zip(releases, traces.group, strict=True)]
    search = DifferenceSearch(ReleaseSets.of(sets, people), distinct, np.full(people, NO_VALUE, dtype=np.int32))
    search.run(across_releases=across_releases)
    return search


@dataclass(eq=False)
class DifferenceSearch:
    """What is inferred so far."""

    releases: ReleaseSets
    distinct: int
    """The number of sensitive values."""
    known: Int32  # [n] the value of each person, NO_VALUE or CONFLICT
    fewest: int = 0
    """The fewest values that remain for a set of people; 0 if no set has any people."""
    contradictions: int = 0
    remainders: ReleaseSets = field(init=False)
    """Each release less all that could be subtracted from it, one release after the other."""

    def __post_init__(self) -> None:
        """Begin without remainders."""
        self.remainders = ReleaseSets.of([], len(self.known))

    @property
    def exposed(self) -> int:
        """How many people's value is known."""
        return int(np.count_nonzero(self.known >= 0))

    def run(self, *, across_releases: bool) -> None:
        """Subtract and infer until nothing new is inferred."""
        if not across_releases:
            self._note(infer_everywhere(self.releases, self.known, self.distinct))
            return
        contradicted = 0
        for turn in range(ROUNDS):
            present = len(self.releases.people)
            self._remove_known()
            before = self.exposed
            rest = self.remainders.copy()
            if turn != 1 or len(self.releases.people) < present:  # otherwise the first turn did the same
                rest, contradicted = self._less_releases()
            self.contradictions += contradicted + self._subtract_remainders(rest)
            self.remainders = rest
            if turn and before == self.exposed:
                break
        self._remove_known()
        self.contradictions += int(np.count_nonzero(self.known == CONFLICT))

    def _remove_known(self) -> None:
        """Remove everyone whose value is known and infer from what remains, again and again."""
        before = -1
        while before != (now := self.exposed):
            before = now
            inferred = self.known.copy()
            self.releases, self.remainders = (self._less_known(sets) for sets in (self.releases, self.remainders))
            for sets in (self.releases, self.remainders):
                self._note(infer_everywhere(sets, inferred, self.distinct))
            self.known = inferred

    def _less_known(self, sets: ReleaseSets) -> ReleaseSets:
        """The sets without the people whose value is known."""
        self.contradictions += remove_known_everywhere(sets, self.known)
        return sets.present()

    def _less_releases(self) -> tuple[ReleaseSets, int]:
        """Each release less all others, and the number of contradictions."""
        rest, contradictions = self.releases.copy(), 0
        for index in range(len(rest.set_of)):
            found, fewest = subtract_releases(self.releases, index, rest, self.known, self.distinct)
            contradictions += found
            self._note(fewest)
        return rest, contradictions

    def _subtract_remainders(self, rest: ReleaseSets) -> int:
        """Subtract all remainders from what is left of each other release; the number of contradictions."""
        contradictions = 0
        for index in range(len(rest.set_of)):
            found, fewest = subtract_remainders(self.remainders, index, rest, self.known, self.distinct)
            contradictions += found
            self._note(fewest)
        return contradictions

    def _note(self, fewest: int) -> None:
        """Keep the fewest values that remain for a set of people; 0 if there is no such set."""
        self.fewest = fewer(self.fewest, fewest)
