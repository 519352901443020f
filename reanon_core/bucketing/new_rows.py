"""How new rows enter the buckets: what `not_eligible` says, until the rest is m-eligible."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.blocks import blocked_rows, unblocked_rows, value_blocks
from reanon_core.bucketing.eligibility import deferred, is_eligible, padding, require_eligible
from reanon_core.bucketing.options import WAYS_IN, BucketOptions
from reanon_core.bucketing.partial_blocks import PartialBlock, partial_block
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.kernels.uniform_order import uniform_order
from reanon_core.model.arrays import Bool, Int32, Int64

Labels = tuple[str, ...]
"""The names of the values."""

IN_LAYERS = -1
"""The slot of a new row that enters in a layer: assignment decides on it."""


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
