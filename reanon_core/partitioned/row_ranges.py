"""The people of a snapshot in ranges, each small enough for one task."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.division import Roster
from reanon_core.engine.column_folder import Column, ColumnFolder
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot


@dataclass(frozen=True)
class SnapshotColumns:
    """A snapshot on disk."""

    schema: Schema
    persons: Column
    qi: Column
    sensitive: Column

    def rows(self, start: int, stop: int) -> Snapshot:
        """Some of the people."""
        return Snapshot(
            self.schema,
            self.persons.read(start, stop),
            self.qi.read(start, stop),
            self.sensitive.read(start, stop),
        )


@dataclass(frozen=True)
class PoolColumns:
    """The pool that each new row is in: the new rows of one region and value."""

    sensitive: Column
    values: int
    region: Column | None = None
    """None if there is one region."""

    def read(self, start: int, stop: int) -> Int32:
        """The pool of each of some rows, region by region and value by value; it means nothing for old rows."""
        sensitive: Int32 = self.sensitive.read(start, stop)
        if self.region is None:
            return sensitive
        pool: Int32 = self.region.read(start, stop) * np.int32(self.values) + sensitive
        return pool


@dataclass(frozen=True)
class RosterColumns:
    """A roster on disk."""

    persons: Column
    signature: Column
    sensitive: Column
    qi: Column | None = None
    """[d, rows] the codes that must not change; None if they may."""

    def rows(self, start: int, stop: int) -> Roster:
        """Some of the rows."""
        return Roster(
            self.persons.read(start, stop), self.signature.read(start, stop), self.sensitive.read(start, stop)
        )

    def mapped(self) -> Roster:
        """All rows."""
        return Roster(self.persons.mapped(), self.signature.mapped(), self.sensitive.mapped())


@dataclass(frozen=True)
class RowRange:
    """Consecutive people of a snapshot, and the stretch of the roster in which they are."""

    number: int
    start: int
    stop: int
    roster_start: int
    roster_stop: int

    @property
    def size(self) -> int:
        """The number of people."""
        return self.stop - self.start


def row_ranges(persons: Int64, known: Int64, most: int) -> list[RowRange]:
    """All people in ranges of at most so many, and everyone in the roster; at least one range."""
    starts = list(range(0, max(1, len(persons)), most))
    stops = [*starts[1:], len(persons)]
    ends = [*(int(known.searchsorted(persons[stop])) for stop in stops[:-1]), len(known)]
    return [
        RowRange(number, start, stop, roster_start, roster_stop)
        for number, (start, stop, roster_start, roster_stop) in enumerate(
            zip(starts, stops, [0, *ends[:-1]], ends, strict=True)
        )
    ]


def snapshot_columns(snapshot: Snapshot, folder: ColumnFolder) -> SnapshotColumns:
    """The columns that the arrays of a snapshot are mapped from, or new ones."""
    return SnapshotColumns(
        snapshot.schema,
        folder.column_of("persons", snapshot.persons),
        folder.column_of("qi", snapshot.qi),
        folder.column_of("sensitive", snapshot.sensitive),
    )


def roster_columns(roster: Roster, qi: Int32 | None, folder: ColumnFolder) -> RosterColumns:
    """The same for a roster, and for the codes [d, rows] that must not change."""
    return RosterColumns(
        folder.column_of("roster-persons", roster.persons),
        folder.column_of("roster-signature", roster.signature),
        folder.column_of("roster-sensitive", roster.sensitive),
        None if qi is None else folder.column_of("roster-qi", qi),
    )
