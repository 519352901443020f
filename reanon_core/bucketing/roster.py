"""The roster: the signature of every person ever placed in a bucket."""

from dataclasses import dataclass

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64, frozen

NO_EPISODE = -1
"""The latest value of a person who was stranded, and who therefore begins no further episode."""


@dataclass(frozen=True, eq=False)
class Roster:
    """The signature and the latest value of every person ever placed in a bucket.

    They were published with it, unless balancing has withheld them so far.

    A person whose sensitive value changed has one row for each of their signatures, which share no value.
    """

    persons: Int64  # [p] ascending
    signature: Int32  # [p] number of the signature
    sensitive: Int32  # [p] the latest value with that signature, or NO_EPISODE

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in (("persons", np.int64), ("signature", np.int32), ("sensitive", np.int32)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @staticmethod
    def empty() -> "Roster":
        """The roster before the first release."""
        return Roster(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))

    def rows(self, kept: Bool) -> "Roster":
        """Some of the rows."""
        return Roster(self.persons[kept], self.signature[kept], self.sensitive[kept])

    def recorded(self, entry: Int32, persons: Int64, signature: Int32, sensitive: Int32) -> "Roster":
        """The roster after these people are placed; `entry` [n] is their row in it, negative if they have none."""
        if not len(self.persons):
            return Roster(persons, signature, sensitive)
        latest = self.sensitive.copy()
        known = entry >= 0
        kept = entry[known]
        latest[kept] = np.where(latest[kept] == NO_EPISODE, NO_EPISODE, sensitive[known])
        new = ~known
        return Roster(*_merged(self.persons, self.signature, latest, persons[new], signature[new], sensitive[new]))

    def with_stranded(self, persons: Int64) -> "Roster":
        """The roster after these people were withheld, because no signature hides their new value.

        They begin no further episode. A later signature would hold values that could not have been withheld before, so
        it would tell who has not had them all along.
        """
        if not len(persons):
            return self
        latest = np.where(np.isin(self.persons, persons), NO_EPISODE, self.sensitive)
        return Roster(self.persons, self.signature, latest.astype(np.int32))


@compiled
def _merged(
    persons: Int64, signature: Int32, sensitive: Int32, new: Int64, new_signature: Int32, new_sensitive: Int32
) -> tuple[Int64, Int32, Int32]:
    """Two ascending lists of people as one; the old rows of a person come first."""
    total = len(persons) + len(new)
    who, where, what = np.empty(total, np.int64), np.empty(total, np.int32), np.empty(total, np.int32)
    old, fresh = 0, 0
    for at in range(total):
        if fresh == len(new) or (old < len(persons) and persons[old] <= new[fresh]):
            who[at], where[at], what[at] = persons[old], signature[old], sensitive[old]
            old += 1
        else:
            who[at], where[at], what[at] = new[fresh], new_signature[fresh], new_sensitive[fresh]
            fresh += 1
    return who, where, what
