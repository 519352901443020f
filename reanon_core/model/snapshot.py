"""Private: the table at one time."""

from dataclasses import dataclass, field, replace

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int8, Int32, Int64, forget_pages, frozen, slices
from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_core.model.schema import Missing, Schema

TABLE, REMEMBERED, INVENTED = 0, 1, 2
"""Where a row comes from: the table; an earlier release, of a person who has left the table; or a counterfeit."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The table at one time, one row per person, coded, in ascending order of person.

    The order is canonical, so that the order of the source cannot reach a release.
    """

    schema: Schema
    persons: Int64  # [n] keyed pseudonyms, strictly ascending
    qi: Int32  # [d, n] codes; MISSING where the value is missing
    sensitive: Int32  # [n] codes into schema.sensitive.values
    other: Int32 = field(default_factory=lambda: np.empty((0, 0), np.int32))  # [o, n] codes into schema.other_values
    columns: tuple[str, ...] | None = None
    """The columns that the release is to show; None for all."""
    selected: Bool | None = None  # [n] the rows that the release selects; None for all
    origin: Int8 | None = None  # [n] TABLE, REMEMBERED or INVENTED; None: all rows are in the table

    def __post_init__(self) -> None:
        """Freeze the arrays, and require one row per person in ascending order and a value for every code."""
        if not self.schema.other:
            object.__setattr__(self, "other", np.empty((0, len(self.persons)), np.int32))
        for name, dtype in (("persons", np.int64), ("qi", np.int32), ("sensitive", np.int32), ("other", np.int32)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
        for name, mask, kind in (("selected", self.selected, np.bool_), ("origin", self.origin, np.int8)):
            if mask is not None:
                object.__setattr__(self, name, frozen(mask, kind))
                if mask.shape != (self.size,):
                    raise InvalidSnapshot(Problem(name, "have one entry for each row"))
        shapes = ((len(self.schema.quasi_identifiers), self.size), (self.size,), (len(self.schema.other), self.size))
        if (self.qi.shape, self.sensitive.shape, self.other.shape) != shapes:
            raise InvalidSnapshot(Problem("snapshot arrays", "have one entry for each row and column"))
        if not _ascending(self.persons):
            raise InvalidSnapshot(Problem("persons", "be unique and ascending"))
        lists = (self.schema.sensitive.values, *self.schema.other_values)
        for name, values, codes in zip(
            self.schema.columns[-len(lists) :], lists, (self.sensitive, *self.other), strict=True
        ):
            if codes.size and _greatest(codes) >= len(values):
                raise InvalidSnapshot(Problem(f"the codes of column {name}", "be positions in its list of values"))

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.persons)

    @property
    def absent(self) -> Bool:
        """The quasi-identifiers that the source does not have yet, bool[d]: no row has a code, though all must."""
        return np.array(
            [
                column.missing is Missing.REFUSE and bool(codes.size) and bool((codes == MISSING).all())
                for column, codes in zip(self.schema.quasi_identifiers, self.qi, strict=True)
            ],
            dtype=np.bool_,
        )

    @property
    def selection(self) -> Bool:
        """The rows that the release selects, bool[n]."""
        return np.ones(self.size, dtype=np.bool_) if self.selected is None else self.selected

    @property
    def invented(self) -> Bool:
        """The rows that show no person, bool[n]: counterfeits that are traced."""
        return np.zeros(self.size, dtype=np.bool_) if self.origin is None else self.origin == INVENTED

    @property
    def remembered(self) -> Bool:
        """The rows of people who have left the table, bool[n]."""
        return np.zeros(self.size, dtype=np.bool_) if self.origin is None else self.origin == REMEMBERED

    def answer(self) -> "Snapshot":
        """The selected rows alone: what a release would ideally show."""
        return self if self.selected is None else self.rows(np.flatnonzero(self.selected), selected=None)

    def in_table(self) -> "Snapshot":
        """The rows of the table, without those that the technique added."""
        if self.origin is None:
            return self
        here = np.flatnonzero(self.origin == TABLE)
        return self.rows(here, selected=self.selection[here])

    def rows(self, which: Int64, *, selected: Bool | None) -> "Snapshot":
        """Some of the rows, in ascending order."""
        return replace(
            self,
            persons=self.persons[which],
            qi=self.qi[:, which],
            sensitive=self.sensitive[which],
            other=self.other[:, which],
            selected=selected,
            origin=None if self.origin is None else self.origin[which],
        )

    def same_rows(self, other: "Snapshot") -> bool:
        """Whether both have the same people with the same values and select the same rows."""
        return (
            np.array_equal(self.persons, other.persons)
            and np.array_equal(self.qi, other.qi)
            and np.array_equal(self.sensitive, other.sensitive)
            and np.array_equal(self.other, other.other)
            and np.array_equal(self.selection, other.selection)
        )

    @staticmethod
    def sort(schema: Schema, persons: Int64, qi: Int32, sensitive: Int32) -> "Snapshot":
        """A snapshot from rows in any order."""
        order = np.argsort(persons)
        return Snapshot(schema, persons[order], qi[:, order], sensitive[order])


def _ascending(persons: Int64) -> bool:
    """Whether every pseudonym is greater than the one before. Of a mapped array, few pages stay in memory."""
    for part in slices(len(persons)):
        here = persons[max(0, part.start - 1) : part.stop]
        ascends = bool(np.all(here[1:] > here[:-1]))
        forget_pages(persons)
        if not ascends:
            return False
    return True


def _greatest(codes: Int32) -> int:
    """The greatest code. Of a mapped array, few pages stay in memory."""
    greatest = MISSING
    for part in slices(len(codes)):
        greatest = max(greatest, int(codes[part].max(initial=MISSING)))
        forget_pages(codes)
    return greatest
