"""The buckets during assignment, with the one that is filled next at hand.

A step costs time for the buckets that hold one of its values, not for all buckets.
"""

from typing import Any, NamedTuple

import numpy as np

from reanon_core.bucketing.ranked_pool import RankedPool
from reanon_core.bucketing.signatures import Signatures
from reanon_core.compiled import compiled
from reanon_core.kernels.tournament import ABSENT, replay_matches, tournament, tournament_keys
from reanon_core.model.arrays import Float64, Int32, Int64

PAPER, STABLE, DEEP = 0, 1, 2
"""How rows are assigned: by the steps of the paper alone, or to existing buckets first, by one of two orders."""
NONE = -1


class RankedBuckets(NamedTuple):
    """The buckets, the one that is filled next first; changed in place."""

    offsets: Int64  # [room + 1]
    values: Int32  # [room for slots]
    depth: Int64  # [room]
    taken: Int64  # [room]
    least: Int64  # [room] the new rows of its scarcest value, 0 if it can take no layer
    keys: Float64  # [room, 3] the order in which buckets are filled, and a bound of the layers; ABSENT if never
    winner: Int32  # [2 * room]
    head: Int32  # [values] the first slot of each value
    following: Int32  # [room for slots] the next slot with the same value
    bucket: Int32  # [room for slots]
    most: Int64  # [values] no bucket with the value has a greater `least`


def ranked_buckets(signatures: Signatures, depth: Int64, pool: Int64, m: int, how: int) -> RankedBuckets:
    """The buckets before the first step."""
    count, slots = signatures.count, len(signatures.values)
    keys = tournament_keys(count + 1, 3)
    room = len(keys)
    buckets = RankedBuckets(
        offsets=_lengthened(signatures.offsets, room + 1),
        values=_lengthened(signatures.values, 2 * slots + m),
        depth=_lengthened(depth, room),
        taken=np.zeros(room, np.int64),
        least=np.zeros(room, np.int64),
        keys=keys,
        winner=np.zeros(2 * room, np.int32),
        head=np.full(len(pool), NONE, np.int32),
        following=np.full(2 * slots + m, NONE, np.int32),
        bucket=np.zeros(2 * slots + m, np.int32),
        most=np.zeros(len(pool), np.int64),
    )
    _rank_all(buckets, count, pool, m, how)
    buckets.winner[:] = tournament(keys)
    return buckets


def with_room(buckets: RankedBuckets) -> RankedBuckets:
    """The same buckets with twice the room."""
    keys = tournament_keys(2 * len(buckets.keys), 3)
    keys[: len(buckets.keys)] = buckets.keys
    room, slots = len(keys), 2 * len(buckets.values)
    return RankedBuckets(
        offsets=_lengthened(buckets.offsets, room + 1),
        values=_lengthened(buckets.values, slots),
        depth=_lengthened(buckets.depth, room),
        taken=_lengthened(buckets.taken, room),
        least=_lengthened(buckets.least, room),
        keys=keys,
        winner=tournament(keys),
        head=buckets.head,
        following=_lengthened(buckets.following, slots),
        bucket=_lengthened(buckets.bucket, slots),
        most=buckets.most,
    )


def _lengthened(numbers: Any, length: int) -> Any:
    """The numbers with zeros at the end."""
    return np.concatenate([numbers, np.zeros(length - len(numbers), dtype=numbers.dtype)])


@compiled
def _rank_all(buckets: RankedBuckets, count: int, rows: Int64, m: int, how: int) -> None:
    for bucket in range(count):
        _link(buckets, bucket, rows)
        if how != PAPER:
            _set_key(buckets, bucket, m, how)


@compiled
def _link(buckets: RankedBuckets, bucket: int, rows: Int64) -> None:
    """Add the bucket to the lists of its values, unless one of them has no rows: then no step will ever choose it."""
    start, end = buckets.offsets[bucket], buckets.offsets[bucket + 1]
    least = rows[buckets.values[start]] if end > start else 0
    for slot in range(start, end):
        least = min(least, rows[buckets.values[slot]])
    buckets.least[bucket] = least
    if least == 0:
        return
    for slot in range(start, end):
        value = buckets.values[slot]
        buckets.bucket[slot] = bucket
        buckets.following[slot] = buckets.head[value]
        buckets.head[value] = slot
        buckets.most[value] = max(buckets.most[value], least)


@compiled
def has_room(buckets: RankedBuckets, count: int, size: int) -> bool:
    """Whether a bucket with so many values can be added to so many buckets."""
    return bool(count < len(buckets.depth) and buckets.offsets[count] + size <= len(buckets.values))


@compiled
def add_bucket(buckets: RankedBuckets, count: int, signature: Int32, rows: Int64) -> None:
    """Add a bucket without rows behind so many buckets.

    Requires: there is room for it, and the signature is ascending.
    """
    start = buckets.offsets[count]
    buckets.offsets[count + 1] = start + len(signature)
    for i in range(len(signature)):
        buckets.values[start + i] = signature[i]
    _link(buckets, count, rows)


@compiled
def found_bucket(buckets: RankedBuckets, signature: Int32, value: int) -> int:
    """The bucket with this ascending signature, which holds the value, or NONE."""
    at = buckets.head[value]
    while at != NONE:
        bucket = buckets.bucket[at]
        start = buckets.offsets[bucket]
        if buckets.offsets[bucket + 1] - start == len(signature):
            same = 0
            while same < len(signature) and buckets.values[start + same] == signature[same]:
                same += 1
            if same == len(signature):
                return int(bucket)
        at = buckets.following[at]
    return NONE


@compiled
def rank_after_step(buckets: RankedBuckets, changed: int, left: RankedPool, m: int, how: int) -> None:
    """Bring the scarcest values and the order of the buckets up to date after one of them has taken layers."""
    for slot in range(buckets.offsets[changed], buckets.offsets[changed + 1]):
        value = buckets.values[slot]
        rows = left.rows[value]
        if rows >= buckets.most[value]:
            continue
        before, at = NONE, buckets.head[value]
        while at != NONE:
            bucket = buckets.bucket[at]
            if buckets.least[bucket] > rows:
                buckets.least[bucket] = rows
                if bucket != changed:
                    _rank(buckets, bucket, m, how)
            if buckets.least[bucket] > 0:
                before = at
            elif before == NONE:
                buckets.head[value] = buckets.following[at]
            else:
                buckets.following[before] = buckets.following[at]
            at = buckets.following[at]
        buckets.most[value] = rows
    _rank(buckets, changed, m, how)


@compiled
def _rank(buckets: RankedBuckets, bucket: int, m: int, how: int) -> None:
    """Give the bucket its place in the order in which buckets are filled.

    `STABLE`: the bucket with the scarcest new value, then the deepest. `DEEP`: the one with the greatest depth squared
    over the cube of its scarcest new value's count. Ties go to the bucket that takes the most layers.
    """
    before = buckets.keys[bucket, 0]
    _set_key(buckets, bucket, m, how)
    if before != ABSENT or buckets.keys[bucket, 0] != ABSENT:
        replay_matches(buckets.keys, buckets.winner, bucket)


@compiled
def _set_key(buckets: RankedBuckets, bucket: int, m: int, how: int) -> None:
    key = buckets.keys[bucket]
    size = buckets.offsets[bucket + 1] - buckets.offsets[bucket]
    if buckets.depth[bucket] == 0 or buckets.least[bucket] == 0 or size < m:
        key[0] = ABSENT
        return
    height, scarce = float(buckets.depth[bucket]), float(buckets.least[bucket])
    key[2] = scarce if key[0] == ABSENT else min(key[2], scarce)
    key[0] = height * height / (scarce * scarce * scarce) if how == DEEP else -scarce
    key[1] = 0.0 if how == DEEP else height
