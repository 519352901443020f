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
from reanon_core.partitioned.row_ranges import PoolColumns, RowRange
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
    """The stretches of the new rows of each pool."""
    target: Int32  # [stretches] the slot of each stretch, one more for each pool than it has thresholds; or NOWHERE
    surplus: Thresholds | None
    """For each slot with a surplus where the rows that stay begin."""
    list_of_slot: Int32  # [slots] the list of `surplus`, -1 without a surplus
    place: Int32  # [slots] the place of each slot in the layout
    signature: Int32  # [slots] the signature of each slot


def placement(
    engine: Engine,
    ranges: Sequence[RowRange],
    persons: Column,
    pool: PoolColumns,
    slot: Column,
    keys: Keys,
    plan: CountPlan,
    withheld: Int64,
    slot_at: Int32,
) -> Placement:
    """The placement that the plan over counts asks for; `slot_at` [slots] are the slots in the order of the layout."""
    pools, slots = len(plan.taken) * len(withheld), len(slot_at)
    place = np.empty(slots, dtype=np.int32)
    place[slot_at] = np.arange(slots, dtype=np.int32)
    task = partial(_word_task, persons, pool, slot)
    every, none = np.arange(pools, dtype=np.int32), np.full(slots, -1, np.int32)
    ranks, target = new_stretches(plan, withheld, slot_at)
    new = words_at_ranks(engine, ranges, partial(task, keys.allocation, every, none), ranks, pools)
    surplus, list_of_slot = None, none
    if keys.surplus is not None:
        over = np.flatnonzero(plan.surplus)
        list_of_slot = none.copy()
        list_of_slot[over] = np.arange(len(over), dtype=np.int32)
        stay = {number: [int(plan.surplus[slot])] for number, slot in enumerate(over)}
        no_pool = np.full(pools, -1, np.int32)
        make = partial(task, keys.surplus, no_pool, list_of_slot)
        surplus = words_at_ranks(engine, ranges, make, stay, len(over))
    return Placement(new, target, surplus, list_of_slot, place, signature_of_slot(plan.signatures))


def new_stretches(plan: CountPlan, withheld: Int64, slot_at: Int32) -> tuple[dict[int, list[int]], Int32]:
    """For each pool the ranks at which its next stretch of new rows begins, and the slot of every stretch.

    The first new rows of a value are those that are withheld. Then its slots are filled in the order of the layout; in
    several regions, where none are withheld, in the order of the signatures.
    """
    values, regions = len(withheld), len(plan.taken)
    stretches: list[list[tuple[int, int]]] = [[(NOWHERE, int(count))] for count in withheld.tolist() * regions]
    in_order = slot_at if regions == 1 else np.arange(len(slot_at), dtype=np.int32)
    for region, taken in enumerate(plan.taken):
        for slot in in_order[taken[in_order] > 0].tolist():
            stretches[region * values + plan.signatures.values[slot]].append((slot, int(taken[slot])))
    ranks = {pool: np.cumsum([count for _, count in own])[:-1].tolist() for pool, own in enumerate(stretches)}
    target = [slot for own in stretches for slot, _ in own]
    return ranks, np.array(target, dtype=np.int32)


def signature_of_slot(signatures: Signatures) -> Int32:
    """The signature of each slot."""
    return np.repeat(np.arange(signatures.count, dtype=np.int32), np.diff(signatures.offsets))


def _word_task(
    persons: Column,
    pool: PoolColumns,
    slot: Column,
    key: Column,
    list_of_pool: Int32,
    list_of_slot: Int32,
    rows: RowRange,
) -> WordTask:
    return WordTask(rows, persons, key, slot, pool, list_of_pool, list_of_slot, lists=0, bits=0)
