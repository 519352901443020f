"""Public: what is downloaded."""

from dataclasses import dataclass, field

import numpy as np

from reanon_core.model.arrays import MISSING, Int8, Int32, frozen

UNPUBLISHED = -1
"""Stands for the code of a sensitive value or a non-identifier that a release does not show."""
ANYTHING = (MISSING + 1, 2**31 - 1, 1)
"""Low, high and missing sign of a quasi-identifier that a release does not show: every value, and none, is possible."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """The generalized values of the groups: an interval of codes for each quasi-identifier."""

    low: Int32  # [d, g] MISSING where every member's value is missing
    high: Int32  # [d, g]
    missing: Int8  # [d, g] 0 none, 1 some, 2 all members lack the value

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in (("low", np.int32), ("high", np.int32), ("missing", np.int8)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def count(self) -> int:
        """The number of boxes."""
        return int(self.low.shape[1])


@dataclass(frozen=True, eq=False)
class Release:
    """One published table: for each row its group, and for each group its box.

    A technique may give each row a box of its own. Rows with the same box are a group here all the same, as whoever
    reads the file would group them; `grouped` is false then, and no group numbers are published.

    Paper: [XT07] Definition 2.
    """

    group: Int32  # [rows] the row's group, 0 .. boxes.count - 1
    sensitive: Int32  # [rows] codes into the schema's sensitive values; UNPUBLISHED where the release shows none
    boxes: Boxes
    other: Int32 = field(default_factory=lambda: np.empty((0, 0), np.int32))  # [o, rows] codes, or UNPUBLISHED
    columns: tuple[str, ...] | None = None
    """The columns that it shows; None for all. Of any other quasi-identifier a box says ANYTHING."""
    grouped: bool = True

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        if not self.other.size:
            object.__setattr__(self, "other", np.empty((len(self.other), len(self.group)), np.int32))
        for name in ("group", "sensitive", "other"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))

    def shows(self, column: str) -> bool:
        """Whether the release has the column."""
        return self.columns is None or column in self.columns

    @property
    def size(self) -> int:
        """The number of published rows, counterfeits included."""
        return len(self.group)


@dataclass(frozen=True, eq=False)
class Auxiliary:
    """How many counterfeits each group holds; groups without any have no row.

    Paper: [XT07] Definition 3, R(j).
    """

    group: Int32  # [c] ascending
    count: Int32  # [c] at least 1

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in ("group", "count"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))

    @property
    def total(self) -> int:
        """The number of counterfeits in the release."""
        return int(self.count.sum())

    @staticmethod
    def none() -> "Auxiliary":
        """No counterfeits at all."""
        return Auxiliary(np.empty(0, np.int32), np.empty(0, np.int32))
