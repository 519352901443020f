"""Public: what is downloaded."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Int8, Int32, frozen


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

    Paper: [XT07] Definition 2.
    """

    group: Int32  # [rows] the row's group, 0 .. boxes.count - 1
    sensitive: Int32  # [rows] codes into the schema's sensitive values
    boxes: Boxes

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in ("group", "sensitive"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))

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
