"""The judge's own table of who stood in which group: built from published rows and traces alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reanon_core.checks.groups import hosting_groups
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.protocols import Memory

NEVER = -1
"""There is no earlier appearance."""


@dataclass(frozen=True, eq=False)
class Appearances:
    """All groups of all releases with their people and values, and the way back from a person to their groups.

    An *appearance* is one person in one group. Those of a group stand together; those of a person are chained from
    the latest back.
    """

    persons: Int64  # [p] ascending
    number: Int32  # [p] the number of each person: people keep their numbers, not their places in the table
    latest: Int32  # [p] by number: the latest appearance
    times: Int32  # [p] by number: how often they appeared
    who: Int32  # [a] number of the person
    group: Int32  # [a]
    before: Int32  # [a] the person's appearance before this one, or NEVER
    start: Int64  # [g + 1] the appearances of each group
    values: Int32  # [rows] the sensitive values of each group, ascending, counterfeits included
    rows: Int64  # [g + 1] the values of each group

    @staticmethod
    def none() -> "Appearances":
        """Before the first release."""
        few, zero = np.empty(0, np.int32), np.zeros(1, np.int64)
        return Appearances(np.empty(0, np.int64), few, few, few, few, few, few, zero, few, zero)

    @staticmethod
    def restored(memory: Memory) -> "Appearances":
        """The table that `memory` was made of."""
        arrays: dict[str, Any] = dict(memory)
        return Appearances(**{name: arrays[name] for name in Appearances.__dataclass_fields__})

    def packed(self) -> Memory:
        """The table as named arrays."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def groups(self) -> int:
        """The number of groups of all releases."""
        return len(self.start) - 1

    def joined(self, entry: Entry) -> "Appearances":
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
        return Appearances(
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
def same_values(values: Int32, rows: Int64, one: int, other: int) -> bool:
    """Whether two groups show the same values equally often."""
    size = rows[one + 1] - rows[one]
    if rows[other + 1] - rows[other] != size:
        return False
    for i in range(size):
        if values[rows[one] + i] != values[rows[other] + i]:
            return False
    return True
