"""Phase 3: assign the remaining new rows to balanced buckets."""

from typing import Literal

import numpy as np

from reanon_core.bucketing.assignment_steps import Progress, home_steps, take_steps
from reanon_core.bucketing.ranked_buckets import DEEP, PAPER, STABLE, ranked_buckets, with_room
from reanon_core.bucketing.ranked_pool import ranked_pool
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.model.arrays import Bool, Int64

Assignment = Literal["stable", "deep", "paper"]

ORDERS: dict[Assignment, int] = {"paper": PAPER, "stable": STABLE, "deep": DEEP}
HOME_SHARE = 10
"""At most one in so many of the new rows goes to the home buckets of scarce values."""


def assign(
    signatures: Signatures, depth: Int64, pool: Int64, m: int, how: Assignment, *, homes: bool = True
) -> tuple[Signatures, Int64]:
    """How many new rows of each value every bucket takes; new buckets are added at the end.

    Paper: [XT07] Figure 3 (`paper`); [XT07] Lemma 5, by which an eligible pool can always be assigned. Departure D2
    (`stable`, `deep`): before a step of the paper, fill an existing bucket; `deep` also begins with homes for scarce
    values, unless `homes` says otherwise. docs/techniques/m-invariance.md compares the three.

    Requires: the pool is m-eligible; `depth` is the number of layers of each bucket, 0 if it has no rows.
    Ensures: every row of the pool is assigned, and a bucket takes equally many rows of each value of its signature.
    """
    first = _homes(_held(signatures, depth, len(pool)), pool, m) if how == "deep" and homes else []
    own = np.array([signature for signature, _ in first], dtype=np.int32).reshape(len(first), m)
    layers = np.array([layers for _, layers in first], dtype=np.int64)
    order, left = ORDERS[how], ranked_pool(pool)
    buckets = ranked_buckets(signatures, depth, pool, m, order)
    progress = Progress(int(pool.sum()), signatures.count, 0, stuck=False)
    while progress.rows:
        progress = Progress(*take_steps(buckets, left, progress, own, layers, m, order))
        if progress.stuck:  # Lemma 5 excludes this for an m-eligible pool
            raise AssertionError("assignment found no signature for an eligible pool")
        buckets = with_room(buckets) if progress.rows else buckets
    offsets = buckets.offsets[: progress.buckets + 1]
    return Signatures(offsets, buckets.values[: offsets[-1]]), buckets.taken[: progress.buckets]


def _held(signatures: Signatures, depth: Int64, values: int) -> Bool:
    """Which values are in the signature of a bucket that has rows."""
    held = np.zeros(values, dtype=np.bool_)
    held[signatures.values[signatures.per_slot(depth) > 0]] = True
    return held


def _homes(held: Bool, pool: Int64, m: int) -> list[tuple[Signature, int]]:
    """Steps that put all new rows of a scarce value into one bucket, its home, together with the most frequent values.

    Values that no bucket holds yet get a home, the scarcest first, as long as the homes stay within their share of the
    rows. A scarce value that is spread over many buckets is short in all of them at every release; with one home it is
    short in that bucket only.

    Ensures: each step leaves the pool m-eligible.
    """
    homeless = np.flatnonzero((pool > 0) & ~held)
    homeless = homeless[np.argsort(pool[homeless], kind="stable")]
    found, layers = home_steps(homeless, ranked_pool(pool), m, int(pool.sum()) // HOME_SHARE)
    return list(zip(map(tuple, found.tolist()), layers.tolist(), strict=True))
