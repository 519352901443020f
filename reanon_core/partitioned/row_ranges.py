"""The people of a snapshot in ranges, each small enough for one task."""

from dataclasses import dataclass

from reanon_core.bucketing.roster import Roster
from reanon_core.engine.column_folder import Column, ColumnFolder
from reanon_core.model.arrays import Int64
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
class RosterColumns:
    """A roster on disk."""

    persons: Column
    signature: Column
    sensitive: Column

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


def roster_columns(roster: Roster, folder: ColumnFolder) -> RosterColumns:
    """The same for a roster."""
    return RosterColumns(
        folder.column_of("roster-persons", roster.persons),
        folder.column_of("roster-signature", roster.signature),
        folder.column_of("roster-sensitive", roster.sensitive),
    )
