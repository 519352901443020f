"""Phase 3: assign the remaining new rows to balanced buckets."""

from typing import Literal

import numpy as np

from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64

Assignment = Literal["stable", "deep", "paper"]

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
    pool = pool.copy()
    taken = np.zeros(signatures.count, dtype=np.int64)
    depth = depth.copy()
    first = _homes(_held(signatures, depth, len(pool)), pool, m) if how == "deep" and homes else []
    while pool.any():
        if first:
            signature, layers = first.pop(0)
        else:
            bucket = -1
            if how != "paper":
                bucket, layers = _fill_step(signatures.offsets, signatures.values, depth, pool, m, how == "deep")
            signature, layers = _paper_step(pool, m) if bucket < 0 else (signatures.tuples[bucket], layers)
        bucket = signatures.number.get(signature, signatures.count)
        if bucket == signatures.count:
            signatures = signatures.extended([signature])
            taken, depth = np.append(taken, 0), np.append(depth, 0)
        taken[bucket] += layers
        depth[bucket] += layers
        pool[signatures.values[signatures.offsets[bucket] : signatures.offsets[bucket + 1]]] -= layers
    return signatures, taken


def _paper_step(pool: Int64, m: int) -> tuple[Signature, int]:
    """One iteration of Figure 3: the signature of the beta most frequent values, and alpha.

    Paper: [XT07] Figure 3, Inequalities 5-7, in closed form.
    """
    ranked = np.argsort(-pool, kind="stable")
    counts = np.append(pool[ranked], 0)
    beta, alpha = _alpha_beta(counts, int((pool > 0).sum()), m)
    if alpha < 1:  # Lemma 5 excludes this for an m-eligible pool
        raise AssertionError("assignment found no signature for an eligible pool")
    return tuple(sorted(ranked[:beta].tolist())), alpha


@compiled
def _alpha_beta(counts: Int64, distinct: int, m: int) -> tuple[int, int]:
    rows = counts.sum()
    for beta in range(m, distinct + 1):
        alpha = counts[beta - 1]  # Inequality 5
        if beta > m:
            alpha = min(alpha, (rows - m * counts[0]) // (beta - m))  # Inequality 6
        alpha = min(alpha, (rows - m * counts[beta]) // beta)  # Inequality 7
        if alpha >= 1:
            return beta, alpha
    return distinct, 0


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
    pool = pool.copy()
    room = int(pool.sum()) // HOME_SHARE
    homes: list[tuple[Signature, int]] = []
    homeless = np.flatnonzero((pool > 0) & ~held)
    for value in homeless[np.argsort(pool[homeless], kind="stable")].tolist():
        partners = np.argsort(-pool, kind="stable")[: m - 1].tolist()
        signature = tuple(sorted({value, *partners}))
        layers = int(pool[value])
        pool[list(signature)] -= layers
        room -= m * layers
        if len(signature) < m or room < 0 or pool.min() < 0 or pool.max() * m > pool.sum():
            break
        homes.append((signature, layers))
    return homes


@compiled
def _fill_step(
    offsets: Int64,
    values: Int32,
    depth: Int64,
    pool: Int64,
    m: int,
    deep: bool,  # noqa: FBT001
) -> tuple[int, int]:
    """The bucket to fill and the number of layers, or -1 if no bucket can take a layer.

    Without `deep` the bucket with the scarcest new value wins, then the deepest; with `deep`, the one with the greatest
    depth squared over the cube of its scarcest new value's count. Ties go to the bucket that takes the most layers.
    Inequalities 5-7 hold with the greatest count inside the signature for n_1 and the greatest outside for n_(beta+1).
    """
    rows = int(pool.sum())
    top = np.argsort(-pool)
    best, best_layers, best_first, best_then = -1, 0, 0.0, 0.0
    for bucket in range(len(depth)):
        size = int(offsets[bucket + 1] - offsets[bucket])
        if depth[bucket] == 0 or size < m:
            continue
        least, most = rows, 0
        for slot in range(offsets[bucket], offsets[bucket + 1]):
            least = min(least, int(pool[values[slot]]))
            most = max(most, int(pool[values[slot]]))
        if least == 0:
            continue
        outside = 0
        for value in top:
            slot = offsets[bucket]
            while slot < offsets[bucket + 1] and values[slot] != value:
                slot += 1
            if slot == offsets[bucket + 1]:
                outside = int(pool[value])
                break
        layers = min(least, (rows - m * outside) // size)
        if size > m:
            layers = min(layers, (rows - m * most) // (size - m))
        if layers < 1:
            continue
        height, scarce = float(depth[bucket]), float(least)
        first = height * height / (scarce * scarce * scarce) if deep else -scarce
        then = 0.0 if deep else height
        if best < 0 or (first, then, layers) > (best_first, best_then, best_layers):
            best, best_layers, best_first, best_then = bucket, layers, first, then
    return best, best_layers
