"""The state after a release, in tasks: everyone who was placed joins the roster."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.division import DISPLACED
from reanon_core.bucketing.state import with_codes_of_new
from reanon_core.engine.column_folder import Column
from reanon_core.partitioned.row_ranges import RosterColumns, RowRange, SnapshotColumns


@dataclass(frozen=True)
class RosterTask:
    """Merge the people of one range into their stretch of the roster."""

    rows: RowRange
    snapshot: SnapshotColumns
    entry: Column
    signature: Column
    before: RosterColumns
    after: RosterColumns
    first: int
    """Where its stretch of the new roster begins."""


def record_range(task: RosterTask) -> None:
    """Write the stretch of the new roster."""
    rows = task.rows
    persons = task.snapshot.persons.read(rows.start, rows.stop)
    sensitive = task.snapshot.sensitive.read(rows.start, rows.stop)
    entry, signature = (column.read(rows.start, rows.stop) for column in (task.entry, task.signature))
    placed = signature >= 0
    known = task.before.rows(rows.roster_start, rows.roster_stop).with_stranded(persons[(entry == DISPLACED) & ~placed])
    own = np.where(entry >= 0, entry - np.int32(rows.roster_start), entry).astype(np.int32)[placed]
    roster = known.recorded(own, persons[placed], signature[placed], sensitive[placed])
    task.after.persons.write(task.first, roster.persons)
    task.after.signature.write(task.first, roster.signature)
    task.after.sensitive.write(task.first, roster.sensitive)
    if task.before.qi is not None and task.after.qi is not None:
        before = task.before.qi.read(rows.roster_start, rows.roster_stop)
        qi = task.snapshot.qi.read(rows.start, rows.stop)[:, placed]
        task.after.qi.write(task.first, with_codes_of_new(before, known.persons, persons[placed], qi, own < 0))
