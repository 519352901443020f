"""Which entries of the slots' lists are counterfeits, before any row has its slot."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.count_plan import CountPlan
from reanon_core.bucketing.layout import pad_places
from reanon_core.model.arrays import Bool, Int32, Int64


@dataclass(frozen=True, eq=False)
class ListCounterfeits:
    """How many counterfeits each list has, in the order of the layout, and where padding ones are."""

    number: Int64  # [places] all of a list; they are its last entries, except those that follow
    place: Int32  # [p] ascending: the list of each counterfeit that is among the rows
    position: Int32  # [p] its position in the list

    def of_places(self, first: int, end: int) -> "ListCounterfeits":
        """Those of some places, which are numbered from 0."""
        begin, stop = self.place.searchsorted([first, end])
        own = slice(int(begin), int(stop))
        return ListCounterfeits(self.number[first:end], self.place[own] - np.int32(first), self.position[own])

    def marks(self, entries: Int64) -> Bool:
        """Which entries of the lists are counterfeits, list by list; `entries` [places] says how many a list has."""
        ends = np.cumsum(entries)
        among = np.bincount(self.place, minlength=len(entries))
        last = self.number - among
        marked = np.zeros(int(entries.sum()), np.bool_)
        marked[(ends - entries)[self.place] + self.position] = True
        marked[np.repeat(ends - last, last) + _counted(last)] = True
        return marked


def list_counterfeits(
    plan: CountPlan,
    pads: Int64,
    new_rows: Int64,
    slot_at: Int32,
    rng: np.random.Generator,
    *,
    all_new: bool,
) -> tuple[ListCounterfeits, Int64]:
    """The counterfeits of each list, and how many of the new entries of each slot [slots] are padding.

    `pads` and `new_rows` [values] are counts, `slot_at` [slots] the slots in the order of the layout. Where all rows
    are new, padding stays where it is drawn among them; otherwise the order of the rows is another, and it comes last.
    """
    planned = plan.counterfeits[slot_at]
    nowhere = np.empty(0, np.int32)
    padded = np.zeros(len(slot_at), np.int64)
    if not pads.any():
        return ListCounterfeits(planned, nowhere, nowhere), padded
    drawn, value_at = pad_places(pads, new_rows, rng), plan.signatures.values[slot_at]
    taken = plan.taken.sum(axis=0)[slot_at]
    places, positions, begin = [nowhere], [nowhere], 0
    for value in np.flatnonzero(pads).tolist():
        own = np.flatnonzero(value_at == value)
        ends = np.cumsum(taken[own])
        of_value = drawn[begin : begin + int(pads[value])]
        begin += int(pads[value])
        filled = ends.searchsorted(of_value, side="right")
        places.append(own[filled].astype(np.int32))
        positions.append((of_value - (ends - taken[own])[filled]).astype(np.int32))
    place, position = np.concatenate(places), np.concatenate(positions)
    in_lists = np.bincount(place, minlength=len(slot_at))
    padded[slot_at] = in_lists
    if not all_new:
        return ListCounterfeits(planned + in_lists, nowhere, nowhere), padded
    order = np.lexsort((position, place))
    return ListCounterfeits(planned + in_lists, place[order], position[order]), padded


def _counted(counts: Int64) -> Int64:
    """0, 1, … for each count."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
