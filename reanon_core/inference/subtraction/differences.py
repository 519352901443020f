"""Differences: what remains of a set of people and their values when whole sets inside it are subtracted.

A release gives disjoint sets of people, and for each set rows that hold all their values. Rows beyond the people
(counterfeits, people whose group is uncertain) are spare. If a set without spare rows lies inside another set, the
adversary knows exactly which values to subtract.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64
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
