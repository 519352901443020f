"""Phase 1 in tasks: find everyone in the roster, and count.

Paper: [XT07] Section 4.1, division.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.division import DISPLACED, NEW, Division, Roster, divide
from reanon_core.bucketing.signatures import Signatures
from reanon_core.engine.column_folder import Column
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.snapshot import Snapshot
from reanon_core.partitioned.row_ranges import PoolColumns, RosterColumns, RowRange, SnapshotColumns
from reanon_core.recoding.attribute_scales import Extremes, extremes


@dataclass(frozen=True)
class DivisionColumns:
    """What is known of each row after division."""

    slot: Column  # [n] the slot of an old row, -1 for a new one; a displaced one gets its slot later
    entry: Column  # [n] row of the roster, or NEW, or DISPLACED
    changed: Column  # [n] whether a known person has another value


@dataclass(frozen=True)
class DivisionTask:
    """Divide the rows of one range."""

    rows: RowRange
    snapshot: SnapshotColumns
    roster: RosterColumns
    signatures: Signatures
    divided: DivisionColumns


@dataclass(frozen=True, eq=False)
class DivisionCounts:
    """What the rows of a range add up to."""

    pool: Int64  # [values] new rows
    old: Int64  # [slots] old rows
    displaced: int
    changed: int
    moved: int
    """Known people with other codes than before, where that is refused."""
    extremes: Extremes


def divide_range(task: DivisionTask) -> DivisionCounts:
    """Write the slot and the entry of each row, and count the rows."""
    rows, signatures = task.rows, task.signatures
    snapshot = task.snapshot.rows(rows.start, rows.stop)
    roster = task.roster.rows(rows.roster_start, rows.roster_stop)
    division = divide(snapshot, roster, signatures)
    known = np.flatnonzero(division.entry >= 0)
    slot = np.full(snapshot.size, -1, dtype=np.int32)
    slot[known] = signatures.slots(roster.signature[division.entry[known]], snapshot.sensitive[known])
    entry = division.entry.copy()
    entry[known] += np.int32(rows.roster_start)
    task.divided.slot.write(rows.start, slot)
    task.divided.entry.write(rows.start, entry)
    task.divided.changed.write(rows.start, division.changed)
    values = len(snapshot.schema.sensitive.values)
    return DivisionCounts(
        pool=np.bincount(snapshot.sensitive[division.entry == NEW], minlength=values).astype(np.int64),
        old=np.bincount(slot[known], minlength=len(signatures.values)).astype(np.int64),
        displaced=int(np.count_nonzero(division.entry == DISPLACED)),
        changed=int(np.count_nonzero(division.changed)),
        moved=len(moved_rows(rows, task.snapshot, task.roster, entry)),
        extremes=extremes(snapshot.qi, snapshot.schema),
    )


def moved_rows(rows: RowRange, snapshot: SnapshotColumns, roster: RosterColumns, entry: Int32) -> Int64:
    """The rows of a range whose codes differ from those of the roster, if they must not; `entry` is that of each."""
    if roster.qi is None or not roster.qi.rows:
        return np.empty(0, np.int64)
    before, now = roster.qi.read(rows.roster_start, rows.roster_stop), snapshot.qi.read(rows.start, rows.stop)
    known = np.flatnonzero(entry >= 0)
    differs = (now[:, known] != before[:, entry[known] - rows.roster_start]).any(axis=0)
    moved: Int64 = known[differs] + rows.start
    return moved


@dataclass(frozen=True)
class JoinTask:
    """Send the new rows of one range to the slots of their pools."""

    rows: RowRange
    pool: PoolColumns
    slot: Column
    slot_of_pool: Int32  # [regions * values] -1 for a pool whose rows stay where they are


def join_range(task: JoinTask) -> None:
    """Write the slots of new rows that join the old rows of a block."""
    rows = task.rows
    slot, pool = task.slot.read(rows.start, rows.stop), task.pool.read(rows.start, rows.stop)
    new = slot == NEW
    slot[new] = task.slot_of_pool[pool[new]]
    task.slot.write(rows.start, slot)


def rows_where(task_rows: Iterable[RowRange], column: Column, code: int) -> Int32:
    """The rows of which a column has this code, ascending."""
    found = [(rows.start + np.flatnonzero(column.read(rows.start, rows.stop) == code)) for rows in task_rows]
    return np.concatenate([np.empty(0, np.int32), *(rows.astype(np.int32) for rows in found)])


def displaced_people(
    snapshot: SnapshotColumns, roster: Roster, divided: DivisionColumns, rows: Int32
) -> tuple[Snapshot, Division, Roster]:
    """The displaced rows alone, with their rows of the roster: what decides on their episodes."""
    persons, sensitive, qi = snapshot.persons.mapped(), snapshot.sensitive.mapped(), snapshot.qi.mapped()
    changed: Bool = divided.changed.mapped()[rows]
    few = Snapshot(snapshot.schema, persons[rows], qi[:, rows], sensitive[rows])
    first, last = (roster.persons.searchsorted(few.persons, side=side) for side in ("left", "right"))
    kept = np.concatenate([np.empty(0, np.int64), *(np.arange(a, b) for a, b in zip(first, last, strict=True))])
    own = Roster(roster.persons[kept], roster.signature[kept], roster.sensitive[kept])
    return few, Division(np.full(len(rows), DISPLACED, np.int32), changed), own
