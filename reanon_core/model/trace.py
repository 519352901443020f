"""Private: the person behind each released row."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Int32, Int64, frozen


@dataclass(frozen=True, eq=False)
class Trace:
    """Which row of the release shows which person.

    Rows without a trace are counterfeits. So are rows that are traced to a person whom the snapshot marks as invented:
    to an adversary who tracks people across releases, they look like one more person.
    """

    persons: Int64  # [r] ascending
    rows: Int32  # [r] row of the published table
    person_rows: Int32 | None = None  # [r] row among the rows of people, if the release is decoupled

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        object.__setattr__(self, "persons", frozen(self.persons, np.int64))
        object.__setattr__(self, "rows", frozen(self.rows, np.int32))
        if self.person_rows is not None:
            object.__setattr__(self, "person_rows", frozen(self.person_rows, np.int32))

    @property
    def shown_rows(self) -> Int32:
        """The row of each person in the published file: of the table, or of the rows of people."""
        return self.rows if self.person_rows is None else self.person_rows


@dataclass(frozen=True, eq=False)
class Witness:
    """The proof that several worlds explain a release: for each world, the row that shows each traced person.

    A check need not trust it: the release and the snapshot alone show whether the rows fit.
    """

    rows: Int32  # [w, r] row of the published table; people in the order of the trace

    def __post_init__(self) -> None:
        """Freeze the array."""
        object.__setattr__(self, "rows", frozen(self.rows, np.int32))
