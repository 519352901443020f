"""The first phase, which divides the rows, and the step after the third, which moves them to their slots."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.balancing import Balancing
from reanon_core.bucketing.blocks import value_blocks
from reanon_core.bucketing.change_refusals import refuse_changes
from reanon_core.bucketing.count_plan import BucketCounts, CountPlan
from reanon_core.bucketing.division import NEW, Division, divide
from reanon_core.bucketing.eligibility import deferred, is_eligible, padding, require_eligible
from reanon_core.bucketing.episodes import begun_episodes, block_choice, frequency_choice
from reanon_core.bucketing.layout import STRANDED, Layout, lay_out
from reanon_core.bucketing.options import BucketOptions
from reanon_core.bucketing.signatures import Signature, Signatures, known_values
from reanon_core.bucketing.state import BucketState
from reanon_core.kernels.counting_sort import counting_order
from reanon_core.kernels.siphash import fresh_key, keyed_permutation, siphash_words
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot


@dataclass(frozen=True, eq=False, kw_only=True)
class DividedRows:
    """The old rows in their buckets, and the new rows by value."""

    division: Division
    old_slot: Int32  # [n] the slot of each old row, -1 for a new one, STRANDED for one that is withheld
    withheld: Int64  # [values] new rows that are withheld because their value is too frequent
    stranded: int
    """How many rows are withheld because no signature is left for their new value."""
    pads: Int64  # [values] counterfeits that are added to the new rows
    counts: BucketCounts


def divide_rows(
    snapshot: Snapshot, state: BucketState, options: BucketOptions, rng: np.random.Generator
) -> DividedRows:
    """Phase 1: put the rows of people who were published before into the buckets of their signatures.

    Paper: [XT07] Section 4.1, division; eligibility of the rest.

    Raises: Unpublishable (NotEligible among others).
    """
    division = divide(snapshot, state.roster, state.signatures)
    refuse_changes(
        snapshot,
        state,
        division,
        on_sensitive_change=options.on_sensitive_change,
        on_qi_change=options.on_qi_change,
    )
    new = snapshot.sensitive[division.entry == NEW]
    pool = np.bincount(new, minlength=len(snapshot.schema.sensitive.values)).astype(np.int64)
    known = known_values(state.signatures, len(pool), declared=snapshot.schema.sensitive.closed)
    signature = np.full(snapshot.size, -1, dtype=np.int32)
    old = division.entry >= 0
    signature[old] = state.roster.signature[division.entry[old]]
    old_slot = _old_slots(snapshot, state.signatures, signature)
    choice = frequency_choice(state.signatures, pool, options.m)
    if options.balancing == "blind":
        depth = state.signatures.largest(_old_counts(old_slot, state.signatures))
        choice = block_choice(state.signatures, depth, known | (pool > 0), options.m)
    begun = begun_episodes(snapshot, division, state.roster, state.signatures, choice)
    old_slot = np.maximum(old_slot, _old_slots(snapshot, begun.signatures, begun.signature))
    old_slot[begun.stranded] = STRANDED
    entry = _made_eligible(pool, known, begun.signatures, options, snapshot.schema, rng)
    return DividedRows(
        division=division,
        old_slot=old_slot,
        withheld=entry.withheld,
        stranded=len(begun.stranded),
        pads=entry.pads,
        counts=BucketCounts(entry.signatures, _old_counts(old_slot, entry.signatures), entry.blocked, entry.pool),
    )


def _old_slots(snapshot: Snapshot, signatures: Signatures, signature: Int32) -> Int32:
    """The slot of each row that has a signature; -1 for the others."""
    slots = np.full(snapshot.size, -1, dtype=np.int32)
    rows = np.flatnonzero(signature >= 0)
    slots[rows] = signatures.slots(signature[rows], snapshot.sensitive[rows])
    return slots


def _old_counts(old_slot: Int32, signatures: Signatures) -> Int64:
    return np.bincount(old_slot[old_slot >= 0], minlength=len(signatures.values)).astype(np.int64)


def move_rows(
    snapshot: Snapshot, divided: DividedRows, plan: CountPlan, balancing: Balancing, rng: np.random.Generator
) -> Layout:
    """Give every row and counterfeit the slot that the counts provide for, in keyed random order.

    Ensures (`blind`): the slots of a bucket come in random order and the rows of a slot in another, both independent of
    which new rows a slot got. So what follows sees lists of rows without their values.
    """
    slot_at = np.arange(len(plan.taken), dtype=np.int32)
    order, allocation = siphash_words(snapshot.persons, fresh_key(rng)), None
    old_slot = divided.old_slot
    if balancing == "blind":
        allocation = siphash_words(snapshot.persons, fresh_key(rng))
        slot_at = _shuffled_slots(plan.signatures, rng)
        place = np.empty(len(slot_at) + 1, dtype=np.int32)  # the last one is for new rows
        place[slot_at] = np.arange(len(slot_at), dtype=np.int32)
        old_slot = np.where(old_slot >= 0, place[old_slot], old_slot)
    return lay_out(
        values=plan.signatures.values[slot_at],
        old_slot=old_slot,
        sensitive=snapshot.sensitive,
        withheld=divided.withheld,
        taken=plan.taken[slot_at],
        pads=divided.pads,
        counterfeits=plan.counterfeits[slot_at],
        order=order,
        allocation=allocation,
        rng=rng,
    )


def _shuffled_slots(signatures: Signatures, rng: np.random.Generator) -> Int32:
    """All slots, bucket by bucket, those of a bucket in random order."""
    bucket = np.repeat(np.arange(signatures.count, dtype=np.int32), np.diff(signatures.offsets))
    anywhere = keyed_permutation(len(bucket), rng)
    return anywhere[counting_order(bucket[anywhere], signatures.count)]


@dataclass(frozen=True, eq=False, kw_only=True)
class NewRows:
    """How the new rows enter: those withheld, the counterfeits among them, those that go to blocks, and the others."""

    signatures: Signatures
    withheld: Int64  # [values]
    pads: Int64  # [values]
    blocked: Int64  # [slots]
    pool: Int64  # [values]


def _made_eligible(
    pool: Int64,
    known: Bool,
    signatures: Signatures,
    options: BucketOptions,
    schema: Schema,
    rng: np.random.Generator,
) -> NewRows:
    """Make the new rows m-eligible, as `not_eligible` says.

    Raises: NotEligible, Unpublishable.
    """
    withheld, pads = np.zeros_like(pool), np.zeros_like(pool)
    blocks: list[Signature] = []
    if options.not_eligible == "defer":
        withheld = deferred(pool, options.m)
    elif options.not_eligible == "pad":
        pads = padding(pool, options.m, rng)
    elif options.not_eligible == "blocks" and not is_eligible(pool, options.m):
        blocks = value_blocks(pool, known, options.m, rng)
    if not blocks:
        left = pool - withheld + pads
        require_eligible(left, options.m, schema.sensitive.values)
        return NewRows(
            signatures=signatures,
            withheld=withheld,
            pads=pads,
            blocked=np.zeros(len(signatures.values), np.int64),
            pool=left,
        )
    signatures = signatures.extended([block for block in blocks if block not in signatures.number])
    blocked = np.zeros(len(signatures.values), np.int64)
    for block in blocks:
        number = signatures.number[block]
        blocked[signatures.offsets[number] : signatures.offsets[number + 1]] = pool[list(block)]
    return NewRows(signatures=signatures, withheld=withheld, pads=pads, blocked=blocked, pool=np.zeros_like(pool))
