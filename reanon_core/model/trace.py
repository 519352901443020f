"""Private: the person behind each released row."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Int32, Int64, frozen


@dataclass(frozen=True, eq=False)
class Trace:
    """Which row of the release shows which person.

    Rows without a trace are counterfeits. So are those traced to somebody whom the snapshot calls invented: whoever
    follows people from release to release sees them as one more person.
    """

    persons: Int64  # [r] ascending
    rows: Int32  # [r] row of the published table

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        object.__setattr__(self, "persons", frozen(self.persons, np.int64))
        object.__setattr__(self, "rows", frozen(self.rows, np.int32))
