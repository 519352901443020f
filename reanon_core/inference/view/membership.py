"""Membership: which group each person belongs to in every release, as far as the groups are known.

An *entry* is one person in one group. The entries of a group are adjacent; the entries of a person are chained from the
latest back to the first. Following a person to their groups, or a group to its people, therefore costs as much as it
finds, however long the history is.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64, frozen
from reanon_core.model.packing import Packable

NO_PERSON = -1
"""The person of an entry that is a counterfeit."""
END = -1
"""There is no earlier entry."""


class Membership(NamedTuple):
    """The incidence of people and groups over a whole history, linear in the published rows.

    Compiled functions take it as it is. Arrays that are stored are read-only; `writable` copies them.
    """

    person: Int32  # [e] number of the person, or NO_PERSON
    group: Int32  # [e]
    previous: Int32  # [e] the person's entry before this one, or END
    first: Int64  # [g + 1] the entries of group i are first[i] .. first[i + 1] - 1
    size: Int32  # [g] rows of the group: its people, and the rows of no identified person
    latest: Int32  # [p] the latest entry of each person, or END

    @staticmethod
    def empty(people: int = 0) -> "Membership":
        """The membership before the first release."""
        none = np.empty(0, np.int32)
        return Membership(none, none, none, np.zeros(1, np.int64), none, np.full(people, END, np.int32)).read_only()

    @property
    def groups(self) -> int:
        """The number of groups of all releases."""
        return len(self.size)

    @property
    def people(self) -> int:
        """The number of people."""
        return len(self.latest)

    def read_only(self) -> "Membership":
        """The same arrays, frozen."""
        arrays: dict[str, Any] = {
            name: frozen(part, np.int64 if name == "first" else np.int32) for name, part in self._asdict().items()
        }
        return Membership(**arrays)

    def writable(self) -> "Membership":
        """Copies of the arrays: a kernel would be compiled once more for arrays that are read-only."""
        arrays: dict[str, Any] = {name: part.copy() for name, part in self._asdict().items()}
        return Membership(**arrays)

    def extended(self, person: Int32, first: Int64, size: Int32, people: int) -> "Membership":
        """The membership with one more release: its entries by group, where each group begins, and the sizes."""
        latest = np.full(people, END, np.int32)
        latest[: self.people] = self.latest
        previous = _chained(person, latest, len(self.person))
        number = np.repeat(np.arange(len(size), dtype=np.int32) + np.int32(self.groups), np.diff(first))
        return Membership(
            np.concatenate([self.person, person]),
            np.concatenate([self.group, number]),
            np.concatenate([self.previous, previous]),
            np.concatenate([self.first, first[1:] + self.first[-1]]),
            np.concatenate([self.size, size]),
            latest,
        ).read_only()

    def members(self, group: int) -> list[int]:
        """The identified people of a group."""
        return [person for person in self.person[self.first[group] : self.first[group + 1]].tolist() if person >= 0]

    def packed(self) -> dict[str, Packable]:
        """The membership as named arrays, which stores know as the `web`."""
        return {f"web_{name}": part for name, part in self._asdict().items()}

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "Membership":
        """The membership that was packed."""
        arrays: dict[str, Any] = {name: packed[f"web_{name}"] for name in Membership._fields}
        return Membership(**arrays).read_only()


@compiled
def _chained(person: Int32, latest: Int32, start: int) -> Int32:
    """The earlier entry of each new one; `latest` is brought up to date."""
    previous = np.empty(len(person), dtype=np.int32)
    for at in range(len(person)):
        who = person[at]
        previous[at] = END
        if who != NO_PERSON:
            previous[at] = latest[who]
            latest[who] = start + at
    return previous


@compiled
def belongs_to(membership: Membership, person: int, group: int) -> bool:
    """Whether the person belongs to that group."""
    first = membership.first
    return has_entry(membership.latest[person], membership.previous, first[group], first[group + 1])


@compiled
def has_entry(latest: int, previous: Int32, begin: int, end: int) -> bool:
    """Whether a person with this latest entry has one of begin .. end - 1; only later entries are passed over."""
    entry = latest
    while entry >= end:
        entry = previous[entry]
    return bool(entry >= begin)
