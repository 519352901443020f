"""Between phases 3 and 4: every row gets its slot, and waits with those that are split together with it."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.layout import NEW
from reanon_core.compiled import compiled
from reanon_core.engine.column_folder import Column
from reanon_core.engine.pieces import Pieces, write_pieces
from reanon_core.kernels.siphash import siphash_words
from reanon_core.model.arrays import AnyArray, Int32, Int64, UInt64
from reanon_core.partitioned.division_tasks import DivisionColumns
from reanon_core.partitioned.placement import NOWHERE, Keys, Placement
from reanon_core.partitioned.row_ranges import PoolColumns, RowRange, SnapshotColumns
from reanon_core.partitioned.word_ranks import Thresholds


@dataclass(frozen=True)
class StagingTask:
    """Stage the rows of one range."""

    rows: RowRange
    snapshot: SnapshotColumns
    divided: DivisionColumns
    pool: PoolColumns
    keys: Keys
    placement: Placement
    part_of_place: Int32  # [slots] the part in which the rows of each place wait
    parts: int
    path: str
    signature: Column
    """[n] the signature of each row, -1 without one."""


@dataclass(frozen=True)
class StagedRange:
    """What a range has staged."""

    pieces: Pieces
    published: int
    added: int
    """Its rows that the roster gets."""


def stage_range(task: StagingTask) -> StagedRange:
    """Write each row's number, place, word and codes for the task that splits its bucket."""
    rows, placed_by = task.rows, task.placement
    snapshot = task.snapshot.rows(rows.start, rows.stop)
    slot = task.divided.slot.read(rows.start, rows.stop)
    entry = task.divided.entry.read(rows.start, rows.stop)
    order = siphash_words(snapshot.persons, task.keys.order.read(0, 2))
    allocation = order
    if task.keys.allocation != task.keys.order:
        allocation = siphash_words(snapshot.persons, task.keys.allocation.read(0, 2))
    pool = task.pool.read(rows.start, rows.stop)
    placed = _placed(slot, pool, allocation, rows.start, *_arrays(placed_by.new), placed_by.target)
    signature = _looked_up(placed_by.signature, placed)
    if task.keys.surplus is not None and placed_by.surplus is not None:
        words = siphash_words(snapshot.persons, task.keys.surplus.read(0, 2))
        withheld = _surplus(slot, words, rows.start, placed_by.list_of_slot, placed_by.surplus)
        placed[withheld] = NOWHERE
    task.signature.write(rows.start, signature)
    place = _looked_up(placed_by.place, placed)
    part = _looked_up(task.part_of_place, place)
    staged: dict[str, AnyArray] = {
        "row": np.arange(rows.start, rows.stop, dtype=np.int32),
        "place": place,
        "word": order,
    }
    staged |= {f"q{number}": codes for number, codes in enumerate(snapshot.qi)}
    return StagedRange(
        pieces=write_pieces(task.path, part, task.parts, staged),
        published=int(np.count_nonzero(place >= 0)),
        added=int(np.count_nonzero((signature >= 0) & (entry < 0))),
    )


def _looked_up(table: Int32, number: Int32) -> Int32:
    """The entry of the table for each number, -1 for negative ones."""
    found = np.full(len(number), -1, np.int32)
    there = number >= 0
    found[there] = table[number[there]]
    return found


def _arrays(thresholds: Thresholds) -> tuple[Int64, UInt64, Int64]:
    return thresholds.begin, thresholds.word, thresholds.row


def _surplus(slot: Int32, words: UInt64, first: int, list_of_slot: Int32, thresholds: Thresholds) -> Int64:
    """The rows before the threshold of their slot."""
    number = _looked_up(list_of_slot, slot)
    rows = np.flatnonzero(number >= 0)
    word, row = thresholds.word[number[rows]], thresholds.row[number[rows]]
    before = (words[rows] < word) | ((words[rows] == word) & (rows + first < row))
    withheld: Int64 = rows[before]
    return withheld


@compiled
def _placed(
    slot: Int32, pool: Int32, words: UInt64, first: int, begin: Int64, word: UInt64, row: Int64, target: Int32
) -> Int32:
    """The slot of each row: its own if it has one, or that of its stretch among the new rows of its pool.

    `begin`, `word` and `row` are the thresholds of the pools, and a pool has one stretch more than thresholds.
    """
    placed = slot.copy()
    for i in range(len(slot)):
        if slot[i] != NEW:
            continue
        own = pool[i]
        low, high = begin[own], begin[own + 1]
        while low < high:
            middle = (low + high) // 2
            if word[middle] < words[i] or (word[middle] == words[i] and row[middle] <= first + i):
                low = middle + 1
            else:
                high = middle
        placed[i] = target[low + own]
    return placed
