"""The counts that the first cuts of Mondrian are decided by, in tasks over ranges of rows."""

from dataclasses import dataclass

import numpy as np

from reanon_core.engine.pieces import Pieces, write_pieces
from reanon_core.model.arrays import AnyArray, Int32, Int64
from reanon_core.partitioned.cut_tree import CutTree
from reanon_core.partitioned.row_ranges import RowRange, SnapshotColumns
from reanon_core.recoding.attribute_scales import Extremes, extremes


@dataclass(frozen=True)
class SurveyTask:
    """Survey the rows of one range."""

    rows: RowRange
    snapshot: SnapshotColumns


@dataclass(frozen=True, eq=False)
class Survey:
    """What the rows of a range have."""

    values: Int64  # [values] how often each sensitive value occurs
    codes: tuple[Int32, ...]
    """The codes that occur on each attribute, ascending, MISSING among them."""
    extremes: Extremes


@dataclass(frozen=True)
class HistogramTask:
    """Count the codes of the rows in some leaves."""

    rows: RowRange
    snapshot: SnapshotColumns
    tree: CutTree
    nodes: Int32
    """The leaves, ascending."""
    codes: tuple[Int32, ...]
    """The codes of the whole table on each attribute, ascending."""


@dataclass(frozen=True)
class SideTask:
    """Count the sensitive values on either side of one cut of each of some leaves."""

    rows: RowRange
    snapshot: SnapshotColumns
    tree: CutTree
    nodes: Int32
    attribute: Int32
    code: Int32
    values: int


@dataclass(frozen=True)
class LeafTask:
    """Send the rows of one range to their leaves."""

    rows: RowRange
    snapshot: SnapshotColumns
    tree: CutTree
    part_of_node: Int32  # [nodes]
    parts: int
    path: str


def survey_range(task: SurveyTask) -> Survey:
    """The sensitive values, the codes and the extremes of a range."""
    snapshot = task.snapshot.rows(task.rows.start, task.rows.stop)
    values = np.bincount(snapshot.sensitive, minlength=len(snapshot.schema.sensitive.values)).astype(np.int64)
    codes = tuple(np.unique(codes) for codes in snapshot.qi)
    return Survey(values, codes, extremes(snapshot.qi, snapshot.schema))


def count_codes(task: HistogramTask) -> Int64:
    """How often each code occurs in each leaf, int64[nodes, d, most codes]."""
    snapshot = task.snapshot.rows(task.rows.start, task.rows.stop)
    number = _numbers(task.tree.leaves_of(snapshot.qi), task.nodes)
    inside = np.flatnonzero(number >= 0)
    most = max(len(codes) for codes in task.codes)
    counts = np.zeros((len(task.nodes), len(task.codes), most), np.int64)
    for attribute, codes in enumerate(task.codes):
        place = codes.searchsorted(snapshot.qi[attribute, inside])
        found = np.bincount(number[inside].astype(np.int64) * most + place, minlength=len(task.nodes) * most)
        counts[:, attribute] = found.reshape(len(task.nodes), most)
    return counts


def count_sides(task: SideTask) -> Int64:
    """How often each sensitive value occurs on either side of each cut, int64[nodes, 2, values]."""
    snapshot = task.snapshot.rows(task.rows.start, task.rows.stop)
    number = _numbers(task.tree.leaves_of(snapshot.qi), task.nodes)
    inside = np.flatnonzero(number >= 0)
    number = number[inside]
    right = snapshot.qi[task.attribute[number], inside] > task.code[number]
    word = (number.astype(np.int64) * 2 + right) * task.values + snapshot.sensitive[inside]
    return np.bincount(word, minlength=len(task.nodes) * 2 * task.values).reshape(-1, 2, task.values).astype(np.int64)


def send_range(task: LeafTask) -> Pieces:
    """Write the rows of a range by the leaf that they are in."""
    rows = task.rows
    snapshot = task.snapshot.rows(rows.start, rows.stop)
    part = task.part_of_node[task.tree.leaves_of(snapshot.qi)]
    fields: dict[str, AnyArray] = {"row": np.arange(rows.start, rows.stop, dtype=np.int32)}
    fields |= {"sensitive": snapshot.sensitive}
    fields |= {f"q{number}": codes for number, codes in enumerate(snapshot.qi)}
    return write_pieces(task.path, part, task.parts, fields)


def _numbers(leaf: Int32, nodes: Int32) -> Int32:
    """The position of each row's leaf among these, -1 for rows in other leaves."""
    if not len(nodes):
        return np.full(len(leaf), -1, np.int32)
    at = np.minimum(nodes.searchsorted(leaf), len(nodes) - 1)
    return np.where(nodes[at] == leaf, at, -1).astype(np.int32)
