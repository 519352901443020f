"""Differences: what is left of a set of people and their values when whole sets inside it are taken away.

A family is what one release says: disjoint sets of people, and for each set rows that hold all their values. Rows
beyond the people (counterfeits, people whose group is uncertain) are spare. A set without spare rows that lies inside
another is known to the last value, and can be subtracted from it: Section 6 of the specification of [BPG].
"""

from dataclasses import dataclass

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.release import Release

GONE = -1
"""The person is in none of the sets."""
OUTSIDE = -2
UNSEEN = -1
NOTHING = -1
"""No value is concluded for the person."""
CONFLICT = -2
"""Two values are concluded: somebody's value has changed, or the knowledge is false."""


@dataclass(frozen=True, eq=False)
class Family:
    """Disjoint sets of people, and the rows that show their values; the arrays are changed in place.

    Ensures: a set has as many people as rows that are not spare, at any time.
    """

    people: Int64  # [m] who has a set at first
    home: Int32  # [n] the set of each person, negative if none
    start: Int64  # [g] where the rows of a set begin
    length: Int64  # [g] how many are left
    values: Int32  # [rows] set after set
    spare: Int64  # [g] rows beyond people; negative where the knowledge contradicts the release

    def present(self) -> "Family":
        """The same arrays, for the people who still have a set."""
        people = self.people[self.home[self.people] >= 0]
        return Family(people, self.home, self.start, self.length, self.values, self.spare)

    def copy(self) -> "Family":
        """The same family, to be changed apart."""
        return Family(
            self.people, self.home.copy(), self.start, self.length.copy(), self.values.copy(), self.spare.copy()
        )


def family_of(release: Release, group: Int32) -> Family:
    """The groups of a release and the people who are certainly in them."""
    people = np.flatnonzero(group >= 0)
    rows = np.bincount(release.group, minlength=release.boxes.count)
    start = np.concatenate([[0], np.cumsum(rows)[:-1]]).astype(np.int64) if len(rows) else np.empty(0, np.int64)
    spare = rows - np.bincount(group[people], minlength=len(rows))
    values = release.sensitive[np.argsort(release.group, kind="stable")].astype(np.int32)
    return Family(people, np.where(group >= 0, group, GONE).astype(np.int32), start, rows, values, spare)


def settle(family: Family, known: Int32) -> int:
    """Take the people out whose value is known, each with a row; the number of sets that have no such row."""
    return int(_settle(family.people, family.home, family.start, family.length, family.values, family.spare, known))


def contained(inner: Family, outer: Family) -> Int64:
    """The set of `outer` that holds all people of each set of `inner`; negative if none, or rows are spare."""
    return _contained(inner.people, inner.home, inner.spare, outer.home)


def subtract(outer: Family, inner: Family, inside: Int64, values: int) -> int:
    """Take the sets of `inner` away that lie inside sets of `outer`; the number of contradictions met.

    A set that shows fewer of some value than the sets inside it contradicts them: nothing is taken from it.
    """
    args = (outer.home, outer.start, outer.length, outer.values, outer.spare)
    return int(
        _subtract(*args, inner.people, inner.home, inner.start, inner.length, inner.values, inside.copy(), values)
    )


def conclude(family: Family, groups: Int64, found: Int32, values: int) -> int:
    """Note for whom one of these sets leaves one value; the fewest values of a set with people, 0 if there is none."""
    args = (family.people, family.home, family.start, family.length, family.values, family.spare)
    return int(_conclude(*args, groups, found, values))


@compiled
def _settle(
    people: Int64,
    home: Int32,
    start: Int64,
    length: Int64,
    values: Int32,
    spare: Int64,
    known: Int32,
) -> int:
    contradictions = 0
    for person in people:
        group = home[person]
        if group < 0 or known[person] < 0:
            continue
        home[person] = GONE
        last = start[group] + length[group] - 1
        row = start[group]
        while row <= last and values[row] != known[person]:
            row += 1
        if row > last:
            contradictions += spare[group] >= 0
            spare[group] = -1
        else:
            values[row] = values[last]
            length[group] -= 1
    return contradictions


@compiled
def _contained(people: Int64, home: Int32, spare: Int64, outer: Int32) -> Int64:
    inside = np.full(len(spare), UNSEEN, dtype=np.int64)
    for person in people:
        group = home[person]
        if group < 0 or inside[group] == OUTSIDE:
            continue
        holder = outer[person]
        if holder < 0 or spare[group] != 0 or (inside[group] != UNSEEN and inside[group] != holder):
            inside[group] = OUTSIDE
        else:
            inside[group] = holder
    return inside


@compiled
def _linked(inside: Int64, groups: int) -> tuple[Int64, Int64]:
    """The pieces inside each group as a chain: the first, and after each piece the next; -1 at the end."""
    first = np.full(groups, -1, dtype=np.int64)
    following = np.full(len(inside), -1, dtype=np.int64)
    for piece in range(len(inside)):
        if inside[piece] >= 0:
            following[piece] = first[inside[piece]]
            first[inside[piece]] = piece
    return first, following


@compiled
def _kept(rows: Int32, count: Int64) -> int:
    """Move as many rows of each value to the front as `count` says, and leave it empty; how many there are."""
    kept = 0
    for row in range(len(rows)):
        if count[rows[row]] > 0:
            count[rows[row]] -= 1
            rows[kept] = rows[row]
            kept += 1
    return kept


@compiled
def _subtract(
    home: Int32,
    start: Int64,
    length: Int64,
    values: Int32,
    spare: Int64,
    inner_people: Int64,
    inner_home: Int32,
    inner_start: Int64,
    inner_length: Int64,
    inner_values: Int32,
    inside: Int64,
    number: int,
) -> int:
    contradictions = 0
    count = np.zeros(number, dtype=np.int64)
    first, following = _linked(inside, len(start))
    for group in range(len(start)):
        if first[group] < 0:
            continue
        rows = values[start[group] : start[group] + length[group]]
        for value in rows:
            count[value] += 1
        holds = spare[group] >= 0
        piece = first[group]
        while piece >= 0:
            for row in range(inner_start[piece], inner_start[piece] + inner_length[piece]):
                count[inner_values[row]] -= 1
                holds = holds and count[inner_values[row]] >= 0
            piece = following[piece]
        if holds:
            length[group] = _kept(rows, count)
        else:
            contradictions += spare[group] >= 0
            spare[group] = -1
            count[:] = 0
    for piece in range(len(inside)):
        if inside[piece] >= 0 and spare[inside[piece]] < 0:
            inside[piece] = OUTSIDE
    for person in inner_people:
        piece = inner_home[person]
        if piece >= 0 and inside[piece] >= 0:
            home[person] = GONE
    return contradictions


@compiled
def _conclude(
    people: Int64,
    home: Int32,
    start: Int64,
    length: Int64,
    values: Int32,
    spare: Int64,
    groups: Int64,
    found: Int32,
    number: int,
) -> int:
    seen = np.full(number, -1, dtype=np.int64)
    only = np.full(len(start), NOTHING, dtype=np.int64)
    fewest = 0
    for group in groups:
        if spare[group] < 0 or length[group] == spare[group]:
            continue
        distinct = 0
        for row in range(start[group], start[group] + length[group]):
            if seen[values[row]] != group:
                seen[values[row]] = group
                distinct += 1
        if distinct == 1:
            only[group] = values[start[group]]
        fewest = distinct if fewest == 0 else min(fewest, distinct)
    if fewest == 1:
        for person in people:
            if home[person] >= 0 and only[home[person]] != NOTHING:
                if found[person] == NOTHING:
                    found[person] = only[home[person]]
                elif found[person] != only[home[person]]:
                    found[person] = CONFLICT
    return fewest
