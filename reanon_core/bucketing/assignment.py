"""Phase 3: assign what is left of the new rows to balanced buckets."""

from typing import Literal

import numpy as np

from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64

Assignment = Literal["stable", "paper"]


def assign(signatures: Signatures, depth: Int64, pool: Int64, m: int, how: Assignment) -> tuple[Signatures, Int64]:
    """How many new rows of each value every bucket takes; new buckets are added at the end.

    Paper: [XT07] Figure 3 (`paper`); departure D2 (`stable`): before a step of the paper, fill a bucket that exists.

    Requires: the pool is m-eligible; `depth` is the number of layers of each bucket, 0 if it holds no row.
    Ensures: every row of the pool is assigned, and as many of each value of a signature.
    """
    pool = pool.copy()
    taken = np.zeros(signatures.count, dtype=np.int64)
    depth = depth.copy()
    while pool.any():
        bucket, layers = (
            _stable_step(signatures.offsets, signatures.values, depth, pool, m) if how == "stable" else (-1, 0)
        )
        if bucket < 0:
            signature, layers = _paper_step(pool, m)
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


@compiled
def _stable_step(offsets: Int64, values: Int32, depth: Int64, pool: Int64, m: int) -> tuple[int, int]:
    """The bucket to fill and by how many layers, or -1 if none can take a layer.

    Of the buckets that can, the one that holds the scarcest new value; then the deepest; then the most layers.
    Inequalities 5-7 hold with the greatest count inside the signature for n_1 and the greatest outside for n_(beta+1).
    """
    rows = int(pool.sum())
    top = np.argsort(-pool)
    best, best_scarce, best_layers = -1, 0, 0
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
        better = best < 0 or least < best_scarce
        if not better and least == best_scarce:
            better = depth[bucket] > depth[best] or (depth[bucket] == depth[best] and layers > best_layers)
        if better:
            best, best_scarce, best_layers = bucket, least, layers
    return best, best_layers
