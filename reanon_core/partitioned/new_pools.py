"""The pools of new rows, and what needs all new rows in memory: where regions are cut, and who goes to partial blocks.

Regions are cut at medians of medians, and partial blocks let rows in one by one, so neither is decided over counts of
ranges. Both look at few bytes of each new row, and everything else goes on in tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.division import NEW
from reanon_core.bucketing.new_rows import Newcomers, NewRows, counts_by_region
from reanon_core.bucketing.options import BucketOptions
from reanon_core.bucketing.regions import ShownRows, region_of_new_rows
from reanon_core.bucketing.state import BucketState
from reanon_core.engine.engine import Engine
from reanon_core.model.arrays import Int32, Int64
from reanon_core.partitioned.division_tasks import DivisionColumns, JoinTask, join_range, rows_where
from reanon_core.partitioned.row_ranges import PoolColumns, RowRange, SnapshotColumns

CUT_ROW, CUT_CODE = 24, 8
"""The bytes that a new row takes while regions are cut, and for each of its codes."""
BLOCK_ROW = 40
"""The bytes that a new row takes while partial blocks are made."""


@dataclass(frozen=True, eq=False)
class NewPools:
    """The new rows by region and value."""

    columns: PoolColumns
    counts: Int64  # [regions, values]


def new_row_memory(options: BucketOptions, attributes: int) -> int:
    """The bytes that a new row takes in memory, before there are groups; 0 if tasks over ranges do everything."""
    cut = CUT_ROW + CUT_CODE * attributes if options.regions != "none" else 0
    return max(cut, BLOCK_ROW if options.not_eligible == "partial-blocks" else 0)


def new_pools(
    engine: Engine,
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    divided: DivisionColumns,
    state: BucketState,
    pool: Int64,
    options: BucketOptions,
) -> NewPools:
    """The pools. `state` is that before the release, and `pool` [values] counts its new rows."""
    values = len(pool)
    if options.regions == "none":
        return NewPools(PoolColumns(snapshot.sensitive, values), pool[None])
    rows = rows_where(ranges, divided.entry, NEW)
    qi, sensitive, entry = snapshot.qi.mapped(), snapshot.sensitive.mapped(), divided.entry.mapped()
    everyone = len(rows) == len(sensitive)
    old = np.empty(0, np.intp) if everyone else np.flatnonzero(entry >= 0)
    shown = ShownRows(qi[:, old], state.roster.signature[entry[old]], state.signatures)
    of_new = region_of_new_rows(qi if everyone else qi[:, rows], shown, options.m, values)
    region = engine.folder.created("region", np.int32, (len(sensitive),))
    region.write_at(rows, of_new)
    counts = counts_by_region(of_new, sensitive if everyone else sensitive[rows], values)
    return NewPools(PoolColumns(snapshot.sensitive, values, region), counts)


def newcomers(
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    divided: DivisionColumns,
    pools: NewPools,
    options: BucketOptions,
) -> tuple[Int32, Newcomers]:
    """The new rows if they are let in one by one, and what is known of them; none if counts decide."""
    if options.not_eligible != "partial-blocks":
        nothing = np.empty(0, np.int32)
        return nothing, Newcomers(np.empty(0, np.int64), nothing, nothing, pools.counts)
    rows = rows_where(ranges, divided.entry, NEW)
    region = pools.columns.region
    return rows, Newcomers(
        snapshot.persons.mapped()[rows],
        snapshot.sensitive.mapped()[rows],
        np.zeros(len(rows), np.int32) if region is None else region.mapped()[rows],
        pools.counts,
    )


def join_blocks(
    engine: Engine,
    ranges: Sequence[RowRange],
    divided: DivisionColumns,
    pools: NewPools,
    rows: Int32,
    entry: NewRows,
) -> Int64:
    """Write the slots of the new rows that join the old rows of a block, and count them, by slot.

    `rows` are the new rows if each was let in or not, and none if all rows of a pool do the same.
    """
    slots = len(entry.signatures.values)
    if len(rows):
        joining = entry.slot >= 0
        divided.slot.write_at(rows[joining], entry.slot[joining])
        return np.bincount(entry.slot[joining], minlength=slots).astype(np.int64)
    joined = np.zeros(slots, np.int64)
    joining = entry.block_slot >= 0
    if joining.any():
        np.add.at(joined, entry.block_slot[joining], pools.counts[joining])
        slot_of_pool = entry.block_slot.ravel()
        tasks = [JoinTask(one, pools.columns, divided.slot, slot_of_pool) for one in ranges]
        engine.run(join_range, tasks, [one.size for one in ranges])
    return joined
