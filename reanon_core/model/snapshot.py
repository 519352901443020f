"""Private: the table at one time."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Int32, Int64, frozen
from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_core.model.schema import Schema


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The table at one time, one row per person, coded, in ascending order of person.

    The order is canonical, so that the order of the source cannot reach a release.
    """

    schema: Schema
    persons: Int64  # [n] keyed pseudonyms, strictly ascending
    qi: Int32  # [d, n] codes; MISSING where the value is missing
    sensitive: Int32  # [n] codes into schema.sensitive.values

    def __post_init__(self) -> None:
        """Freeze the arrays and hold the order."""
        for name, dtype in (("persons", np.int64), ("qi", np.int32), ("sensitive", np.int32)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
        if self.qi.shape != (len(self.schema.quasi_identifiers), self.size) or self.sensitive.shape != (self.size,):
            raise InvalidSnapshot(Problem("snapshot arrays", "have one entry for each row and column"))
        if not np.all(self.persons[1:] > self.persons[:-1]):
            raise InvalidSnapshot(Problem("persons", "be unique and ascending"))

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.persons)

    @staticmethod
    def sort(schema: Schema, persons: Int64, qi: Int32, sensitive: Int32) -> "Snapshot":
        """A snapshot from rows in any order."""
        order = np.argsort(persons)
        return Snapshot(schema, persons[order], qi[:, order], sensitive[order])
