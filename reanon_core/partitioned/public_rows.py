"""The public release, its counterfeit counts and the private trace, from the groups of the split."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reanon_core.engine.column_folder import Column
from reanon_core.engine.engine import Engine
from reanon_core.engine.pieces import Pieces, discard, read_pieces
from reanon_core.kernels.siphash import fresh_key, keyed_permutation, siphash_words
from reanon_core.model.arrays import Int32
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.trace import Trace
from reanon_core.partitioned.emission_tasks import (
    NO_ROW,
    BoxTask,
    ShuffleTask,
    StretchTask,
    TraceTask,
    order_boxes,
    order_stretch,
    shuffle_range,
    shuffled_rows,
    trace_range,
)
from reanon_core.partitioned.row_ranges import RowRange, SnapshotColumns
from reanon_core.partitioned.split_tasks import BoxColumns, SplitRows


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitRelease:
    """Everything that the split has left on disk."""

    rows: tuple[SplitRows, ...]
    boxes: BoxColumns
    value_of_place: Int32  # [slots]
    published: tuple[int, ...]
    """How many people of each range are published."""


@dataclass(frozen=True, eq=False)
class _Counterfeits:
    """The counterfeits in the order in which they were built."""

    group: Int32
    sensitive: Int32


def emit_in_parts(
    engine: Engine,
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    split: SplitRelease,
    rng: np.random.Generator,
) -> tuple[Release, Auxiliary, Trace]:
    """The release, its counterfeit counts and the private trace.

    Paper: [XT07] Definitions 2 and 3.
    """
    folder = engine.folder
    populated = split.boxes.populated.mapped()
    groups = int(np.count_nonzero(populated))
    public = np.full(len(populated), -1, np.int32)
    public[populated] = keyed_permutation(groups, rng)
    number = folder.written("number", public)
    invented = _counterfeits(split)
    people = sum(split.published)
    key = folder.written("row-key", fresh_key(rng))
    shuffled, bits = _shuffled(engine, ranges, snapshot, split, number, key, invented, public)
    group, sensitive = (
        folder.created(name, np.int32, (people + len(invented.group),)) for name in ("group", "published")
    )
    ordered = _ordered(engine, ranges, shuffled, bits, group, sensitive)
    trace = _traced(engine, ranges, snapshot, split.published, ordered)
    boxes = _ordered_boxes(engine, split.boxes, number, groups)
    holding, count = np.unique(public[invented.group], return_counts=True)
    return (
        Release(group.mapped(), sensitive.mapped(), boxes),
        Auxiliary(holding, count.astype(np.int32)),
        trace,
    )


def _counterfeits(split: SplitRelease) -> _Counterfeits:
    """All counterfeits, slot by slot, in the order of their lists."""
    found = read_pieces([one.counterfeits for one in split.rows], 0) if split.rows else {}
    if not found:
        return _Counterfeits(np.empty(0, np.int32), np.empty(0, np.int32))
    order = np.lexsort((found["position"], found["place"]))
    discard(one.counterfeits for one in split.rows)
    return _Counterfeits(found["group"][order], split.value_of_place[found["place"][order]])


def _shuffled(
    engine: Engine,
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    split: SplitRelease,
    number: Column,
    key: Column,
    invented: _Counterfeits,
    public: Int32,
) -> tuple[tuple[Pieces, ...], int]:
    """The public rows by the leading bits of their words, people first; and how many bits."""
    people = sum(split.published)
    total, bits = people + len(invented.group), 0
    while total > engine.chunk_rows << bits:
        bits += 1
    folder, before = engine.folder, _before(split.published)
    split_rows = tuple(one.pieces for one in split.rows)
    tasks = [
        ShuffleTask(one, split_rows, first, snapshot.sensitive, number, key, bits, folder.new_path("shuffled"))
        for one, first in zip(ranges, before, strict=True)
    ]
    shuffled = engine.run(shuffle_range, tasks, [one.size for one in ranges]) if split_rows else []
    discard(split_rows)
    words = siphash_words(np.arange(people, total), key.read(0, 2))
    nobody = np.full(len(words), NO_ROW, np.int32)
    path = folder.new_path("shuffled-counterfeits")
    last = shuffled_rows(path, words, bits, public[invented.group], invented.sensitive, nobody)
    return (*shuffled, last), bits


def _ordered(
    engine: Engine,
    ranges: Sequence[RowRange],
    shuffled: tuple[Pieces, ...],
    bits: int,
    group: Column,
    sensitive: Column,
) -> tuple[Pieces, ...]:
    """Write the public rows, and return the row of each person, by range."""
    sizes = np.diff([one.starts for one in shuffled], axis=1).sum(axis=0)
    rows_in_range = ranges[0].stop or 1
    tasks = [
        StretchTask(
            stretch,
            first,
            shuffled,
            bits,
            group,
            sensitive,
            rows_in_range,
            len(ranges),
            engine.folder.new_path("ordered"),
        )
        for stretch, first in enumerate(_before(sizes.tolist()))
    ]
    ordered = engine.run(order_stretch, tasks, sizes.tolist())
    discard(shuffled)
    return tuple(ordered)


def _traced(
    engine: Engine,
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    published: tuple[int, ...],
    ordered: tuple[Pieces, ...],
) -> Trace:
    people, folder = sum(published), engine.folder
    row = folder.created("traced-row", np.int32, (people,))
    traced = None if people == snapshot.persons.rows else folder.created("traced", np.int64, (people,))
    tasks = [
        TraceTask(one, ordered, first, snapshot.persons, traced, row)
        for one, first in zip(ranges, _before(published), strict=True)
    ]
    engine.run(trace_range, tasks, [one.size for one in ranges])
    discard(ordered)
    return Trace((traced or snapshot.persons).mapped(), row.mapped())


def _ordered_boxes(engine: Engine, built: BoxColumns, number: Column, groups: int) -> Boxes:
    """The boxes in the order of their public numbers."""
    shown, tasks = [], []
    for name in ("low", "high", "missing"):
        column: Column = getattr(built, name)
        attributes = column.shape[0]
        shown.append(engine.folder.created(f"public-{name}", column.dtype, (attributes, groups)))
        tasks += [BoxTask(attribute, column, number, shown[-1]) for attribute in range(attributes)]
    engine.run(order_boxes, tasks, [groups] * len(tasks))
    low, high, missing = (column.mapped() for column in shown)
    return Boxes(low, high, missing)


def _before(counts: Sequence[int]) -> list[int]:
    """The sum of the counts before each."""
    return [0, *np.cumsum(counts).tolist()][:-1]
