"""A web: who stood in which group, release after release, as everybody who knows the groups can draw it.

An *entry* is one person in one group. Entries of a group stand together; the entries of a person are chained from the
latest to the first. A walk from a person to their groups, and from a group to its people, costs what it finds, however
long the history is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64, frozen
from reanon_core.model.packing import Packable

NOBODY = -1
"""The person of an entry that is a counterfeit."""
END = -1
"""There is no earlier entry."""


@dataclass(frozen=True, eq=False)
class Web:
    """The incidence of people and groups over a whole history, linear in the published rows."""

    person: Int32  # [e] number of the person, or NOBODY
    group: Int32  # [e]
    previous: Int32  # [e] the person's entry before this one, or END
    first: Int64  # [g + 1] the entries of group i are first[i] .. first[i + 1] - 1
    size: Int32  # [g] rows of the group: its people, and counterfeits and strangers beside them
    latest: Int32  # [p] the latest entry of each person, or END

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in ("person", "group", "previous", "size", "latest"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))
        object.__setattr__(self, "first", frozen(self.first, np.int64))

    @staticmethod
    def empty(people: int = 0) -> "Web":
        """Nobody stood in any group."""
        none = np.empty(0, np.int32)
        return Web(none, none, none, np.zeros(1, np.int64), none, np.full(people, END, np.int32))

    @property
    def groups(self) -> int:
        """The number of groups of all releases."""
        return len(self.size)

    @property
    def people(self) -> int:
        """The number of people."""
        return len(self.latest)

    def longer(self, person: Int32, first: Int64, size: Int32, people: int) -> "Web":
        """The web with one more release: its entries group by group, where each group begins, and their sizes."""
        latest = np.full(people, END, np.int32)
        latest[: self.people] = self.latest
        previous = _chained(person, latest, len(self.person))
        number = np.repeat(np.arange(len(size), dtype=np.int32) + np.int32(self.groups), np.diff(first))
        return Web(
            np.concatenate([self.person, person]),
            np.concatenate([self.group, number]),
            np.concatenate([self.previous, previous]),
            np.concatenate([self.first, first[1:] + self.first[-1]]),
            np.concatenate([self.size, size]),
            latest,
        )

    def packed(self) -> dict[str, Packable]:
        """The web as named arrays."""
        return {
            "web_person": self.person,
            "web_group": self.group,
            "web_previous": self.previous,
            "web_first": self.first,
            "web_size": self.size,
            "web_latest": self.latest,
        }

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "Web":
        """The web that was packed."""
        names = ("web_person", "web_group", "web_previous", "web_first", "web_size", "web_latest")
        person, group, previous, first, size, latest = (packed[name] for name in names)
        return Web(
            cast("Int32", person),
            cast("Int32", group),
            cast("Int32", previous),
            cast("Int64", first),
            cast("Int32", size),
            cast("Int32", latest),
        )


@compiled
def _chained(person: Int32, latest: Int32, start: int) -> Int32:
    """The earlier entry of each new one; `latest` is brought up to date."""
    previous = np.empty(len(person), dtype=np.int32)
    for at in range(len(person)):
        who = person[at]
        previous[at] = END
        if who != NOBODY:
            previous[at] = latest[who]
            latest[who] = start + at
    return previous
