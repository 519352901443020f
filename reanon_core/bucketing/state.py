"""The state that techniques with buckets keep between releases."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from reanon_core.bucketing.bucketed_plan import BucketedPlan
from reanon_core.bucketing.division import DISPLACED, Roster
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.codebook import Codebook, CodedState
from reanon_core.model.packing import Packable
from reanon_core.model.snapshot import Snapshot

B = TypeVar("B", bound="BucketState")


@dataclass(frozen=True, eq=False)
class BucketState(CodedState):
    """The signature of every person ever placed in a bucket, so that a person who returns keeps their signature."""

    version: ClassVar[int] = 1

    time: int
    signatures: Signatures
    roster: Roster
    extent: Int64  # [2, d] least and greatest code seen of each attribute; [2, 0] before the first release
    qi: Int32  # [d, p] the codes of each person if changes are refused, else [0, p]

    @classmethod
    def initial(cls: type[B]) -> B:
        """The state before the first release."""
        return cls(0, Signatures.of([]), Roster.empty(), np.empty((2, 0), np.int64), np.empty((0, 0), np.int32))

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
        return {
            "version": self.version,
            "time": self.time,
            "offsets": self.signatures.offsets,
            "values": self.signatures.values,
            "persons": self.roster.persons,
            "signature": self.roster.signature,
            "sensitive": self.roster.sensitive,
            "extent": self.extent,
            "qi": self.qi,
            **self.codebook.packed(),
        }

    @classmethod
    def restored(cls: type[B], packed: Mapping[str, Packable]) -> B:
        """The state that was packed."""
        if packed["version"] != cls.version:
            raise ValueError(f"state version {packed['version']} is not {cls.version}")
        arrays: dict[str, Any] = {name: value for name, value in packed.items() if isinstance(value, np.ndarray)}
        return cls(
            cast("int", packed["time"]),
            Signatures(arrays["offsets"], arrays["values"]),
            Roster(arrays["persons"], arrays["signature"], arrays["sensitive"]),
            arrays["extent"],
            arrays["qi"],
            codebook=Codebook.restored(packed),
        )

    def without_values_of(self: B, person: int) -> B:
        """The state without the person's signatures: only people in the table are looked up."""
        kept = self.roster.persons != person
        qi = self.qi[:, kept] if self.qi.shape[1] else self.qi
        return replace(self, roster=self.roster.rows(kept), qi=qi)

    def recorded(self, snapshot: Snapshot, plan: BucketedPlan, *, keep_qi: bool) -> tuple[Roster, Int32]:
        """The roster and the codes to compare with, after this plan is published."""
        placed = plan.signature >= 0
        stranded = snapshot.persons[(plan.division.entry == DISPLACED) & ~placed]
        rows = slice(None) if placed.all() else placed  # a slice copies nothing
        entry, persons = plan.division.entry[rows], snapshot.persons[rows]
        known_people = self.roster.with_stranded(stranded)
        roster = known_people.recorded(entry, persons, plan.signature[rows], snapshot.sensitive[rows])
        if not keep_qi:
            return roster, np.empty((0, 0), np.int32)
        return roster, with_codes_of_new(
            self.known_codes(len(snapshot.qi)), self.roster.persons, persons, snapshot.qi[:, rows], entry < 0
        )

    def known_codes(self, attributes: int) -> Int32:
        """The codes of each person of the roster [d, p], if changes are refused."""
        return self.qi if self.time else np.empty((attributes, 0), np.int32)


def with_codes_of_new(known: Int32, roster: Int64, persons: Int64, qi: Int32, new: Bool) -> Int32:
    """The codes of the people of the roster [d, p], and of those among these people who are new in it."""
    return np.insert(known, roster.searchsorted(persons[new], side="right"), qi[:, new], axis=1)
