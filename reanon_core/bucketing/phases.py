"""Phases 1 to 3: who stands in which bucket, before any bucket is split."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.assignment import Assignment
from reanon_core.bucketing.changes import refuse_changes
from reanon_core.bucketing.count_plan import plan_buckets
from reanon_core.bucketing.division import NEW, Division, divide
from reanon_core.bucketing.eligibility import deferred, padding, require_eligible
from reanon_core.bucketing.episodes import resettle
from reanon_core.bucketing.layout import Layout, lay_out
from reanon_core.bucketing.options import NotEligibleRule, QiChange, SensitiveChange
from reanon_core.bucketing.signatures import Signatures
from reanon_core.bucketing.state import BucketState
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class BucketRules:
    """The parameters of phases 1 to 3."""

    m: int
    assignment: Assignment
    not_eligible: NotEligibleRule
    on_sensitive_change: SensitiveChange
    on_qi_change: QiChange


@dataclass(frozen=True, eq=False, kw_only=True)
class Arrangement:
    """All rows and counterfeits in balanced buckets."""

    division: Division
    signatures: Signatures
    layout: Layout
    withheld: int
    """How many new rows are held back because their value is too frequent."""


def arrange(snapshot: Snapshot, state: BucketState, rules: BucketRules, rng: np.random.Generator) -> Arrangement:
    """Divide, balance and assign over counts; then move the rows.

    Paper: [XT07] Section 4.1.

    Raises: Unpublishable (NotEligible among others); nothing is changed.
    """
    division = divide(snapshot, state.roster, state.signatures)
    refuse_changes(
        snapshot,
        state,
        division,
        on_sensitive_change=rules.on_sensitive_change,
        on_qi_change=rules.on_qi_change,
    )
    pool = _counts(snapshot.sensitive[division.entry == NEW], snapshot.schema)
    signatures, signature = resettle(snapshot, division, state.roster, state.signatures, pool, rules.m)
    old = division.entry >= 0
    signature[old] = state.roster.signature[division.entry[old]]
    withheld, pads = _made_eligible(pool, rules, snapshot.schema, rng)

    is_old = np.flatnonzero(signature >= 0)
    old_slot = np.full(snapshot.size, -1, dtype=np.int32)
    old_slot[is_old] = signatures.slots(signature[is_old], snapshot.sensitive[is_old])
    old_count = np.bincount(old_slot[is_old], minlength=len(signatures.values)).astype(np.int64)
    buckets = plan_buckets(signatures, old_count, pool - withheld + pads, rules.m, rules.assignment)

    layout = lay_out(
        signatures=buckets.signatures,
        old_slot=old_slot,
        sensitive=snapshot.sensitive,
        withheld=withheld,
        taken=buckets.taken,
        pads=pads,
        counterfeits=buckets.counterfeits,
        order=siphash_words(snapshot.persons, fresh_key(rng)),
        rng=rng,
    )
    return Arrangement(
        division=division,
        signatures=buckets.signatures,
        layout=layout,
        withheld=int(withheld.sum()),
    )


def _made_eligible(pool: Int64, rules: BucketRules, schema: Schema, rng: np.random.Generator) -> tuple[Int64, Int64]:
    """How many new rows of each value are withheld, and how many counterfeits are added, as the option says."""
    none = np.zeros_like(pool)
    if rules.not_eligible == "defer":
        return deferred(pool, rules.m), none
    if rules.not_eligible == "pad":
        return none, padding(pool, rules.m, rng)
    require_eligible(pool, rules.m, schema.sensitive.values)
    return none, none


def _counts(sensitive: Int32, schema: Schema) -> Int64:
    return np.bincount(sensitive, minlength=len(schema.sensitive.values)).astype(np.int64)
