"""Balancing and assignment together: a plan over counts alone, before any row moves."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.assignment import Assignment, assign
from reanon_core.bucketing.balancing import balance
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Int64


@dataclass(frozen=True, eq=False)
class BucketPlan:
    """How many new rows and counterfeits each slot takes.

    Ensures: old + taken + counterfeits is the same for all slots of a signature.
    """

    signatures: Signatures
    taken: Int64  # [slots]
    counterfeits: Int64  # [slots]


def plan_buckets(signatures: Signatures, old: Int64, pool: Int64, m: int, how: Assignment) -> BucketPlan:
    """Balance the buckets of old rows, then assign the rest of the new rows.

    `old` [slots] counts the old rows, `pool` [values] the new ones.
    """
    filled, counterfeits = balance(signatures, old, pool, m)
    left = pool - np.bincount(signatures.values, weights=filled, minlength=len(pool)).astype(np.int64)
    depth = signatures.largest(old)
    extended, layers = assign(signatures, depth, left, m, how)
    added = len(extended.values) - len(signatures.values)
    none = np.zeros(added, dtype=np.int64)
    taken = np.concatenate([filled, none]) + extended.per_slot(layers)
    return BucketPlan(extended, taken, np.concatenate([counterfeits, none]))
