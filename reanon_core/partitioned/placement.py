"""Where every row goes: thresholds of keyed words instead of an order of all rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from reanon_core.bucketing.count_plan import CountPlan
from reanon_core.bucketing.signatures import Signatures
from reanon_core.engine.column_folder import Column
from reanon_core.engine.engine import Engine
from reanon_core.model.arrays import Int32, Int64
from reanon_core.partitioned.division_tasks import DivisionColumns
from reanon_core.partitioned.row_ranges import RowRange, SnapshotColumns
from reanon_core.partitioned.word_ranks import Thresholds, WordTask, words_at_ranks

NOWHERE = -1
"""The slot of a row that is withheld."""


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of the random words, on disk because they are secret."""

    order: Column
    """Of the words that order the rows of a slot."""
    allocation: Column
    """Of the words by which new rows get their slots."""
    surplus: Column | None
    """Of the words that say which old rows are withheld; None if none are."""


@dataclass(frozen=True, eq=False)
class Placement:
    """The slot of every row, as a function of its value or its present slot and of its words."""

    new: Thresholds
    """The stretches of the new rows of each value."""
    target: Int32  # [stretches] the slot of each stretch, one more for each value than it has thresholds; or NOWHERE
    surplus: Thresholds | None
    """For each slot with a surplus where the rows that stay begin."""
    list_of_slot: Int32  # [slots] the list of `surplus`, -1 without a surplus
    place: Int32  # [slots] the place of each slot in the layout
    signature: Int32  # [slots] the signature of each slot


def placement(
    engine: Engine,
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    divided: DivisionColumns,
    keys: Keys,
    plan: CountPlan,
    withheld: Int64,
    slot_at: Int32,
) -> Placement:
    """The placement that the plan over counts asks for; `slot_at` [slots] are the slots in the order of the layout."""
    values, slots = len(withheld), len(slot_at)
    place = np.empty(slots, dtype=np.int32)
    place[slot_at] = np.arange(slots, dtype=np.int32)
    task = partial(_word_task, snapshot, divided)
    every, none = np.arange(values, dtype=np.int32), np.full(slots, -1, np.int32)
    ranks, target = new_stretches(plan, withheld, slot_at)
    new = words_at_ranks(engine, ranges, partial(task, keys.allocation, every, none), ranks, values)
    surplus, list_of_slot = None, none
    if keys.surplus is not None:
        over = np.flatnonzero(plan.surplus)
        list_of_slot = none.copy()
        list_of_slot[over] = np.arange(len(over), dtype=np.int32)
        stay = {number: [int(plan.surplus[slot])] for number, slot in enumerate(over)}
        no_value = np.full(values, -1, np.int32)
        make = partial(task, keys.surplus, no_value, list_of_slot)
        surplus = words_at_ranks(engine, ranges, make, stay, len(over))
    return Placement(new, target, surplus, list_of_slot, place, signature_of_slot(plan.signatures))


def new_stretches(plan: CountPlan, withheld: Int64, slot_at: Int32) -> tuple[dict[int, list[int]], Int32]:
    """For each value the ranks at which its next stretch of new rows begins, and the slot of every stretch.

    The first new rows of a value are those that are withheld. Then its slots are filled in the order of the layout.
    """
    taken, values = plan.taken.sum(axis=0), plan.signatures.values
    stretches: list[list[tuple[int, int]]] = [[(NOWHERE, int(count))] for count in withheld.tolist()]
    for slot in slot_at.tolist():
        if taken[slot]:
            stretches[values[slot]].append((slot, int(taken[slot])))
    ranks = {value: np.cumsum([count for _, count in own])[:-1].tolist() for value, own in enumerate(stretches)}
    target = [slot for own in stretches for slot, _ in own]
    return ranks, np.array(target, dtype=np.int32)


def signature_of_slot(signatures: Signatures) -> Int32:
    """The signature of each slot."""
    return np.repeat(np.arange(signatures.count, dtype=np.int32), np.diff(signatures.offsets))


def _word_task(
    snapshot: SnapshotColumns,
    divided: DivisionColumns,
    key: Column,
    list_of_value: Int32,
    list_of_slot: Int32,
    rows: RowRange,
) -> WordTask:
    return WordTask(
        rows, snapshot.persons, key, divided.slot, snapshot.sensitive, list_of_value, list_of_slot, lists=0, bits=0
    )
