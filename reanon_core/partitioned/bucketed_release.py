"""One release of m-invariance in tasks, from a snapshot on disk to public rows on disk."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reanon_core.bucketing.bucketed_plan import withheld_reasons
from reanon_core.bucketing.division import Roster
from reanon_core.bucketing.options import BucketOptions
from reanon_core.bucketing.phases import shuffled_slots
from reanon_core.bucketing.signatures import Signatures
from reanon_core.bucketing.state import BucketState
from reanon_core.engine.column_folder import Column
from reanon_core.engine.engine import Engine
from reanon_core.engine.pieces import Pieces, discard
from reanon_core.kernels.siphash import fresh_key
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.snapshot import Snapshot
from reanon_core.partitioned.counted_rows import CountedRows, count_rows
from reanon_core.partitioned.list_counterfeits import ListCounterfeits, list_counterfeits
from reanon_core.partitioned.partitioned_release import PartitionedRelease
from reanon_core.partitioned.placement import Keys, placement
from reanon_core.partitioned.public_rows import SplitRelease, emit_in_parts
from reanon_core.partitioned.roster_tasks import RosterTask, record_range
from reanon_core.partitioned.row_ranges import (
    RosterColumns,
    RowRange,
    SnapshotColumns,
    roster_columns,
    row_ranges,
    snapshot_columns,
)
from reanon_core.partitioned.split_parts import SplitPart, SplitParts, split_parts
from reanon_core.partitioned.split_tasks import BoxColumns, CutTask, Lengths, SplitRows, SplitTask, cut_list, split_part
from reanon_core.partitioned.staging_tasks import StagedRange, StagingTask, stage_range
from reanon_core.recoding.attribute_scales import extent_of_extremes, length_scales


@dataclass(frozen=True, eq=False, kw_only=True)
class BucketedRelease(PartitionedRelease):
    """A release of a technique with buckets, and what its state needs."""

    signatures: Signatures
    roster: Roster
    codes: Int32  # [d, p] the codes of each person of the roster if they must not change, else [0, 0]


def in_memory_only(options: BucketOptions) -> str:
    """What of the options can be computed in memory only, as a sentence without an end; empty if nothing."""
    if options.on_sensitive_change == "withhold":
        return "on_sensitive_change: withhold"
    filled = options.not_eligible == "pad" and options.balancing == "filled"
    return "not_eligible: pad with balancing: filled" if filled else ""


def release_in_parts(
    snapshot: Snapshot, state: BucketState, options: BucketOptions, rng: np.random.Generator, engine: Engine
) -> BucketedRelease:
    """The four phases of the paper and the emission of the release, in tasks.

    Paper: [XT07] Section 4.1.

    Requires: options that `in_memory_only` has nothing against.
    Raises: Unpublishable (NotEligible among others); nothing is changed.
    """
    columns = snapshot_columns(snapshot, engine.folder)
    codes = state.known_codes(len(snapshot.qi)) if options.on_qi_change == "refuse" else None
    roster = roster_columns(state.roster, codes, engine.folder)
    ranges = row_ranges(snapshot.persons, state.roster.persons, engine.chunk_rows)
    counted = count_rows(engine, ranges, columns, roster, state, options, rng)
    plan = counted.plan
    keys, slot_at = _keys(engine, counted, options, snapshot.size, rng)
    entries = (counted.old - plan.surplus + plan.taken.sum(axis=0) + plan.counterfeits)[slot_at]
    parts = split_parts(plan.signatures, entries, engine.chunk_rows)
    all_new = counted.in_layers == snapshot.size
    counterfeits, padded = list_counterfeits(plan, counted.pads, counted.new, slot_at, rng, all_new=all_new)
    real = replace(plan, taken=plan.taken - padded)
    slot = counted.divided.slot
    placed = placement(engine, ranges, columns.persons, counted.pools, slot, keys, real, counted.withheld, slot_at)
    signature = engine.folder.created("signature", np.int32, (snapshot.size,))
    staging = [
        StagingTask(
            one,
            columns,
            counted.divided,
            counted.pools,
            keys,
            placed,
            parts.part_of_place,
            parts.waiting,
            engine.folder.new_path("staged"),
            signature,
        )
        for one in ranges
    ]
    staged = engine.run(stage_range, staging, [one.size for one in ranges])
    extent = extent_of_extremes(counted.extremes, snapshot.schema, state.extent)
    lengths = Lengths(extent[0], length_scales(extent[1] - extent[0], int(entries.max(initial=0))))
    split = _split(engine, ranges, columns, counted, parts, entries, counterfeits, slot_at, staged, lengths)
    release, auxiliary, trace = emit_in_parts(engine, ranges, columns, split, rng)
    after = _recorded(engine, ranges, columns, counted.divided.entry, signature, roster, staged)
    return BucketedRelease(
        release=release,
        auxiliary=auxiliary,
        trace=trace,
        withheld=withheld_reasons(
            deferred=int(counted.withheld.sum()), surplus=int(plan.surplus.sum()), stranded=counted.stranded
        ),
        signatures=plan.signatures,
        roster=after.mapped(),
        codes=np.empty((0, 0), np.int32) if after.qi is None else after.qi.mapped(),
        extent=extent,
        extremes=counted.extremes,
    )


def _keys(
    engine: Engine, counted: CountedRows, options: BucketOptions, rows: int, rng: np.random.Generator
) -> tuple[Keys, Int32]:
    """The keys of the words, and the slots in the order of the layout: drawn one after the other, as in memory."""
    folder, plan = engine.folder, counted.plan
    order = folder.written("order-key", fresh_key(rng))
    if options.balancing == "filled":
        return Keys(order, order, None), np.arange(len(plan.signatures.values), dtype=np.int32)
    allocation = folder.written("allocation-key", fresh_key(rng))
    surplus = folder.written("surplus-key", fresh_key(rng)) if plan.surplus.any() else None
    if counted.in_layers == rows and len(plan.taken) == 1:  # all rows are new: one word decides on slot and order
        allocation = order
    return Keys(order, allocation, surplus), shuffled_slots(plan.signatures, rng)


def _split(
    engine: Engine,
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    counted: CountedRows,
    parts: SplitParts,
    entries: Int64,
    counterfeits: ListCounterfeits,
    slot_at: Int32,
    staged: Sequence[StagedRange],
    lengths: Lengths,
) -> SplitRelease:
    """Phase 4: the groups of all rows, and their boxes."""
    folder, attributes = engine.folder, snapshot.qi.shape[0]
    boxes = BoxColumns(
        folder.created("low", np.int32, (attributes, parts.groups)),
        folder.created("high", np.int32, (attributes, parts.groups)),
        folder.created("missing", np.int8, (attributes, parts.groups)),
        folder.created("populated", np.bool_, (parts.groups,)),
    )
    pieces = tuple(one.pieces for one in staged)
    cut = _cut_lists(engine, parts, entries, counterfeits, pieces, lengths)
    offsets = counted.plan.signatures.offsets
    tasks = []
    for part in parts.parts:
        places = slice(part.first_place, part.end_place)
        first, end = offsets.searchsorted([part.first_place, part.end_place])
        whole = part.cut is None
        tasks.append(
            SplitTask(
                part=part,
                staged=pieces if whole else tuple(cut[waiting] for waiting in part.waiting),
                lists=np.diff(offsets[first : end + 1]),
                entries=entries[places] if whole else np.full(len(part.waiting), part.groups, np.int64),
                counterfeits=counterfeits.of_places(part.first_place, part.end_place),
                schema=snapshot.schema,
                lengths=lengths,
                boxes=boxes,
                rows_in_range=ranges[0].stop or 1,
                ranges=len(ranges),
                path=folder.new_path("split"),
                counterfeit_path=folder.new_path("counterfeits"),
            )
        )
    rows: list[SplitRows] = engine.run(split_part, tasks, [int(task.entries.sum()) for task in tasks])
    discard((*pieces, *cut.values()))
    return SplitRelease(
        rows=tuple(rows),
        boxes=boxes,
        value_of_place=counted.plan.signatures.values[slot_at],
        published=tuple(one.published for one in staged),
    )


def _cut_lists(
    engine: Engine,
    parts: SplitParts,
    entries: Int64,
    counterfeits: ListCounterfeits,
    staged: tuple[Pieces, ...],
    lengths: Lengths,
) -> dict[int, Pieces]:
    """The lists of buckets that are too large, cut: for each, its entries by the part of the bucket."""
    cut_parts: dict[tuple[int, ...], list[SplitPart]] = {}
    for part in parts.parts:
        if part.cut is not None:
            cut_parts.setdefault(part.waiting, []).append(part)
    tasks = [
        CutTask(
            waiting=waiting,
            staged=staged,
            lists=len(lists),
            entries=int(entries[place]),
            counterfeits=counterfeits.of_places(place, place + 1),
            parts=len(own),
            lengths=lengths,
            path=engine.folder.new_path("cut"),
        )
        for lists, own in cut_parts.items()
        for place, waiting in enumerate(lists, own[0].first_place)
    ]
    found = engine.run(cut_list, tasks, [task.entries for task in tasks])
    return {task.waiting: pieces for task, pieces in zip(tasks, found, strict=True)}


def _recorded(
    engine: Engine,
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    entry: Column,
    signature: Column,
    before: RosterColumns,
    staged: Sequence[StagedRange],
) -> RosterColumns:
    """The roster after the release."""
    sizes = [one.roster_stop - one.roster_start + own.added for one, own in zip(ranges, staged, strict=True)]
    folder, rows = engine.folder, sum(sizes)
    after = RosterColumns(
        folder.created("next-persons", np.int64, (rows,)),
        folder.created("next-signature", np.int32, (rows,)),
        folder.created("next-sensitive", np.int32, (rows,)),
        None if before.qi is None else folder.created("next-qi", np.int32, (before.qi.shape[0], rows)),
    )
    firsts = [0, *np.cumsum(sizes).tolist()][:-1]
    tasks = [
        RosterTask(one, snapshot, entry, signature, before, after, first)
        for one, first in zip(ranges, firsts, strict=True)
    ]
    engine.run(record_range, tasks, sizes)
    return after
