"""The first phase, which divides the rows, and the step after the third, which moves them to their slots."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.balancing import Balancing
from reanon_core.bucketing.count_plan import BucketCounts, CountPlan
from reanon_core.bucketing.division import (
    CHANGED,
    NEW,
    Division,
    begun_episodes,
    block_choice,
    divide,
    frequency_choice,
)
from reanon_core.bucketing.layout import NEW as NEW_SLOT
from reanon_core.bucketing.layout import STRANDED, Layout, lay_out, without_surplus
from reanon_core.bucketing.new_rows import Newcomers, counts_by_region, enter_new_rows
from reanon_core.bucketing.options import BucketOptions, QiChange, SensitiveChange
from reanon_core.bucketing.regions import ShownRows, allocated_slots, region_of_new_rows
from reanon_core.bucketing.signatures import Signatures, known_values
from reanon_core.bucketing.state import BucketState
from reanon_core.kernels.orders import counting_order, uniform_order
from reanon_core.kernels.siphash import fresh_key, keyed_permutation, siphash_words
from reanon_core.model.arrays import Int32, Int64, UInt64
from reanon_core.model.errors import Unpublishable, counted
from reanon_core.model.snapshot import Snapshot


def refuse_changes(
    snapshot: Snapshot,
    state: BucketState,
    division: Division,
    *,
    on_sensitive_change: SensitiveChange,
    on_qi_change: QiChange,
) -> None:
    """Refuse a snapshot with changes that the options forbid.

    Raises: Unpublishable.
    """
    changed = int(division.changed.sum())
    if changed and on_sensitive_change == "refuse":
        raise Unpublishable(
            f"{counted(changed, 'person has', 'people have')} another value of {snapshot.schema.sensitive.name} "
            f"than before, and on_sensitive_change is refuse; correct the snapshot, or set on_sensitive_change: "
            f"withhold, which publishes the release without them and may follow refuse in a series on disk",
            persons=snapshot.persons[division.changed],
        )
    if on_qi_change == "refuse" and state.time:
        known = np.flatnonzero(division.entry >= 0)
        moved = known[(snapshot.qi[:, known] != state.qi[:, division.entry[known]]).any(axis=0)]
        if len(moved):
            raise Unpublishable(
                f"{counted(len(moved), 'person has', 'people have')} other quasi-identifier values than when "
                f"first published, and on_qi_change is refuse; correct the snapshot, or set on_qi_change: allow, "
                f"which may follow refuse in a series on disk",
                persons=snapshot.persons[moved],
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class DividedRows:
    """The old rows in their buckets, and the new rows by value. New rows may join the old rows of a block."""

    division: Division
    old_slot: Int32  # [n] the slot of each old row, -1 for a new one, STRANDED for one that has no signature
    withheld: Int64  # [values] new rows that are withheld because their value is too frequent
    stranded: int
    """How many rows are withheld because no signature is left for their new value."""
    changed: int
    """How many rows are withheld because their value has changed."""
    pads: Int64  # [values] counterfeits that are added to the new rows
    region: Int32  # [n] the region of each new row
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
    if options.on_sensitive_change == "withhold":
        division = division.without_changed()
    changed = division.entry == CHANGED
    pool = np.bincount(snapshot.sensitive[division.entry == NEW], minlength=len(snapshot.schema.sensitive.values))
    pool = pool.astype(np.int64)
    known = known_values(state.signatures, len(pool), declared=snapshot.schema.sensitive.closed)
    signature = np.full(snapshot.size, -1, dtype=np.int32)
    old = division.entry >= 0
    signature[old] = state.roster.signature[division.entry[old]]
    old_slot = _old_slots(snapshot, state.signatures, signature)
    depth = state.signatures.largest(_old_counts(old_slot, state.signatures))
    choice = frequency_choice(state.signatures, pool, options.m)
    if options.balancing != "filled":
        choice = block_choice(state.signatures, depth, known | (pool > 0), options.m)
    begun = begun_episodes(snapshot, division, state.roster, state.signatures, choice)
    old_slot = np.maximum(old_slot, _old_slots(snapshot, begun.signatures, begun.signature))
    old_slot[begun.stranded] = old_slot[changed] = STRANDED
    new = np.flatnonzero(division.entry == NEW)
    region, pools = np.zeros(snapshot.size, dtype=np.int32), pool[None]
    if options.regions == "sizes":
        shown = ShownRows(snapshot.qi[:, old], signature[old], state.signatures)
        region[new] = region_of_new_rows(snapshot.qi[:, new], shown, options.m, len(pool))
        pools = counts_by_region(region[new], snapshot.sensitive[new], len(pool))
    newcomers = Newcomers(snapshot.persons[new], snapshot.sensitive[new], region[new], pools)
    entry = enter_new_rows(newcomers, known, begun.signatures, options, snapshot.schema.sensitive.values, rng)
    old_slot[new] = entry.slot
    return DividedRows(
        division=division,
        old_slot=old_slot,
        withheld=entry.withheld,
        stranded=len(begun.stranded),
        changed=int(changed.sum()),
        pads=entry.pads,
        region=region,
        counts=BucketCounts(entry.signatures, _old_counts(old_slot, entry.signatures), entry.blocked, entry.pools),
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

    Ensures (unless `filled`): the slots of a bucket come in random order and the rows of a slot in another, both
    independent of which new rows a slot got and which rows are withheld. So what follows sees lists of rows without
    their values.
    """
    taken = plan.taken.sum(axis=0)
    slot_at = np.arange(len(taken), dtype=np.int32)
    order, allocation = siphash_words(snapshot.persons, fresh_key(rng)), None
    old_slot = divided.old_slot
    if balancing != "filled":
        allocation = siphash_words(snapshot.persons, fresh_key(rng))
        if plan.surplus.any():
            old_slot = without_surplus(old_slot, plan.surplus, siphash_words(snapshot.persons, fresh_key(rng)))
        if len(plan.taken) > 1:
            in_layers = _with_new_rows(snapshot, divided, plan, allocation)
            old_slot, taken = np.where(old_slot == NEW_SLOT, in_layers, old_slot), np.zeros_like(taken)
        slot_at = shuffled_slots(plan.signatures, rng)
        place = np.empty(len(slot_at) + 1, dtype=np.int32)  # the last one is for new rows
        place[slot_at] = np.arange(len(slot_at), dtype=np.int32)
        old_slot = np.where(old_slot >= 0, place[old_slot], old_slot)
    return lay_out(
        values=plan.signatures.values[slot_at],
        old_slot=old_slot,
        sensitive=snapshot.sensitive,
        withheld=divided.withheld,
        taken=taken[slot_at],
        pads=divided.pads,
        counterfeits=plan.counterfeits[slot_at],
        order=order,
        allocation=allocation,
        rng=rng,
    )


def _with_new_rows(snapshot: Snapshot, divided: DividedRows, plan: CountPlan, allocation: UInt64) -> Int32:
    """The slot of each row, old or new; the new rows of a region and a value are allocated in random order."""
    slot = divided.old_slot.copy()
    new = np.flatnonzero(slot == NEW_SLOT)
    in_order = uniform_order(allocation[new])
    slot[new] = allocated_slots(
        divided.region[new], snapshot.sensitive[new], in_order, plan.taken, plan.signatures.values
    )
    return slot


def shuffled_slots(signatures: Signatures, rng: np.random.Generator) -> Int32:
    """All slots, bucket by bucket, those of a bucket in random order."""
    bucket = np.repeat(np.arange(signatures.count, dtype=np.int32), np.diff(signatures.offsets))
    anywhere = keyed_permutation(len(bucket), rng)
    return anywhere[counting_order(bucket[anywhere], signatures.count)]
