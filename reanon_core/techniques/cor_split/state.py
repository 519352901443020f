"""What Cor-Split remembers between releases."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from reanon_core.bucketing.division import Division
from reanon_core.bucketing.state import BucketState
from reanon_core.inference.view.membership import Membership
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.packing import Packable


@dataclass(frozen=True, eq=False)
class CorSplitState(BucketState):
    """The signature of every person ever published, and the membership of all releases.

    A person whose value changed (an episode) is a new person from then on, as in the paper's footnote 1.
    """

    version: ClassVar[int] = 1

    number: Int32  # [p] the person's number in the membership, for each row of the roster; -1 if never published
    times: Int32  # [p] by number: how often that person was published
    membership: Membership

    @classmethod
    def initial(cls) -> "CorSplitState":
        """The state before the first release."""
        none = BucketState.initial()
        numbers = np.empty(0, np.int32)
        return cls(none.time, none.signatures, none.roster, none.extent, none.qi, numbers, numbers, Membership.empty())

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
        return {**super().packed(), "number": self.number, "times": self.times, **self.membership.packed()}

    @classmethod
    def restored(cls, packed: Mapping[str, Packable]) -> "CorSplitState":
        """The state that was packed."""
        known = BucketState.restored(packed)
        number, times = cast("Int32", packed["number"]), cast("Int32", packed["times"])
        membership = Membership.restored(packed)
        state = cls(known.time, known.signatures, known.roster, known.extent, known.qi, number, times, membership)
        return state.with_codebook(known.codebook)

    def without_values_of(self, person: int) -> "CorSplitState":
        """The state without the person's signatures; the membership keeps who was published together, by number."""
        kept = self.roster.persons != person
        return replace(super().without_values_of(person), number=self.number[kept])

    def numbers(self, division: Division, laid_out: Int32) -> Int32:
        """The number of each row's person in the membership; one who is published for the first time gets the next.

        `laid_out` are the rows that are published, and negative entries for counterfeits.
        """
        published = np.zeros(len(division.entry), np.bool_)
        published[laid_out[laid_out >= 0]] = True
        number = np.full(len(division.entry), -1, np.int32)
        old = division.entry >= 0
        number[old] = self.number[division.entry[old]]
        new = published & (number < 0)
        number[new] = len(self.times) + np.arange(int(new.sum()), dtype=np.int32)
        return number

    def grown_numbers(self, persons: Int64, entry: Int32, number: Int32) -> Int32:
        """The numbers of the roster after these people are placed; `entry` is their row in it, negative if new."""
        grown = self.number.copy()
        grown[entry[entry >= 0]] = number[entry >= 0]
        new = entry < 0
        return np.insert(grown, self.roster.persons.searchsorted(persons[new], side="right"), number[new])
