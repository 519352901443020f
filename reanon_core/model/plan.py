"""Private: what a technique decides for one release, before anything is written."""

from dataclasses import dataclass, field

import numpy as np

from reanon_core.model.arrays import Int32, frozen
from reanon_core.model.release import Boxes
from reanon_core.model.snapshot import Snapshot

WITHHELD = -1
"""The group of a row that is not published in this release."""


@dataclass(frozen=True, eq=False)
class Counterfeits:
    """Invented rows: the group of each and its sensitive value.

    Paper: [XT07] Definition 2, property 3.
    """

    group: Int32  # [c]
    sensitive: Int32  # [c]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in ("group", "sensitive"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))

    @staticmethod
    def none() -> "Counterfeits":
        """No counterfeits at all."""
        return Counterfeits(np.empty(0, np.int32), np.empty(0, np.int32))


@dataclass(frozen=True, eq=False)
class PersonBoxes:
    """The box of each published person, where people have boxes of their own."""

    number: Int32  # [published] 0 .. boxes.count - 1
    boxes: Boxes

    def __post_init__(self) -> None:
        """Freeze the array."""
        object.__setattr__(self, "number", frozen(self.number, np.int32))


@dataclass(frozen=True, eq=False)
class Plan:
    """The group of each row, the counterfeits, and why rows are withheld."""

    group: Int32  # [n] 0 .. groups - 1, or WITHHELD
    groups: int
    counterfeits: Counterfeits
    withheld: dict[str, int] = field(default_factory=dict)
    """How many rows are withheld, by reason."""
    boxes: Boxes | None = None
    """One box for each published row, in the order of the snapshot, where the technique makes no groups."""
    person_boxes: PersonBoxes | None = None
    """The boxes of people, in the order of the snapshot, if the release is decoupled."""
    witness: Int32 | None = None
    """[w, published] for each world the row of each published person, numbered among the published rows."""
    notes: tuple[str, ...] = ()
    """What the steward must read about this release, without personal data."""
    record_pool: Snapshot | None = None
    """The rows to publish from, where they are not the snapshot's alone: people who left, or invented people, may be
    among them."""

    def __post_init__(self) -> None:
        """Freeze the array."""
        object.__setattr__(self, "group", frozen(self.group, np.int32))
