"""Phase 4 in tasks: cut lists that are too long, split buckets, and bound the groups.

Paper: [XT07] Section 4.3.
"""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.bucket_split import parts_of_list, split_entries, varying
from reanon_core.bucketing.layout import COUNTERFEIT
from reanon_core.engine.column_folder import Column
from reanon_core.engine.pieces import Pieces, read_pieces, write_pieces
from reanon_core.kernels.orders import counting_order, starts_of, uniform_order
from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.schema import Schema
from reanon_core.partitioned.list_counterfeits import ListCounterfeits
from reanon_core.partitioned.split_parts import SplitPart
from reanon_core.recoding.boxes import cover_rows


@dataclass(frozen=True, eq=False)
class Lengths:
    """How lengths on the attributes compare."""

    low: Int64  # [d]
    scales: Int64  # [d]


@dataclass(frozen=True)
class CutTask:
    """Cut one list of a bucket that is too large."""

    waiting: int
    staged: tuple[Pieces, ...]
    lists: int
    entries: int
    counterfeits: ListCounterfeits
    """Those of this list alone."""
    parts: int
    lengths: Lengths
    path: str


@dataclass(frozen=True)
class BoxColumns:
    """The boxes of all groups, as they were built."""

    low: Column  # [d, groups]
    high: Column
    missing: Column
    populated: Column  # [groups] whether the group has a real member


@dataclass(frozen=True)
class SplitTask:
    """Split one part."""

    part: SplitPart
    staged: tuple[Pieces, ...]
    """The files that its rows are in; part `waiting` of each, or part `cut` if its lists are cut."""
    lists: Int64  # [buckets] the number of lists of each bucket
    entries: Int64  # [places] how many entries each slot has in this part
    counterfeits: ListCounterfeits
    """Which of them are counterfeits; not used if lists are cut."""
    schema: Schema
    lengths: Lengths
    boxes: BoxColumns
    rows_in_range: int
    ranges: int
    path: str
    counterfeit_path: str


@dataclass(frozen=True)
class SplitRows:
    """The group of every row of a part, for the task of its range; and its counterfeits."""

    pieces: Pieces
    counterfeits: Pieces


def cut_list(task: CutTask) -> Pieces:
    """Write the entries of a list by the part of the bucket that they belong to, counterfeits among them."""
    rows = read_pieces(task.staged, task.waiting)
    order = uniform_order(rows["word"])
    listed = {name: values[order] for name, values in rows.items() if name not in {"word", "place"}}
    where = np.flatnonzero(~task.counterfeits.marks(np.array([task.entries])))
    row = np.full(task.entries, COUNTERFEIT, np.int32)
    row[where] = listed.pop("row")
    codes = np.full((len(listed), task.entries), MISSING, np.int32)
    for number in range(len(listed)):
        codes[number, where] = listed[f"q{number}"]
    part = parts_of_list(codes[varying(task.lengths.scales)], task.lists)
    position = np.arange(len(row), dtype=np.int32)
    fields = {"row": row, "position": position, **{f"q{number}": one for number, one in enumerate(codes)}}
    return write_pieces(task.path, part, task.parts, fields)


def split_part(task: SplitTask) -> SplitRows:
    """Write the boxes of the groups of a part, the group of each of its rows, and its counterfeits."""
    part = task.part
    row, codes, place, position = _cut_entries(task) if part.cut is not None else _whole_entries(task)
    list_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(task.entries)])
    bucket_start = list_start[np.concatenate([[0], np.cumsum(task.lists)])]
    local = np.where(row == COUNTERFEIT, COUNTERFEIT, np.arange(len(row))).astype(np.int32)
    group = split_entries(codes, local, list_start, bucket_start, task.lists, task.lengths.low, task.lengths.scales)
    real = row != COUNTERFEIT
    boxes = cover_rows(codes, np.where(real, group, -1).astype(np.int32), part.groups, task.schema)
    populated = np.bincount(group[real], minlength=part.groups) > 0
    task.boxes.low.write(part.first_group, boxes.low)
    task.boxes.high.write(part.first_group, boxes.high)
    task.boxes.missing.write(part.first_group, boxes.missing)
    task.boxes.populated.write(part.first_group, populated)
    numbered = group + np.int32(part.first_group)
    rows = {"row": row[real], "group": numbered[real]}
    invented = ~real & populated[group]
    counterfeits = {"place": place[invented], "position": position[invented], "group": numbered[invented]}
    return SplitRows(
        write_pieces(task.path, row[real] // np.int32(task.rows_in_range), task.ranges, rows),
        write_pieces(task.counterfeit_path, np.zeros(int(invented.sum()), np.int32), 1, counterfeits),
    )


def _whole_entries(task: SplitTask) -> tuple[Int32, Int32, Int32, Int32]:
    """The row, the codes, the place and the position in its list of each entry of whole buckets, list by list."""
    rows = read_pieces(task.staged, task.part.waiting[0])
    place = rows.pop("place").astype(np.int32) - np.int32(task.part.first_place)
    order = uniform_order(rows.pop("word"))
    order = order[counting_order(place[order], len(task.entries))]
    rows = {name: values[order] for name, values in rows.items()}
    real = task.entries - task.counterfeits.number
    if (starts_of(place, len(real)) != np.concatenate([[0], np.cumsum(real)])).any():
        raise AssertionError("the staged rows of a slot are as many as planned")
    where = np.flatnonzero(~task.counterfeits.marks(task.entries))
    row = np.full(int(task.entries.sum()), COUNTERFEIT, np.int32)
    row[where] = rows.pop("row")
    codes = np.zeros((len(rows), len(row)), np.int32)
    for number in range(len(rows)):
        codes[number, where] = rows.pop(f"q{number}")
    listed = np.repeat(np.arange(task.part.first_place, task.part.end_place, dtype=np.int32), task.entries)
    return row, codes, listed, _positions(task.entries).astype(np.int32)


def _cut_entries(task: SplitTask) -> tuple[Int32, Int32, Int32, Int32]:
    """The same for a part of one bucket."""
    lists = [read_pieces((pieces,), task.part.cut or 0) for pieces in task.staged]
    joined = {name: np.concatenate([one[name] for one in lists]) for name in lists[0]}
    place = np.repeat(np.arange(task.part.first_place, task.part.end_place, dtype=np.int32), task.entries)
    row, position = joined.pop("row"), joined.pop("position")
    codes = np.stack([joined[f"q{number}"] for number in range(len(joined))])
    return row.astype(np.int32), codes.astype(np.int32), place, position.astype(np.int32)


def _positions(sizes: Int64) -> Int64:
    """The position of each entry in its list, for lists of these sizes."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
