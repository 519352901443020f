"""How new rows enter the buckets: what `not_eligible` says, until the rest is m-eligible.

Blocks take new rows whatever value is too frequent, partial blocks take few of them.

Paper: none; departures D13 (blocks) and D16 (partial blocks) of m-invariance.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.eligibility import deferred, is_eligible, padding, require_eligible
from reanon_core.bucketing.options import WAYS_IN, BucketOptions
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.compiled import compiled
from reanon_core.kernels.orders import uniform_order
from reanon_core.kernels.siphash import fresh_key, keyed_permutation, siphash_words
from reanon_core.model.arrays import Bool, Int32, Int64

PILOT_SHARE = 4
"""One in so many of the new rows is in the pilot."""
Labels = tuple[str, ...]
"""The names of the values."""

IN_LAYERS = -1
"""The slot of a new row that enters in a layer: assignment decides on it."""


def value_blocks(pool: Int64, known: Bool, m: int, rng: np.random.Generator) -> list[Signature]:
    """Disjoint signatures for the most frequent values of the new rows: runs of m or more values of similar frequency.

    Every new row with a value of a block goes to it, and counterfeits fill the shortages, so runs of similar counts are
    cheap. The other rows are m-eligible. `known` [values] says which values are declared or were shown before. Fewer
    than m values are joined by known ones.

    Ensures: a permutation of the counts within one block leaves the probability of these blocks unchanged. That is why
    chance decides between values of equal count, and why only known values may join: a value that no new row has
    could not be published otherwise. An empty list if there are no such blocks.
    """
    present = pool > 0
    distinct = int(present.sum())
    if distinct < m:
        if not distinct or not known[present].all() or int(known.sum()) < m:
            return []
        return [_signature(frequent_values(pool, known, rng)[:m])]
    ordered = frequent_values(pool, present, rng)
    ends = np.cumsum(run_sizes(pool[ordered], m)).tolist()
    return [_signature(ordered[start:end]) for start, end in pairwise([0, *ends])]


def run_sizes(counts: Int64, m: int) -> list[int]:
    """The sizes of the runs that become blocks: m values each, the most frequent first, until the rest is m-eligible.

    `counts` are those of the values that new rows have, in descending order. Fewer than 2 m values are one run.

    Ensures: a permutation of the values in a run changes nothing, because each rest holds all of a run or nothing.
    """
    sizes: list[int] = []
    start = 0
    while not is_eligible(counts[start:], m):
        sizes.append(m if len(counts) - start >= 2 * m else len(counts) - start)
        start += sizes[-1]
    return sizes


def unblocked_rows(pools: Int64, blocks: list[list[Signature]]) -> Int64:
    """The new rows of each region and value that are left to assignment: those whose value is in no block."""
    left = pools.copy()
    for of_region, own in zip(left, blocks, strict=True):
        of_region[[value for block in own for value in block]] = 0
    return left


def blocked_rows(signatures: Signatures, pools: Int64, blocks: list[list[Signature]]) -> tuple[Signatures, Int64]:
    """The list with the blocks of all regions, and how many rows of a region [regions, slots] go to each block.

    `pools` [regions, values] are the new rows; a region without blocks has none.
    """
    listed = dict.fromkeys(block for of_region in blocks for block in of_region)
    signatures = signatures.extended([block for block in listed if block not in signatures.number])
    blocked = np.zeros((len(pools), len(signatures.values)), np.int64)
    for region, of_region in enumerate(blocks):
        for block in of_region:
            number = signatures.number[block]
            blocked[region, signatures.offsets[number] : signatures.offsets[number + 1]] = pools[region, list(block)]
    return signatures, blocked


def frequent_values(pool: Int64, among: Bool, rng: np.random.Generator) -> Int64:
    """These values, the most frequent first, in random order where counts are equal."""
    listed = np.flatnonzero(among)
    listed = listed[keyed_permutation(len(listed), rng)]
    return listed[np.argsort(-pool[listed], kind="stable")]


def _signature(values: Int64) -> Signature:
    return tuple(sorted(values.tolist()))


class PartialBlock(NamedTuple):
    """The block of the most frequent values, and the new rows that go to it."""

    block: Signature
    inside: Bool  # [new rows] in the order in which they were considered


def partial_block(values: Int32, known: int, m: int, rng: np.random.Generator) -> PartialBlock | None:
    """Let new rows in one by one, and send those of the most frequent values to a block while they are too many.

    `values` [new rows] are those of the new rows in uniformly random order, `known` the number of values there are. The
    first rows, the pilot, are always let in. The block is made of the m most frequent values of the pilot, with chance
    among equals. From then on, a row with a value of the block is let in if the most frequent of these values may have
    one row more, and goes to the block otherwise; a row with another value is always let in.

    Ensures: the rows that are let in are m-eligible. None if they are not, if no row goes to the block, or if the pilot
    has fewer than m values. What happens to a row depends on the rows that were let in before it, and on whether its
    own value is in the block, but not on which of these values it is. Values have no names here: if they are permuted
    everywhere, so is the block, and None is as likely as before.
    """
    pilot = len(values) // PILOT_SHARE
    counts = np.bincount(values[:pilot], minlength=known).astype(np.int64)
    if np.count_nonzero(counts) < m:
        return None
    chosen = frequent_values(counts, counts > 0, rng)[:m]
    in_block = np.zeros(known, np.bool_)
    in_block[chosen] = True
    inside = _inside(values, pilot, counts, in_block, m)
    if not inside.any() or not is_eligible(counts, m):
        return None
    return PartialBlock(tuple(sorted(chosen.tolist())), inside)


@compiled
def _inside(values: Int32, pilot: int, counts: Int64, in_block: Bool, m: int) -> Bool:
    """Which rows go to the block; `counts` [values] are the rows of the pilot and become those of all that are let in.

    A row of the block is let in only if the most frequent of its values could have one row more, whatever its own
    value is: otherwise the values of a block would not be alike.
    """
    inside = np.zeros(len(values), dtype=np.bool_)
    total, most = pilot, np.int64(0)
    for value in range(len(counts)):
        if in_block[value]:
            most = max(most, counts[value])
    for row in range(pilot, len(values)):
        value = values[row]
        if in_block[value]:
            if (most + 1) * m > total + 1:
                inside[row] = True
                continue
            most = max(most, counts[value] + 1)
        counts[value] += 1
        total += 1
    return inside


class Newcomers(NamedTuple):
    """The new rows, and how many there are of each region and value."""

    person: Int64  # [new]
    value: Int32  # [new]
    region: Int32  # [new]
    pools: Int64  # [regions, values]


def counts_by_region(region: Int32, value: Int32, values: int) -> Int64:
    """How many new rows of each value each region has [regions, values]."""
    regions = int(region.max(initial=0)) + 1
    number = region.astype(np.int64) * values + value
    return np.bincount(number, minlength=regions * values).reshape(regions, values).astype(np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class NewRows:
    """How the new rows enter: those withheld, the counterfeits among them, those that go to blocks, and the others."""

    signatures: Signatures
    withheld: Int64  # [values]
    pads: Int64  # [values]
    slot: Int32  # [new] the slot of a row that joins the old rows of a block, or IN_LAYERS
    block_slot: Int32  # [regions, values] the slot of such rows, where all rows of a value join; or IN_LAYERS
    blocked: Int64  # [regions, slots] rows that go to a block and do not join its old rows
    pools: Int64  # [regions, values] the others


def enter_new_rows(
    new: Newcomers,
    known: Bool,
    signatures: Signatures,
    options: BucketOptions,
    labels: Labels,
    rng: np.random.Generator,
) -> NewRows:
    """Make the new rows of every region m-eligible, as `not_eligible` says; `labels` [values] name them in messages.

    Raises: NotEligible, Unpublishable.
    """
    pool, m = new.pools.sum(axis=0), options.m
    withheld, pads = np.zeros_like(pool), np.zeros_like(pool)
    if options.not_eligible == "defer":
        withheld = deferred(pool, m)
    elif options.not_eligible == "pad":
        pads = padding(pool, m, rng)
    pools = new.pools - withheld + pads
    parts = _partial_blocks(new, m, rng) if options.not_eligible == "partial-blocks" else {}
    inside = np.ones(len(new.value), np.bool_)
    for region, part in parts.items():
        inside[new.region == region] = part.inside
    blocks = _blocks(pools, parts, known, options, rng)
    for of_region, own in zip(pools, blocks, strict=True):
        if not own:
            require_eligible(of_region, m, labels, blocks=options.not_eligible in WAYS_IN)
    signatures, blocked = blocked_rows(signatures, pools, blocks)
    slot, left = np.full(len(new.value), IN_LAYERS, np.int32), unblocked_rows(pools, blocks)
    block_slot = np.full(pools.shape, IN_LAYERS, np.int32)
    if options.balancing == "median" or options.not_eligible == "partial-blocks":
        block_slot = _block_slots(pools.shape, signatures, blocks)
        slot = np.where(inside, block_slot[new.region, new.value], IN_LAYERS).astype(np.int32)
        if parts:
            left, joined = pools.copy(), slot >= 0
            np.subtract.at(left, (new.region[joined], new.value[joined]), 1)
        blocked = np.zeros_like(blocked)
    return NewRows(
        signatures=signatures,
        withheld=withheld,
        pads=pads,
        slot=slot,
        block_slot=block_slot,
        blocked=blocked,
        pools=left,
    )


def _partial_blocks(new: Newcomers, m: int, rng: np.random.Generator) -> dict[int, PartialBlock]:
    """The partial blocks of the regions that have one; rows are considered in an order of their own, by a fresh key."""
    order = uniform_order(siphash_words(new.person, fresh_key(rng)))
    regions, values = new.pools.shape
    made: dict[int, PartialBlock] = {}
    for region in range(regions):
        rows = order[new.region[order] == region]
        found = partial_block(new.value[rows], values, m, rng)
        if found is not None:
            inside = np.zeros(len(order), np.bool_)
            inside[rows] = found.inside
            made[region] = PartialBlock(found.block, inside[new.region == region])
    return made


def _blocks(
    pools: Int64, parts: dict[int, PartialBlock], known: Bool, options: BucketOptions, rng: np.random.Generator
) -> list[list[Signature]]:
    """The blocks of each region; none for a region that is m-eligible, or cannot have any."""
    blocks: list[list[Signature]] = [[] for _ in pools]
    if options.not_eligible not in WAYS_IN:
        return blocks
    waiting, in_layers = [], np.zeros_like(known)
    for region, of_region in enumerate(pools):
        shown = of_region > 0
        if region in parts:
            blocks[region] = [parts[region].block]  # some of the rows of each of its values are let in
        elif not is_eligible(of_region, options.m):
            if np.count_nonzero(shown) < options.m:
                waiting.append(region)
                continue
            blocks[region] = value_blocks(of_region, known, options.m, rng)
            shown[[value for block in blocks[region] for value in block]] = False
        in_layers |= shown
    # The rows of a region may have fewer than m values, which other known ones must join. What rows in layers show is
    # known by now, and no relabelling changes it.
    for region in waiting:
        blocks[region] = value_blocks(pools[region], known | in_layers, options.m, rng)
    return blocks


def _block_slots(shape: tuple[int, ...], signatures: Signatures, blocks: list[list[Signature]]) -> Int32:
    """The slot of each value of a region that is in a block of the region, IN_LAYERS for the others."""
    slots = np.full(shape, IN_LAYERS, dtype=np.int32)
    for region, of_region in enumerate(blocks):
        for block in of_region:
            first = int(signatures.offsets[signatures.number[block]])
            slots[region, list(block)] = np.arange(first, first + len(block))
    return slots
