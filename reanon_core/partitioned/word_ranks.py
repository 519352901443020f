"""The words at given ranks of several lists, without a list in memory.

A histogram of the leading bits says in which cell a rank lies, and only the words of such cells are ordered.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.engine.column_folder import Column
from reanon_core.engine.engine import Engine
from reanon_core.kernels.siphash import siphash_words
from reanon_core.model.arrays import Int32, Int64, UInt64
from reanon_core.partitioned.row_ranges import PoolColumns, RowRange

HISTOGRAM_CELLS = 1 << 18
"""The cells of all lists together: few enough that the histograms of all ranges fit into memory."""
MOST_BITS = 16


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Where the stretches of each list begin: list i has those from `begin[i]` to before `begin[i + 1]`.

    An entry is behind a threshold if its word is greater, or the same and its row not less.
    """

    begin: Int64  # [lists + 1]
    word: UInt64
    row: Int64


@dataclass(frozen=True)
class WordTask:
    """The words of one range of rows."""

    rows: RowRange
    persons: Column
    key: Column
    slot: Column
    pool: PoolColumns
    list_of_pool: Int32  # [regions * values] the list of the new rows of a region and value, -1 if none
    list_of_slot: Int32  # [slots] the list of an old row in the slot, -1 if none
    lists: int
    bits: int
    cells: Int64 | None = None
    """The cells whose words are wanted, ascending; None: count the words of every cell."""


def words_at_ranks(
    engine: Engine,
    ranges: Sequence[RowRange],
    task: Callable[[RowRange], WordTask],
    ranks: Mapping[int, Sequence[int]],
    lists: int,
) -> Thresholds:
    """The thresholds that begin at these ranks of each list, ascending; the rank of a word counts those before it.

    A rank behind the last word is beyond all words.
    """
    bits = 0
    while bits < MOST_BITS and lists << (bits + 1) <= HISTOGRAM_CELLS:
        bits += 1
    sizes = [rows.size for rows in ranges]
    tasks = [replace(task(rows), lists=lists, bits=bits) for rows in ranges]
    counts = np.zeros(lists << bits, np.int64)
    for of_range in engine.run(count_words, tasks, sizes):
        counts += of_range
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    asked = [(number, rank) for number in range(lists) for rank in ranks.get(number, ())]
    begin = np.concatenate([[0], np.cumsum([len(ranks.get(number, ())) for number in range(lists)])]).astype(np.int64)
    target = np.array([before[number << bits] + rank for number, rank in asked], np.int64)
    cell = np.searchsorted(before, target, side="right") - 1
    inside = np.array([target[i] < before[(asked[i][0] + 1) << bits] for i in range(len(asked))], np.bool_)
    wanted = np.unique(cell[inside])
    word = np.full(len(asked), np.iinfo(np.uint64).max, np.uint64)
    row = np.full(len(asked), np.iinfo(np.int64).max, np.int64)
    if len(wanted):
        found = engine.run(collect_words, [replace(one, cells=wanted) for one in tasks], sizes)
        cells, words, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.lexsort((rows, words, cells))
        first = cells[order].searchsorted(cell[inside])
        at = order[first + target[inside] - before[cell[inside]]]
        word[inside], row[inside] = words[at], rows[at]
    return Thresholds(begin, word, row)


def count_words(task: WordTask) -> Int64:
    """How many words of the range lie in each cell."""
    cell, _ = _cells(task)
    return np.bincount(cell[cell >= 0], minlength=task.lists << task.bits).astype(np.int64)


def collect_words(task: WordTask) -> tuple[Int64, UInt64, Int64]:
    """The cell, the word and the row of each word of the range that is in one of the cells that are wanted."""
    cell, words = _cells(task)
    wanted = np.asarray(task.cells)
    kept = np.flatnonzero(wanted[np.minimum(wanted.searchsorted(cell), len(wanted) - 1)] == cell)
    return cell[kept], words[kept], kept + task.rows.start


def _cells(task: WordTask) -> tuple[Int64, UInt64]:
    """The cell of each row, -1 for those in no list, and its word."""
    rows = task.rows
    words = siphash_words(task.persons.read(rows.start, rows.stop), task.key.read(0, 2))
    slot, pool = task.slot.read(rows.start, rows.stop), task.pool.read(rows.start, rows.stop)
    return _cells_of(words, slot, pool, task.list_of_pool, task.list_of_slot, task.bits), words


@compiled
def _cells_of(words: UInt64, slot: Int32, pool: Int32, list_of_pool: Int32, list_of_slot: Int32, bits: int) -> Int64:
    cells = np.empty(len(words), dtype=np.int64)
    for row in range(len(words)):
        number = -1
        if slot[row] >= 0:
            number = list_of_slot[slot[row]]
        elif slot[row] == -1:
            number = list_of_pool[pool[row]]
        cells[row] = -1
        if number >= 0:
            cells[row] = number << bits
            if bits > 0:
                cells[row] += np.int64(words[row] >> np.uint64(64 - bits))
    return cells
