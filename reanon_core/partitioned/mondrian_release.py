"""One release of Mondrian in tasks: the first cuts on counts, the others inside parts that fit into memory.

Paper: [LDR06] Section 4.
"""

from dataclasses import dataclass

import numpy as np

from reanon_core.engine.column_folder import Column
from reanon_core.engine.engine import Engine
from reanon_core.engine.pieces import Pieces, discard, read_pieces, write_pieces
from reanon_core.kernels.mondrian_criterion import Criterion
from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.partitioned.cut_tasks import LeafTask, SurveyTask, send_range, survey_range
from reanon_core.partitioned.first_cuts import CutTable, first_cuts
from reanon_core.partitioned.partitioned_release import PartitionedRelease
from reanon_core.partitioned.public_rows import SplitRelease, emit_in_parts
from reanon_core.partitioned.row_ranges import RowRange, SnapshotColumns, row_ranges, snapshot_columns
from reanon_core.partitioned.split_tasks import BoxColumns, SplitRows
from reanon_core.recoding.attribute_scales import Extremes, merged_extremes
from reanon_core.recoding.boxes import cover_rows
from reanon_core.recoding.mondrian import (
    HEURISTICS,
    NO_RECORD,
    CutOptions,
    Table,
    attributes_of,
    cut_table,
    cut_test,
)


@dataclass(frozen=True, eq=False)
class SurveyedRows:
    """A table in ranges, and what all of it has."""

    snapshot: SnapshotColumns
    ranges: list[RowRange]
    values: Int64  # [values] how often each sensitive value occurs
    codes: tuple[Int32, ...]
    """The codes that occur on each attribute, ascending."""
    extremes: Extremes


@dataclass(frozen=True)
class ClassTask:
    """Cut the rows of one leaf into classes."""

    part: int
    rows: int
    staged: tuple[Pieces, ...]
    schema: Schema
    extent: Int64
    criterion: Criterion
    options: CutOptions
    is_cut_up: bool
    """Whether the first cuts have ended here because no further cut holds."""
    first_group: int
    boxes: BoxColumns
    rows_in_range: int
    ranges: int
    path: str
    counterfeit_path: str


def survey_rows(snapshot: Snapshot, engine: Engine) -> SurveyedRows:
    """Put a table into ranges, and survey it."""
    columns = snapshot_columns(snapshot, engine.folder)
    ranges = row_ranges(snapshot.persons, np.empty(0, np.int64), engine.chunk_rows)
    found = engine.run(survey_range, [SurveyTask(one, columns) for one in ranges], [one.size for one in ranges])
    codes = []
    for attribute in range(len(snapshot.schema.quasi_identifiers)):
        occurring = np.unique(np.concatenate([one.codes[attribute] for one in found]))
        codes.append(occurring[occurring != MISSING].astype(np.int32))
    values: Int64 = np.sum([one.values for one in found], axis=0)
    merged = merged_extremes((one.extremes for one in found), snapshot.schema)
    return SurveyedRows(columns, ranges, values, tuple(codes), merged)


def cut_in_parts(
    surveyed: SurveyedRows,
    criterion: Criterion,
    options: CutOptions,
    extent: Int64,
    rng: np.random.Generator,
    engine: Engine,
) -> PartitionedRelease:
    """The release of a table that satisfies the criterion as a whole, with the cuts of the kernel.

    Requires: strict cuts that are tested on both sides, or guaranteed by counts.
    """
    snapshot, ranges, folder = surveyed.snapshot, surveyed.ranges, engine.folder
    rows, schema = snapshot.persons.rows, snapshot.schema
    attributes = attributes_of([codes.astype(np.int64) for codes in surveyed.codes], schema, extent)
    table = CutTable(surveyed.codes, attributes, criterion, HEURISTICS[options.heuristic], cut_test(options))
    tree, sizes = first_cuts(engine, ranges, snapshot, table, rows)
    leaves = tree.leaves()
    part_of_node = np.full(len(tree.attribute), -1, np.int32)
    part_of_node[leaves] = np.arange(len(leaves), dtype=np.int32)
    row_sizes = [one.size for one in ranges]
    send = [LeafTask(one, snapshot, tree, part_of_node, len(leaves), folder.new_path("staged")) for one in ranges]
    staged = tuple(engine.run(send_range, send, row_sizes))
    most = [sizes[leaf] // criterion.k for leaf in leaves]  # the classes of a leaf are at most so many
    groups = sum(most)
    boxes = _box_columns(engine, len(schema.quasi_identifiers), groups)
    tasks = [
        ClassTask(
            part=part,
            rows=sizes[leaf],
            staged=staged,
            schema=schema,
            extent=extent,
            criterion=criterion,
            options=options,
            is_cut_up=sizes[leaf] > engine.chunk_rows,
            first_group=sum(most[:part]),
            boxes=boxes,
            rows_in_range=ranges[0].stop or 1,
            ranges=len(ranges),
            path=folder.new_path("split"),
            counterfeit_path=folder.new_path("counterfeits"),
        )
        for part, leaf in enumerate(leaves)
        if sizes[leaf]
    ]
    found = engine.run(cut_leaf, tasks, [task.rows for task in tasks])
    discard(staged)
    split = SplitRelease(
        rows=tuple(found),
        boxes=boxes,
        value_of_place=np.empty(0, np.int32),
        published=tuple(row_sizes),
    )
    release, auxiliary, trace = emit_in_parts(engine, ranges, snapshot, split, rng)
    return PartitionedRelease(
        release=release,
        auxiliary=auxiliary,
        trace=trace,
        withheld={},
        extent=extent,
        extremes=surveyed.extremes,
    )


def cut_leaf(task: ClassTask) -> SplitRows:
    """Write the boxes of the classes of a leaf, and the class of each of its rows."""
    fields = read_pieces(task.staged, task.part)
    row, sensitive = fields.pop("row"), fields.pop("sensitive")
    qi = np.stack([fields.pop(f"q{number}") for number in range(len(task.schema.quasi_identifiers))])
    classes, group = 1, np.zeros(len(row), np.int32)
    if not task.is_cut_up:
        group, classes, _ = cut_table(
            Table(qi, sensitive, task.schema, task.extent), task.criterion, task.options, NO_RECORD
        )
    boxes = cover_rows(qi, group, classes, task.schema)
    task.boxes.low.write(task.first_group, boxes.low)
    task.boxes.high.write(task.first_group, boxes.high)
    task.boxes.missing.write(task.first_group, boxes.missing)
    task.boxes.populated.write(task.first_group, np.ones(classes, np.bool_))
    rows = {"row": row, "group": group + np.int32(task.first_group)}
    nobody = {name: np.empty(0, np.int32) for name in ("place", "position", "group")}
    return SplitRows(
        write_pieces(task.path, row // np.int32(task.rows_in_range), task.ranges, rows),
        write_pieces(task.counterfeit_path, np.empty(0, np.int32), 1, nobody),
    )


def _box_columns(engine: Engine, attributes: int, groups: int) -> BoxColumns:
    def sides(name: str, dtype: type) -> Column:
        return engine.folder.created(name, dtype, (attributes, groups))

    populated = engine.folder.created("populated", np.bool_, (groups,))
    return BoxColumns(sides("low", np.int32), sides("high", np.int32), sides("missing", np.int8), populated)
