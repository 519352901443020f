"""Public: what is downloaded."""

from dataclasses import dataclass, field
from typing import overload

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int8, Int32, frozen

UNPUBLISHED = -1
"""The code of a sensitive value or a non-identifier that a release does not show."""
NONE_MISSING, SOME_MISSING, ALL_MISSING = 0, 1, 2
"""The missing signs of a box: how many members of the group lack a value of the quasi-identifier."""
MISSING_WORDS = ("none", "some", "all")
"""The missing signs as a published table writes them."""
ANYTHING = (MISSING + 1, 2**31 - 1, SOME_MISSING)
"""Low, high and missing sign of a quasi-identifier that a release does not show: every value, and none, is possible."""


@overload
def covers(low: int, high: int, missing: int, code: int) -> bool: ...
@overload
def covers(low: Int32, high: Int32, missing: Int8, code: Int32) -> Bool: ...
def covers(low: int | Int32, high: int | Int32, missing: int | Int8, code: int | Int32) -> bool | Bool:
    """Whether an interval with its missing sign contains a code, elementwise; the sign alone decides on MISSING.

    Works on numbers, on arrays that broadcast, and inside compiled functions (`compiled(covers)`).
    Paper: [XT07] Definition 2, property 2.
    """
    return ((code == MISSING) & ((missing == SOME_MISSING) | (missing == ALL_MISSING))) | (
        (code != MISSING) & (missing != ALL_MISSING) & (low <= code) & (code <= high)
    )


@dataclass(frozen=True, eq=False)
class Boxes:
    """The generalized values of the groups: an interval of codes for each quasi-identifier."""

    low: Int32  # [d, g] MISSING where every member's value is missing
    high: Int32  # [d, g]
    missing: Int8  # [d, g] NONE_MISSING, SOME_MISSING or ALL_MISSING

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in (("low", np.int32), ("high", np.int32), ("missing", np.int8)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def count(self) -> int:
        """The number of boxes."""
        return int(self.low.shape[1])

    def contains(self, group: int, point: Int32) -> bool:
        """Whether the box of a group contains a point of codes [d].

        Paper: [XT07] Definition 10, condition 3.3.
        """
        return bool(covers(self.low[:, group], self.high[:, group], self.missing[:, group], point).all())


@dataclass(frozen=True, eq=False)
class PersonRows:
    """The rows of a decoupled release: one for each real person, with their group and a box of their own.

    The values of each group are published apart from them.
    """

    group: Int32  # [p] the group of the release that the person belongs to
    box: Int32  # [p] 0 .. boxes.count - 1
    boxes: Boxes

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in ("group", "box"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))


@dataclass(frozen=True, eq=False)
class Release:
    """One published table: for each row its group, and for each group its box.

    A technique may give each row a box of its own; `grouped` is then false, and no group numbers are published. Rows
    with the same box still form a group here, as a reader of the file would form it.

    Paper: [XT07] Definition 2.
    """

    group: Int32  # [rows] the row's group, 0 .. boxes.count - 1
    sensitive: Int32  # [rows] codes into the schema's sensitive values; UNPUBLISHED where the release shows none
    boxes: Boxes
    other: Int32 = field(default_factory=lambda: np.empty((0, 0), np.int32))  # [o, rows] codes, or UNPUBLISHED
    columns: tuple[str, ...] | None = None
    """The columns that it shows; None for all. The box of any other quasi-identifier is ANYTHING."""
    grouped: bool = True
    """Whether the technique forms groups."""
    person_rows: PersonRows | None = None
    """The rows of people, if the release is decoupled. The box of a group is then the hull of its people's boxes, and
    `group` and `sensitive` are the values of each group, counterfeits included."""

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        if not self.other.size:
            object.__setattr__(self, "other", np.empty((len(self.other), len(self.group)), np.int32))
        for name in ("group", "sensitive", "other"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))

    def shows(self, column: str) -> bool:
        """Whether the release shows the column."""
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
