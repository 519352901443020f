"""Phase 2: fill the shortages of every bucket, with counterfeits alone or with new rows first."""

from typing import Literal

import numpy as np

from reanon_core.bucketing.signatures import Signatures
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64

Balancing = Literal["blind", "filled"]


def balance_blindly(signatures: Signatures, old: Int64) -> Int64:
    """How many counterfeits go to each slot, so that every bucket is balanced and no new row is looked at.

    Paper: none; departure D12 of m-invariance. A new row in place of a counterfeit tells which value was short.

    Ensures: old + counterfeits is the greatest old count of the bucket, for all its slots; a permutation of the counts
    of a bucket permutes the counterfeits alike.
    """
    return signatures.per_slot(signatures.largest(old)) - old


def balance(signatures: Signatures, old: Int64, pool: Int64, m: int) -> tuple[Int64, Int64]:
    """How many new rows and how many counterfeits go to each slot, so that every bucket is balanced.

    Paper: [XT07] Section 4.1, balancing. Buckets in ascending order of their signature, values ascending.

    Requires: the pool is m-eligible.
    Ensures: the rest of the pool is m-eligible; old + taken + counterfeits is the same for all slots of a bucket.
    """
    order = np.array(sorted(range(signatures.count), key=signatures.tuples.__getitem__), dtype=np.int32)
    return _balance(order, signatures.offsets, signatures.values, old, pool.copy(), m)


@compiled
def _balance(order: Int32, offsets: Int64, values: Int32, old: Int64, pool: Int64, m: int) -> tuple[Int64, Int64]:
    taken = np.zeros(len(values), dtype=np.int64)
    counterfeits = np.zeros(len(values), dtype=np.int64)
    total = pool.sum()
    for bucket in order:
        depth = np.int64(0)
        for slot in range(offsets[bucket], offsets[bucket + 1]):
            depth = max(depth, old[slot])
        for slot in range(offsets[bucket], offsets[bucket + 1]):
            shortage = depth - old[slot]
            if shortage == 0:
                continue
            value = values[slot]
            most = np.int64(0)
            for other in range(len(pool)):
                if other != value:
                    most = max(most, pool[other])
            # Case (ii), row by row: taking a row of `value` keeps the pool m-eligible as long as every other value
            # stays within its bound, most * m <= total - rows taken. The bound of `value` itself only becomes looser.
            rows = max(min(shortage, pool[value], total - m * most), 0)
            pool[value] -= rows
            total -= rows
            taken[slot] = rows
            counterfeits[slot] = shortage - rows
    return taken, counterfeits
