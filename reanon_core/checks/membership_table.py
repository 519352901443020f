"""The judge's own table of which group each person belongs to, built from published rows and traces alone."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reanon_core.checks.readable import hosting_groups
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.protocols import Memory

NEVER = -1
"""There is no earlier appearance."""


class Appearances(NamedTuple):
    """The part of the table that compiled functions read. An *appearance* is one person in one group."""

    who: Int32  # [a]
    group: Int32  # [a]
    before: Int32  # [a]
    latest: Int32  # [p]
    start: Int64  # [g + 1]
    values: Int32  # [rows]
    rows: Int64  # [g + 1]


@dataclass(frozen=True, eq=False)
class MembershipTable:
    """All groups of all releases with their people and values, and the groups of each person.

    An *appearance* is one person in one group. The appearances of a group are adjacent; those of a person are chained
    from the latest back. The names of the fields are the names in the stored memory.
    """

    persons: Int64  # [p] ascending
    number: Int32  # [p] the number of each person: it never changes, the position in the table does
    latest: Int32  # [p] by number: the latest appearance
    times: Int32  # [p] by number: how often they appeared
    who: Int32  # [a] number of the person
    group: Int32  # [a]
    before: Int32  # [a] the person's appearance before this one, or NEVER
    start: Int64  # [g + 1] the appearances of each group
    values: Int32  # [rows] the sensitive values of each group, ascending, counterfeits included
    rows: Int64  # [g + 1] the values of each group

    @staticmethod
    def empty() -> "MembershipTable":
        """The table before the first release."""
        none, zero = np.empty(0, np.int32), np.zeros(1, np.int64)
        return MembershipTable(np.empty(0, np.int64), none, none, none, none, none, none, zero, none, zero)

    @staticmethod
    def restored(memory: Memory) -> "MembershipTable":
        """The table that was packed."""
        arrays: dict[str, Any] = dict(memory)
        return MembershipTable(**{name: arrays[name] for name in MembershipTable.__dataclass_fields__})

    def packed(self) -> Memory:
        """The table as named arrays."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def groups(self) -> int:
        """The number of groups of all releases."""
        return len(self.start) - 1

    @property
    def appearances(self) -> Appearances:
        """The appearances, for compiled functions."""
        return Appearances(self.who, self.group, self.before, self.latest, self.start, self.values, self.rows)

    def extended(self, entry: Entry) -> "MembershipTable":
        """The table with one more release.

        Requires: the entry is readable.
        """
        release, persons = entry.release, entry.trace.persons
        place = self.persons.searchsorted(persons)
        known = place < len(self.persons)
        known[known] = self.persons[place[known]] == persons[known]
        number = np.empty(len(persons), np.int32)
        number[known] = self.number[place[known]]
        number[~known] = len(self.latest) + np.arange(int(np.count_nonzero(~known)), dtype=np.int32)
        hosts = hosting_groups(entry)
        order = np.argsort(hosts, kind="stable")
        latest = np.concatenate([self.latest, np.full(int(np.count_nonzero(~known)), NEVER, np.int32)])
        before = _chained(number[order], latest, len(self.who))
        times = np.concatenate([self.times, np.zeros(len(latest) - len(self.times), np.int32)])
        times[number] += 1
        groups = release.boxes.count
        inside = np.lexsort((release.sensitive, release.group))
        return MembershipTable(
            persons=np.insert(self.persons, place[~known], persons[~known]),
            number=np.insert(self.number, place[~known], number[~known]),
            latest=latest,
            times=times,
            who=np.concatenate([self.who, number[order]]),
            group=np.concatenate([self.group, (hosts[order] + self.groups).astype(np.int32)]),
            before=np.concatenate([self.before, before]),
            start=np.concatenate([self.start, self.start[-1] + np.cumsum(np.bincount(hosts, minlength=groups))]),
            values=np.concatenate([self.values, release.sensitive[inside]]),
            rows=np.concatenate([self.rows, self.rows[-1] + np.cumsum(np.bincount(release.group, minlength=groups))]),
        )


@compiled
def _chained(number: Int32, latest: Int32, at: int) -> Int32:
    before = np.empty(len(number), dtype=np.int32)
    for i in range(len(number)):
        before[i] = latest[number[i]]
        latest[number[i]] = at + i
    return before


@compiled
def same_values(known: Appearances, one: int, other: int) -> bool:
    """Whether two groups show the same values equally often."""
    values, rows = known.values, known.rows
    size = rows[one + 1] - rows[one]
    if rows[other + 1] - rows[other] != size:
        return False
    for i in range(size):
        if values[rows[one] + i] != values[rows[other] + i]:
            return False
    return True


@compiled
def same_signature(known: Appearances, one: int, other: int) -> bool:
    """Whether two groups show the same set of values."""
    values, rows = known.values, known.rows
    i, j = rows[one], rows[other]
    while i < rows[one + 1] and j < rows[other + 1]:
        if values[i] != values[j]:
            return False
        value = values[i]
        while i < rows[one + 1] and values[i] == value:
            i += 1
        while j < rows[other + 1] and values[j] == value:
            j += 1
    return bool(i == rows[one + 1] and j == rows[other + 1])
