"""Phases 1 to 3: rows are divided in tasks, and everything else is decided over counts.

Paper: [XT07] Section 4.1; [XT07] Section 4.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.count_plan import BucketCounts, CountPlan, assign_new_rows, balance_buckets
from reanon_core.bucketing.division import DISPLACED, Division, begun_episodes, block_choice, frequency_choice
from reanon_core.bucketing.layout import STRANDED
from reanon_core.bucketing.new_rows import enter_new_rows
from reanon_core.bucketing.options import BucketOptions
from reanon_core.bucketing.phases import refuse_changes
from reanon_core.bucketing.signatures import Signatures, known_values
from reanon_core.bucketing.state import BucketState
from reanon_core.engine.engine import Engine
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.partitioned.division_tasks import (
    DivisionColumns,
    DivisionTask,
    displaced_people,
    divide_range,
    moved_rows,
    rows_where,
)
from reanon_core.partitioned.new_pools import join_blocks, new_pools, newcomers
from reanon_core.partitioned.row_ranges import PoolColumns, RosterColumns, RowRange, SnapshotColumns
from reanon_core.recoding.attribute_scales import Extremes, merged_extremes


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedRows:
    """The rows after division, and the plan over their counts."""

    divided: DivisionColumns
    pools: PoolColumns
    counts: BucketCounts
    plan: CountPlan
    old: Int64  # [slots] the old rows of each slot, and new ones that join them
    new: Int64  # [values] new rows
    withheld: Int64  # [values] those that are withheld because their value is too frequent
    pads: Int64  # [values] counterfeits among them
    stranded: int
    in_layers: int
    """How many new rows enter in layers."""
    extremes: Extremes


def count_rows(
    engine: Engine,
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    roster: RosterColumns,
    state: BucketState,
    options: BucketOptions,
    rng: np.random.Generator,
) -> CountedRows:
    """Divide the rows, balance the buckets and assign the new rows.

    Raises: Unpublishable (NotEligible among others).
    """
    sizes, rows = [one.size for one in ranges], snapshot.persons.rows
    folder, schema = engine.folder, snapshot.schema
    divided = DivisionColumns(
        folder.created("slot", np.int32, (rows,)),
        folder.created("entry", np.int32, (rows,)),
        folder.created("changed", np.bool_, (rows,)),
    )
    tasks = [DivisionTask(one, snapshot, roster, state.signatures, divided) for one in ranges]
    counts = engine.run(divide_range, tasks, sizes)
    if any(one.changed for one in counts) and options.on_sensitive_change == "refuse":
        _refuse(rows_where(ranges, divided.changed, code=True), snapshot, state, divided, options)
    if any(one.moved for one in counts):
        entry_of = divided.entry
        moved = [moved_rows(one, snapshot, roster, entry_of.read(one.start, one.stop)) for one in ranges]
        _refuse(np.concatenate(moved).astype(np.int32), snapshot, state, divided, options)
    pool: Int64 = np.sum([one.pool for one in counts], axis=0)
    old: Int64 = np.sum([one.old for one in counts], axis=0)
    known = known_values(state.signatures, len(pool), declared=schema.sensitive.closed)
    pools = new_pools(engine, ranges, snapshot, divided, state, pool, options)
    signatures, stranded = state.signatures, 0
    if any(one.displaced for one in counts):
        signatures, old, stranded = _episodes(ranges, snapshot, state, divided, options, (pool, old, known))
    new_rows, new = newcomers(ranges, snapshot, divided, pools, options)
    entry = enter_new_rows(new, known, signatures, options, schema.sensitive.values, rng)
    joined = join_blocks(engine, ranges, divided, pools, new_rows, entry)
    old = _lengthened(old, entry.signatures) + joined
    bucket_counts = BucketCounts(entry.signatures, old, entry.blocked, entry.pools)
    balanced = balance_buckets(bucket_counts, options.m, options.balancing)
    plan = assign_new_rows(bucket_counts, balanced, options.m, options.assignment)
    return CountedRows(
        divided=divided,
        pools=pools.columns,
        counts=bucket_counts,
        plan=plan,
        old=_lengthened(old, plan.signatures),
        new=pool,
        withheld=entry.withheld,
        pads=entry.pads,
        stranded=stranded,
        in_layers=int(pool.sum() - joined.sum()),
        extremes=merged_extremes((one.extremes for one in counts), schema),
    )


def _refuse(
    rows: Int32,
    snapshot: SnapshotColumns,
    state: BucketState,
    divided: DivisionColumns,
    options: BucketOptions,
) -> None:
    """Refuse the people in these rows, who have changed.

    Raises: Unpublishable.
    """
    few, _, _ = displaced_people(snapshot, state.roster, divided, rows)
    division = Division(divided.entry.mapped()[rows].astype(np.int32), divided.changed.mapped()[rows])
    refuse_changes(
        few,
        state,
        division,
        on_sensitive_change=options.on_sensitive_change,
        on_qi_change=options.on_qi_change,
    )


def _episodes(
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    state: BucketState,
    divided: DivisionColumns,
    options: BucketOptions,
    counts: tuple[Int64, Int64, Bool],
) -> tuple[Signatures, Int64, int]:
    """Begin an episode for each displaced person: the signatures, the old rows of each slot, and the stranded.

    `counts` are the new rows of each value, the old rows of each slot, and which values are known.

    Raises: TooFewValues.
    """
    pool, old, known = counts
    rows = rows_where(ranges, divided.entry, DISPLACED)
    few, division, own = displaced_people(snapshot, state.roster, divided, rows)
    choice = frequency_choice(state.signatures, pool, options.m)
    if options.balancing != "filled":
        choice = block_choice(state.signatures, state.signatures.largest(old), known | (pool > 0), options.m)
    begun = begun_episodes(few, division, own, state.signatures, choice)
    slot: Int32 = np.full(len(rows), STRANDED, np.int32)
    begin = np.flatnonzero(begun.signature >= 0)
    slot[begin] = begun.signatures.slots(begun.signature[begin], few.sensitive[begin])
    divided.slot.write_at(rows, slot)
    old = _lengthened(old, begun.signatures) + np.bincount(slot[begin], minlength=len(begun.signatures.values))
    return begun.signatures, old, len(begun.stranded)


def _lengthened(per_slot: Int64, signatures: Signatures) -> Int64:
    """The numbers of slots, with zeros for the slots of signatures that were added since."""
    return np.concatenate([per_slot, np.zeros(len(signatures.values) - len(per_slot), np.int64)])
