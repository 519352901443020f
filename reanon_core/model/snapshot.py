"""Private: the table at one time."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Bool, Int8, Int32, Int64, frozen
from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_core.model.schema import Schema

TABLE, REMEMBERED, INVENTED = 0, 1, 2
"""Where a row comes from: the table; an earlier release, of somebody who is not in the table; or nowhere."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The table at one time, one row per person, coded, in ascending order of person.

    The order is canonical, so that the order of the source cannot reach a release.
    """

    schema: Schema
    persons: Int64  # [n] keyed pseudonyms, strictly ascending
    qi: Int32  # [d, n] codes; MISSING where the value is missing
    sensitive: Int32  # [n] codes into schema.sensitive.values
    asked: Bool | None = None  # [n] whom the release asks for; None: everybody
    origin: Int8 | None = None  # [n] TABLE, REMEMBERED or INVENTED; None: everybody is in the table

    def __post_init__(self) -> None:
        """Freeze the arrays and hold the order."""
        for name, dtype in (("persons", np.int64), ("qi", np.int32), ("sensitive", np.int32)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
        for name, mask, kind in (("asked", self.asked, np.bool_), ("origin", self.origin, np.int8)):
            if mask is not None:
                object.__setattr__(self, name, frozen(mask, kind))
                if mask.shape != (self.size,):
                    raise InvalidSnapshot(Problem(name, "have one entry for each row"))
        if self.qi.shape != (len(self.schema.quasi_identifiers), self.size) or self.sensitive.shape != (self.size,):
            raise InvalidSnapshot(Problem("snapshot arrays", "have one entry for each row and column"))
        if not np.all(self.persons[1:] > self.persons[:-1]):
            raise InvalidSnapshot(Problem("persons", "be unique and ascending"))

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.persons)

    @property
    def wanted(self) -> Bool:
        """Whom the release asks for, bool[n]."""
        return np.ones(self.size, dtype=np.bool_) if self.asked is None else self.asked

    @property
    def invented(self) -> Bool:
        """Which rows are nobody's, bool[n]: they are counterfeits, though they are traced."""
        return np.zeros(self.size, dtype=np.bool_) if self.origin is None else self.origin == INVENTED

    def answer(self) -> "Snapshot":
        """The rows that are asked for, alone: what a release would ideally show."""
        return self if self.asked is None else self.rows(np.flatnonzero(self.asked), asked=None)

    def in_table(self) -> "Snapshot":
        """The rows of the table, without those that a technique has added."""
        if self.origin is None:
            return self
        here = np.flatnonzero(self.origin == TABLE)
        return self.rows(here, asked=self.wanted[here])

    def rows(self, which: Int64, *, asked: Bool | None) -> "Snapshot":
        """Some of the rows, in ascending order."""
        origin = None if self.origin is None else self.origin[which]
        return Snapshot(
            self.schema, self.persons[which], self.qi[:, which], self.sensitive[which], asked=asked, origin=origin
        )

    def same_rows(self, other: "Snapshot") -> bool:
        """Whether both hold the same people, with the same values, and ask for the same."""
        mine, theirs = ((one.persons, one.qi, one.sensitive, one.wanted) for one in (self, other))
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    @staticmethod
    def sort(schema: Schema, persons: Int64, qi: Int32, sensitive: Int32, asked: Bool | None = None) -> "Snapshot":
        """A snapshot from rows in any order."""
        order = np.argsort(persons)
        wanted = None if asked is None else asked[order]
        return Snapshot(schema, persons[order], qi[:, order], sensitive[order], asked=wanted)
