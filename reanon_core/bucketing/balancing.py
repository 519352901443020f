"""Phase 2: fill the shortages of every bucket, with counterfeits alone or with new rows first."""

from typing import Literal

import numpy as np

from reanon_core.bucketing.signatures import Signatures
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64

Balancing = Literal["blind", "median", "filled"]


def bucket_levels(signatures: Signatures, rows: Int64, how: Balancing) -> Int64:
    """The number of layers of each bucket [s]: the greatest count of its slots, or with `median` their median.

    Of two middle counts the greater one is the median: counterfeits rather than people who are withheld.
    Paper: none; departures D12 and D17 of m-invariance. A new row in place of a counterfeit tells which value was
    short, so no new row is looked at.

    Ensures: a permutation of the counts within a bucket does not change its level.
    """
    if how != "median" or signatures.count == 0:
        return signatures.largest(rows)
    bucket = np.repeat(np.arange(signatures.count), np.diff(signatures.offsets))
    in_order = rows[np.lexsort((-rows, bucket))]  # bucket by bucket, the greatest count first
    middle: Int64 = in_order[signatures.offsets[:-1] + (np.diff(signatures.offsets) - 1) // 2]
    return middle


def balance_blindly(signatures: Signatures, rows: Int64, how: Balancing) -> tuple[Int64, Int64]:
    """How many counterfeits each slot takes and how many rows of it are withheld, so that every bucket is balanced.

    Ensures: rows + counterfeits - withheld is the level of the bucket for all its slots; a permutation of the counts of
    a bucket permutes both alike; without `median` no row is withheld.
    """
    lacking = signatures.per_slot(bucket_levels(signatures, rows, how)) - rows
    return np.maximum(lacking, 0), np.maximum(-lacking, 0)


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
