"""The second step: move rows to the slots that the plan over counts has given them."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.signatures import Signatures
from reanon_core.kernels.counting import counting_order, starts_of
from reanon_core.kernels.siphash import keyed_permutation
from reanon_core.model.arrays import Int32, Int64, UInt64

COUNTERFEIT = -1
"""The row of an entry that is a counterfeit."""


@dataclass(frozen=True, eq=False)
class Layout:
    """All rows and counterfeits of a release, slot by slot, within a slot in keyed random order."""

    row: Int32  # [e] row of the snapshot, or COUNTERFEIT
    slot: Int32  # [e] ascending
    starts: Int64  # [slots + 1] first entry of each slot


def lay_out(
    *,
    signatures: Signatures,
    old_slot: Int32,
    sensitive: Int32,
    withheld: Int64,
    taken: Int64,
    pads: Int64,
    counterfeits: Int64,
    order: UInt64,
    rng: np.random.Generator,
) -> Layout:
    """Give every new row of a value the next free place among the slots of that value, and lay all entries out.

    `old_slot` [n] is the slot of an old row, -1 for a new one; `withheld`, `pads` [values] are counts among the new
    rows; `taken`, `counterfeits` [slots] are the plan; `order` [n] is the keyed random column.
    """
    values = len(pads)
    in_order = np.argsort(order).astype(np.int32)
    is_new = old_slot[in_order] < 0
    new = _without_withheld(in_order[is_new], sensitive, withheld, values)
    pool = _with_pads(new, sensitive, pads, values, rng)
    slot_by_value = counting_order(signatures.values, values)
    target = np.repeat(slot_by_value, taken[slot_by_value])
    slot_of_row = old_slot.copy()
    real = pool >= 0
    slot_of_row[pool[real]] = target[real]
    placed = in_order[slot_of_row[in_order] >= 0]
    fakes = np.concatenate([target[~real], np.repeat(np.arange(len(counterfeits)), counterfeits)]).astype(np.int32)
    row = np.concatenate([placed, np.full(len(fakes), COUNTERFEIT, np.int32)])
    slot = np.concatenate([slot_of_row[placed], fakes])
    by_slot = counting_order(slot, len(signatures.values))
    return Layout(row[by_slot], slot[by_slot], starts_of(slot, len(signatures.values)))


def _without_withheld(new: Int32, sensitive: Int32, withheld: Int64, values: int) -> Int32:
    """The new rows by value, each value's in keyed order, without the first so many that are withheld."""
    grouped = new[counting_order(sensitive[new], values)]
    starts = starts_of(sensitive[new], values)
    if not withheld.any():
        return grouped
    place = np.arange(len(grouped)) - np.repeat(starts[:-1], np.diff(starts))
    return grouped[place >= np.repeat(withheld, np.diff(starts))]


def _with_pads(new: Int32, sensitive: Int32, pads: Int64, values: int, rng: np.random.Generator) -> Int32:
    """The new rows by value, with padding counterfeits at random places among the rows of their value."""
    if not pads.any():
        return new
    fakes = int(pads.sum())
    row = np.concatenate([new, np.full(fakes, COUNTERFEIT, np.int32)])
    value = np.concatenate([sensitive[new], np.repeat(np.arange(values, dtype=np.int32), pads)])
    shuffled = keyed_permutation(len(row), rng)
    return row[shuffled[counting_order(value[shuffled], values)]]
