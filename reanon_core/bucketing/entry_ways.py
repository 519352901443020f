"""Every way in which new rows may enter the buckets, with its chance: what `not_eligible` says, as a distribution."""

from itertools import chain, pairwise, product
from math import comb, factorial, prod
from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.blocks import blocked_rows, run_sizes, unblocked_rows
from reanon_core.bucketing.count_plan import BucketCounts
from reanon_core.bucketing.eligibility import deferred, is_eligible
from reanon_core.bucketing.options import BucketOptions
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.model.arrays import Bool, Int64

MOST_BLOCKS = 6
"""The most blocks of a region that are looked for."""


class EntryCounts(NamedTuple):
    """What is known before new rows enter."""

    signatures: Signatures
    old: Int64  # [slots]
    known: Bool  # [values] values that are declared or were shown before
    pools: Int64  # [regions, values] all new rows


class EntryWay(NamedTuple):
    """One way to enter."""

    chance: float
    counts: BucketCounts
    withheld: Int64  # [values]
    pads: Int64  # [values]


def entry_ways(entry: EntryCounts, options: BucketOptions, shown: list[list[Signature]]) -> list[EntryWay]:
    """The ways with the published buckets of new rows, `shown` [regions]; no way if such rows would be refused."""
    signatures, old, known, pools = entry
    pool, m = pools[0], options.m
    none = np.zeros_like(pool)
    unblocked = np.zeros((1, len(signatures.values)), dtype=np.int64)
    if options.not_eligible == "defer":
        withheld = deferred(pool, m)
        return [EntryWay(1.0, BucketCounts(signatures, old, unblocked, pools - withheld), withheld, none)]
    if options.not_eligible == "pad" and len(pool) >= m and not is_eligible(pool, m):
        return [
            EntryWay(chance, BucketCounts(signatures, old, unblocked, pools + pads), none, pads)
            for chance, pads in pad_chances(pool, m)
        ]
    ways_of_regions: list[list[tuple[float, list[Signature]]]] = []
    for of_region, blocks in zip(pools, shown, strict=True):
        if is_eligible(of_region, m):
            ways_of_regions.append([(1.0, [])])
        elif options.not_eligible == "blocks":
            ways_of_regions.append(block_chances(of_region, known, m, blocks))
        else:
            return []
    return [
        EntryWay(prod(chance for chance, _ in way), _blocked(entry, [blocks for _, blocks in way]), none, none)
        for way in product(*ways_of_regions)
    ]


def pad_chances(counts: Int64, m: int) -> list[tuple[float, Int64]]:
    """Every draw of padding counterfeits with its chance: values are filled to the greatest count in random order.

    A draw fills some values wholly, then one partly. Values of the greatest count have no room, so their place in the
    order makes no difference.
    """
    top = int(counts.max())
    lacking = m * top - int(counts.sum())
    room = {value: top - int(count) for value, count in enumerate(counts.tolist()) if count < top}
    chances: dict[tuple[int, ...], float] = {}
    waiting: list[tuple[tuple[int, ...], int]] = [((), lacking)]
    while waiting:  # the filled values in ascending order: every order of them is as likely
        filled, left = waiting.pop()
        orders = factorial(len(filled)) * factorial(len(room) - len(filled) - 1) / factorial(len(room))
        for value in room.keys() - set(filled):
            if room[value] < left:
                if not filled or value > filled[-1]:
                    waiting.append(((*filled, value), left - room[value]))
                continue
            pads = np.zeros_like(counts)
            pads[list(filled)] = [room[one] for one in filled]
            pads[value] = left
            key = tuple(pads.tolist())
            chances[key] = chances.get(key, 0.0) + orders
    return [(chance, np.array(pads, dtype=np.int64)) for pads, chance in chances.items()]


def block_chances(pool: Int64, known: Bool, m: int, shown: list[Signature]) -> list[tuple[float, list[Signature]]]:
    """Every choice of blocks among the published buckets, in order, with the chance that they are drawn like this.

    Values are sorted by their count, chance decides between equal ones, and runs of m or more are cut. The chance that
    a run gets just these of the values with one count is one over the number of ways to divide them among the runs.
    """
    present = pool > 0
    distinct = int(present.sum())
    if distinct < m:
        if not distinct or not known[present].all() or int(known.sum()) < m:
            return []
        sizes, among = [m], set(np.flatnonzero(known).tolist())
    else:
        sizes = run_sizes(-np.sort(-pool[present]), m)
        among = set(np.flatnonzero(present).tolist())
    if len(sizes) > MOST_BLOCKS:
        return []
    counts = sorted((int(pool[value]) for value in among), reverse=True)
    ends = np.cumsum([0, *sizes]).tolist()
    runs: list[tuple[Signature, ...]] = [()]
    for first, last in pairwise(ends):
        fitting = [
            block
            for block in shown
            if among.issuperset(block) and sorted(pool[list(block)].tolist(), reverse=True) == counts[first:last]
        ]
        runs = [(*run, block) for run in runs for block in fitting if set(block).isdisjoint(chain(*run))]
    return [(_tie_chance(pool, [*run, tuple(among.difference(*run))]), list(run)) for run in runs]


def _tie_chance(pool: Int64, runs: list[Signature]) -> float:
    """The chance that values of equal count are divided among the runs like this."""
    chance = 1.0
    for count in {int(pool[value]) for run in runs for value in run}:
        parts = [sum(int(pool[value]) == count for value in run) for run in runs]
        sums = np.cumsum(parts).tolist()
        chance /= prod(comb(total, part) for total, part in zip(sums, parts, strict=True))
    return chance


def _blocked(entry: EntryCounts, blocks: list[list[Signature]]) -> BucketCounts:
    """The counts, with the rows of a region that has blocks in its blocks."""
    signatures, blocked = blocked_rows(entry.signatures, entry.pools, blocks)
    old = np.zeros(len(signatures.values), dtype=np.int64)
    old[: len(entry.old)] = entry.old
    return BucketCounts(signatures, old, blocked, unblocked_rows(entry.pools, blocks))
