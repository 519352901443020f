"""Layout: rows move to the slots that the plan over counts provides for."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.orders import counting_order, starts_of, uniform_order
from reanon_core.kernels.siphash import keyed_permutation
from reanon_core.model.arrays import Int32, Int64, UInt64

COUNTERFEIT = -1
"""The row of an entry that is a counterfeit."""
NEW = np.int32(-1)
STRANDED = np.int32(-2)
"""The slot of an old row that is withheld."""


@dataclass(frozen=True, eq=False)
class Layout:
    """All rows and counterfeits of a release, slot by slot, within a slot in keyed random order."""

    row: Int32  # [e] row of the snapshot, or COUNTERFEIT
    slot: Int32  # [e] ascending
    starts: Int64  # [slots + 1] first entry of each slot
    values: Int32  # [slots] the value of each slot, which phase 4 never reads

    @property
    def deepest(self) -> int:
        """The number of entries of the fullest slot."""
        return int(np.diff(self.starts).max(initial=0))


class FreeSlots(NamedTuple):
    """The slots that new rows still fill, changed in place."""

    slot: Int32  # [slots] value by value
    cursor: Int64  # [values] the position in `slot` that is being filled
    taken: Int64  # [slots] how many rows a slot still takes


class Padding(NamedTuple):
    """The counterfeits among the new rows."""

    number: Int64  # [values]
    place: Int64  # [counterfeits] their places among the new rows of their value, value by value, ascending


def lay_out(
    *,
    values: Int32,
    old_slot: Int32,
    sensitive: Int32,
    withheld: Int64,
    taken: Int64,
    pads: Int64,
    counterfeits: Int64,
    order: UInt64,
    allocation: UInt64 | None,
    rng: np.random.Generator,
) -> Layout:
    """Give every new row the next free place among the slots of its value, and list all entries slot by slot.

    `values` [slots] is the value of each slot; `old_slot` [n] is the slot of an old row, -1 for a new one; `withheld`,
    `pads` [values] are counts among the new rows; `taken`, `counterfeits` [slots] are the plan; `order` [n] is the
    keyed random column that orders the rows of a slot, and `allocation` [n] the one by which new rows get their slots;
    None takes the first for both.
    """
    new = old_slot == NEW
    new_rows = np.bincount(sensitive[new], minlength=len(pads)) - withheld
    goal = np.where(new, NEW - sensitive, old_slot)
    free = FreeSlots(
        slot=counting_order(values, len(pads)), cursor=starts_of(values, len(pads))[:-1], taken=taken.copy()
    )
    padding = Padding(pads, pad_places(pads, new_rows, rng))
    if allocation is None or new.all():
        row, slot = _placed(uniform_order(order), goal, withheld.copy(), free, padding)
    else:
        # With one column for both, the new rows of the first slots of a value would come before the old rows of their
        # slot: ties would be decided by the number of slots that a value has, and so by the value.
        newcomers = np.flatnonzero(new)
        placed, slot = _placed(uniform_order(allocation[newcomers]), goal[newcomers], withheld.copy(), free, padding)
        real = placed >= 0
        goal[newcomers] = COUNTERFEIT
        goal[newcomers[placed[real]]] = slot[real]
        row = uniform_order(order)
        row = row[goal[row] >= 0]
        pads_added = slot[~real]
        slot = np.concatenate([goal[row], pads_added])
        row = np.concatenate([row, np.full(len(pads_added), COUNTERFEIT, np.int32)])
    added = np.repeat(np.arange(len(counterfeits), dtype=np.int32), counterfeits)
    row = np.concatenate([row, np.full(len(added), COUNTERFEIT, np.int32)])
    slot = np.concatenate([slot, added])
    starts = starts_of(slot, len(values))
    slots = np.repeat(np.arange(len(values), dtype=np.int32), np.diff(starts))
    return Layout(_distributed(row, slot, starts), slots, starts, values)


def without_surplus(slot: Int32, surplus: Int64, words: UInt64) -> Int32:
    """The slot of each row, and STRANDED for the surplus of its slot: its rows with the least random words."""
    return _without_surplus(uniform_order(words), slot.copy(), surplus.copy())


@compiled
def _without_surplus(in_order: Int32, slot: Int32, surplus: Int64) -> Int32:
    for row in in_order:
        if slot[row] >= 0 and surplus[slot[row]] > 0:
            surplus[slot[row]] -= 1
            slot[row] = STRANDED
    return slot


@compiled
def _distributed(row: Int32, slot: Int32, starts: Int64) -> Int32:
    """The rows slot by slot, within a slot in the given order."""
    cursor = starts.copy()
    listed = np.empty(len(row), dtype=np.int32)
    for i in range(len(row)):
        listed[cursor[slot[i]]] = row[i]
        cursor[slot[i]] += 1
    return listed


def pad_places(pads: Int64, rows: Int64, rng: np.random.Generator) -> Int64:
    """For each value in turn, random places of its padding counterfeits among its rows, in ascending order."""
    places = [
        np.sort(keyed_permutation(int(real + counterfeits), rng)[:counterfeits])
        for counterfeits, real in zip(pads.tolist(), rows.tolist(), strict=True)
        if counterfeits
    ]
    return np.concatenate([np.empty(0, np.int64), *places]).astype(np.int64)


@compiled
def _placed(in_order: Int32, goal: Int32, withheld: Int64, free: FreeSlots, padding: Padding) -> tuple[Int32, Int32]:
    """The rows in keyed order, each with its slot: an old row's own, or the next free one of a new row's value.

    `goal` [n] is the slot of an old row, and NEW minus the value of a new one: one word for each row, because access is
    random. The first rows of a value are withheld where that is planned, and padding counterfeits take their places
    among the others. `withheld` and `free` are consumed.
    """
    pads, pad_place = padding.number, padding.place
    total = len(in_order) + len(pad_place)
    row, slot = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    at = 0
    seen = np.zeros(len(pads), dtype=np.int64)  # places of each value that are filled
    next_pad = np.zeros(len(pads) + 1, dtype=np.int64)
    for value in range(len(pads)):
        next_pad[value + 1] = next_pad[value] + pads[value]
    last_pad = next_pad[1:].copy()
    for entry in in_order:
        if goal[entry] >= 0:
            row[at], slot[at] = entry, goal[entry]
            at += 1
            continue
        value = NEW - goal[entry]
        if withheld[value] > 0:
            withheld[value] -= 1
            continue
        while next_pad[value] < last_pad[value] and pad_place[next_pad[value]] == seen[value]:
            row[at], slot[at] = COUNTERFEIT, _next_slot(free, value)
            next_pad[value] += 1
            seen[value] += 1
            at += 1
        row[at], slot[at] = entry, _next_slot(free, value)
        seen[value] += 1
        at += 1
    for value in range(len(pads)):  # counterfeits behind the last row of their value
        for _ in range(next_pad[value], last_pad[value]):
            row[at], slot[at] = COUNTERFEIT, _next_slot(free, value)
            at += 1
    return row[:at], slot[:at]


@compiled
def _next_slot(free: FreeSlots, value: int) -> int:
    """The slot of this value that takes the next row."""
    while free.taken[free.slot[free.cursor[value]]] == 0:
        free.cursor[value] += 1
    slot = free.slot[free.cursor[value]]
    free.taken[slot] -= 1
    return int(slot)
