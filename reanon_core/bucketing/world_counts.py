"""The counts of one world: what phases 1 to 3 see if some people had other values."""

from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.bucket_history import DISPLACED_ROW, NEW_ROW, OLD_ROW, WITHHELD_ROW, BucketHistory
from reanon_core.bucketing.signatures import Signature
from reanon_core.model.arrays import Int64


class WorldCounts(NamedTuple):
    """What phases 1 to 3 see of a world, release by release; slots are those of the history's signatures."""

    old: Int64  # [t, slots] old rows, without displaced ones
    surplus: Int64  # [t, slots] those of them that were withheld
    new: Int64  # [t, cells, slots] new rows, where they were published
    withheld: Int64  # [t, values] new rows that were withheld
    displaced: tuple[tuple["Displaced", ...], ...]  # [t] in ascending order of person


class Displaced(NamedTuple):
    """A person whose value is in none of their signatures."""

    row: int  # of the history
    had: Signature
    value: int
    bucket: int  # the number of the signature that they were published with, or NOWHERE


def true_counts(history: BucketHistory) -> WorldCounts:
    """The counts of the world as it is."""
    rows, signatures = history.rows, history.signatures
    shape = (history.releases, len(signatures.values))
    slot = signatures.slots(np.maximum(rows.bucket, 0), rows.value) if signatures.count else rows.bucket
    old = np.zeros(shape, dtype=np.int64)
    new = np.zeros((history.releases, history.cells, len(signatures.values)), dtype=np.int64)
    chosen = rows.kind == OLD_ROW
    np.add.at(old, (rows.time[chosen], slot[chosen]), 1)
    surplus = np.zeros_like(old)
    chosen &= rows.group < 0
    np.add.at(surplus, (rows.time[chosen], slot[chosen]), 1)
    chosen = rows.kind == NEW_ROW
    np.add.at(new, (rows.time[chosen], rows.cell[chosen], slot[chosen]), 1)
    withheld = np.zeros((history.releases, max(history.values)), dtype=np.int64)
    chosen = rows.kind == WITHHELD_ROW
    np.add.at(withheld, (rows.time[chosen], rows.value[chosen]), 1)
    displaced: list[list[Displaced]] = [[] for _ in history.values]
    for row in np.flatnonzero(rows.kind == DISPLACED_ROW).tolist():
        one = Displaced(row, history.had[row], int(rows.value[row]), int(rows.bucket[row]))
        displaced[rows.time[row]].append(one)
    return WorldCounts(old, surplus, new, withheld, tuple(tuple(of_release) for of_release in displaced))
