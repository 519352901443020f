"""The counts of one world: what phases 1 to 3 see if some people had other values."""

from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.bucket_history import BucketHistory
from reanon_core.bucketing.bucket_rows import DISPLACED_ROW
from reanon_core.bucketing.signatures import Signature
from reanon_core.model.arrays import Int64


class WorldCounts(NamedTuple):
    """What phases 1 to 3 see of a world, release by release; slots are those of the history's signatures."""

    old: Int64  # [t, slots] old rows, without displaced ones
    surplus: Int64  # [t, slots] those of them that were withheld
    new: Int64  # [t, slots] new rows, where they were published
    withheld: Int64  # [t, values] new rows that were withheld
    displaced: tuple[tuple["Displaced", ...], ...]  # [t] in ascending order of person


class Displaced(NamedTuple):
    """A person whose value is in none of their signatures."""

    row: int  # of the rows that the history keeps
    had: Signature
    value: int
    bucket: int  # the number of the signature that they were published with, or NOWHERE


def true_counts(history: BucketHistory) -> WorldCounts:
    """The counts of the world as it is."""
    rows, counts = history.rows, history.counts
    displaced: list[list[Displaced]] = [[] for _ in history.values]
    for row in np.flatnonzero(rows.kind == DISPLACED_ROW).tolist():
        had = history.had[int(rows.time[row]), int(rows.person[row])]
        displaced[rows.time[row]].append(Displaced(row, had, int(rows.value[row]), int(rows.bucket[row])))
    listed = tuple(tuple(of_release) for of_release in displaced)
    return WorldCounts(counts.old, counts.surplus, counts.new, counts.withheld, listed)
