"""From groups to public rows in tasks: numbers, order and traces.

Paper: [XT07] Definitions 2 and 3. The order in which groups and rows were built would reveal counterfeits and buckets,
so both are shuffled.
"""

from dataclasses import dataclass

import numpy as np

from reanon_core.engine.column_folder import Column
from reanon_core.engine.pieces import Pieces, read_pieces, write_pieces
from reanon_core.kernels.orders import uniform_order
from reanon_core.kernels.siphash import siphash_words
from reanon_core.model.arrays import AnyArray, Int32, UInt64
from reanon_core.model.plan import WITHHELD
from reanon_core.partitioned.row_ranges import RowRange

NO_ROW = -1
"""The snapshot row of a counterfeit."""


@dataclass(frozen=True)
class ShuffleTask:
    """Give the people of one range their public words."""

    rows: RowRange
    split: tuple[Pieces, ...]
    """The groups of rows, by range."""
    published_before: int
    """How many people of earlier ranges are published."""
    sensitive: Column
    number: Column
    """[groups] the public number of each group."""
    key: Column
    bits: int
    """The leading bits of a word that say in which stretch of public rows it is."""
    path: str


@dataclass(frozen=True)
class StretchTask:
    """Order one stretch of public rows."""

    stretch: int
    first: int
    """The number of its first public row."""
    shuffled: tuple[Pieces, ...]
    bits: int
    group: Column
    sensitive: Column
    rows_in_range: int
    ranges: int
    path: str


@dataclass(frozen=True)
class TraceTask:
    """Trace the people of one range."""

    rows: RowRange
    ordered: tuple[Pieces, ...]
    published_before: int
    persons: Column
    traced: Column | None
    """[published] the people who are published; None if everyone is."""
    row: Column
    """[published] the public row of each."""


@dataclass(frozen=True)
class BoxTask:
    """Bring the ends of the boxes on one attribute into the order of the public numbers."""

    attribute: int
    built: Column
    number: Column
    shown: Column


def shuffle_range(task: ShuffleTask) -> Pieces:
    """Write the group and the value of each published row for the stretch of public rows that its word is in."""
    rows = task.rows
    of_range = read_pieces(task.split, rows.number)
    group = np.full(rows.size, WITHHELD, np.int32)
    group[of_range["row"] - rows.start] = of_range["group"]
    published = np.flatnonzero(group >= 0)
    built = np.arange(task.published_before, task.published_before + len(published))
    sensitive = task.sensitive.read(rows.start, rows.stop)
    number = task.number.mapped()[group[published]].astype(np.int32)
    at = (published + rows.start).astype(np.int32)
    return shuffled_rows(
        task.path, siphash_words(built, task.key.read(0, 2)), task.bits, number, sensitive[published], at
    )


def shuffled_rows(path: str, words: UInt64, bits: int, number: Int32, sensitive: Int32, row: Int32) -> Pieces:
    """Write public rows for the stretch that their words are in."""
    fields: dict[str, AnyArray] = {"word": words, "group": number, "sensitive": sensitive, "row": row}
    return write_pieces(path, stretches(words, bits), 1 << bits, fields)


def stretches(words: UInt64, bits: int) -> Int32:
    """The stretch of each word: its leading bits."""
    if not bits:
        return np.zeros(len(words), np.int32)
    return (words >> np.uint64(64 - bits)).astype(np.int32)


def order_stretch(task: StretchTask) -> Pieces:
    """Write the public rows of a stretch in the order of their words, and for each person the number of their row."""
    rows = read_pieces(task.shuffled, task.stretch)
    order = uniform_order(rows["word"] << np.uint64(task.bits))  # its leading bits are the same for all
    task.group.write(task.first, rows["group"][order])
    task.sensitive.write(task.first, rows["sensitive"][order])
    row = rows["row"][order]
    public = np.arange(task.first, task.first + len(row), dtype=np.int32)
    part = np.where(row == NO_ROW, NO_ROW, row // np.int32(task.rows_in_range)).astype(np.int32)
    return write_pieces(task.path, part, task.ranges, {"row": row, "public": public})


def trace_range(task: TraceTask) -> None:
    """Write the public row of each published person of a range."""
    rows = task.rows
    of_range = read_pieces(task.ordered, rows.number)
    public = np.full(rows.size, NO_ROW, np.int32)
    public[of_range["row"] - rows.start] = of_range["public"]
    published = np.flatnonzero(public != NO_ROW)
    task.row.write(task.published_before, public[published])
    if task.traced is not None:
        task.traced.write(task.published_before, task.persons.read(rows.start, rows.stop)[published])


def order_boxes(task: BoxTask) -> None:
    """Write one side of the boxes on one attribute in the order of the public numbers."""
    built, number = task.built.mapped()[task.attribute], task.number.mapped()
    shown = np.empty(task.shown.rows, task.shown.dtype)
    populated = number >= 0
    shown[number[populated]] = built[populated]
    task.shown.part(task.attribute).write(0, shown)
