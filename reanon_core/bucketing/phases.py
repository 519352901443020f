"""The first phase, which divides the rows, and the step after the third, which moves them to their slots."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.change_refusals import refuse_changes
from reanon_core.bucketing.count_plan import BucketCounts, CountPlan
from reanon_core.bucketing.division import NEW, Division, divide
from reanon_core.bucketing.eligibility import deferred, padding, require_eligible
from reanon_core.bucketing.episodes import displaced_signatures
from reanon_core.bucketing.layout import Layout, lay_out
from reanon_core.bucketing.options import BucketOptions
from reanon_core.bucketing.state import BucketState
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot


@dataclass(frozen=True, eq=False, kw_only=True)
class DividedRows:
    """The old rows in their buckets, and the new rows by value."""

    division: Division
    old_slot: Int32  # [n] the slot of each old row, -1 for a new one
    withheld: Int64  # [values] new rows that are withheld because their value is too frequent
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
    signatures, signature = displaced_signatures(snapshot, division, state.roster, state.signatures, pool, options.m)
    old = division.entry >= 0
    signature[old] = state.roster.signature[division.entry[old]]
    withheld, pads = _made_eligible(pool, options, snapshot.schema, rng)
    is_old = np.flatnonzero(signature >= 0)
    old_slot = np.full(snapshot.size, -1, dtype=np.int32)
    old_slot[is_old] = signatures.slots(signature[is_old], snapshot.sensitive[is_old])
    old_count = np.bincount(old_slot[is_old], minlength=len(signatures.values)).astype(np.int64)
    return DividedRows(
        division=division,
        old_slot=old_slot,
        withheld=withheld,
        pads=pads,
        counts=BucketCounts(signatures, old_count, pool - withheld + pads),
    )


def move_rows(snapshot: Snapshot, divided: DividedRows, plan: CountPlan, rng: np.random.Generator) -> Layout:
    """Give every row and counterfeit the slot that the counts provide for, in keyed random order."""
    return lay_out(
        signatures=plan.signatures,
        old_slot=divided.old_slot,
        sensitive=snapshot.sensitive,
        withheld=divided.withheld,
        taken=plan.taken,
        pads=divided.pads,
        counterfeits=plan.counterfeits,
        order=siphash_words(snapshot.persons, fresh_key(rng)),
        rng=rng,
    )


def _made_eligible(
    pool: Int64, options: BucketOptions, schema: Schema, rng: np.random.Generator
) -> tuple[Int64, Int64]:
    """How many new rows of each value are withheld, and how many counterfeits are added, as `not_eligible` says."""
    none = np.zeros_like(pool)
    if options.not_eligible == "defer":
        return deferred(pool, options.m), none
    if options.not_eligible == "pad":
        return none, padding(pool, options.m, rng)
    require_eligible(pool, options.m, schema.sensitive.values)
    return none, none
