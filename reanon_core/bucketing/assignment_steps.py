"""The steps of assignment over counts, with the buckets and values that come next at hand.

A step takes time that grows with the buckets that hold one of its values, not with all buckets or values.

Within one assignment the new rows of a bucket's values only become fewer. So do the rows that are left minus m times
the rows of any one value, because a step has at least m values. The number of layers that a bucket can take therefore
never grows: a bucket that can take none is done with, and an old number of layers is a bound for the new one.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.ranked_buckets import (
    NONE,
    PAPER,
    RankedBuckets,
    add_bucket,
    found_bucket,
    has_room,
    rank_after_step,
)
from reanon_core.bucketing.ranked_pool import RankedPool, most_frequent, set_rows
from reanon_core.compiled import compiled
from reanon_core.kernels.tournament import ABSENT, replay_matches
from reanon_core.model.arrays import Int32, Int64


class Progress(NamedTuple):
    """What is left to do."""

    rows: int
    buckets: int
    """How many there are."""
    home: int
    """The home that comes next."""
    stuck: bool = False
    """Whether no bucket can take a layer."""


@compiled
def take_steps(
    buckets: RankedBuckets,
    left: RankedPool,
    progress: Progress,
    homes: Int32,
    home_layers: Int64,
    m: int,
    how: int,
) -> Progress:
    """Assign the rows of the pool, the homes [homes, m] first, until none is left or there is no room for a bucket."""
    rows, count, home = progress.rows, progress.buckets, progress.home
    while rows > 0:
        bucket, layers, signature = NONE, 0, np.empty(0, dtype=np.int32)
        if home < len(homes):
            signature, layers = homes[home], home_layers[home]
        else:
            if how != PAPER:
                bucket, layers = _fill_step(buckets, left, rows, m)
            if bucket == NONE:
                signature, layers = _paper_step(left, rows, m)
        if layers < 1:
            return Progress(rows, count, home, True)  # noqa: FBT003 - compiled functions know no keywords here
        if bucket == NONE:
            scarcest = signature[-1]
            signature = _ascending(signature)
            bucket = found_bucket(buckets, signature, scarcest)
            if bucket == NONE:
                if not has_room(buckets, count, len(signature)):
                    break
                bucket = count
                add_bucket(buckets, bucket, signature, left.rows)
                count += 1
            if home < len(homes):
                home += 1
        for slot in range(buckets.offsets[bucket], buckets.offsets[bucket + 1]):
            set_rows(left, buckets.values[slot], left.rows[buckets.values[slot]] - layers)
            rows -= layers
        buckets.taken[bucket] += layers
        buckets.depth[bucket] += layers
        if how != PAPER:
            rank_after_step(buckets, bucket, left, m, how)
    return Progress(rows, count, home, False)  # noqa: FBT003


@compiled
def home_steps(homeless: Int64, left: RankedPool, m: int, room: int) -> tuple[Int32, Int64]:
    """The signatures [homes, m] of the homes of these values, in turn, and their layers, while `room` rows are left.

    The value that has its home there is the last one of a signature. `left` is consumed.
    """
    rows = left.rows.sum()
    signatures, layers = np.empty((len(homeless), m), dtype=np.int32), np.empty(len(homeless), dtype=np.int64)
    for home in range(len(homeless)):
        value = homeless[home]
        partners = most_frequent(left, m - 1)
        layers[home] = left.rows[value]
        room -= m * layers[home]
        rows -= m * layers[home]
        fits = room >= 0
        for i in range(m):
            one = partners[i] if i < m - 1 else value
            signatures[home, i] = one
            fits = fits and (i == m - 1 or one != value)
            set_rows(left, one, left.rows[one] - layers[home])
            fits = fits and left.rows[one] >= 0
        if not fits or left.rows[left.winner[1]] * m > rows:
            return signatures[:home], layers[:home]
    return signatures, layers


@compiled
def _ascending(signature: Int32) -> Int32:
    """The values in ascending order: there are few."""
    ordered = np.empty(len(signature), dtype=np.int32)
    for i in range(len(signature)):
        at = i
        while at > 0 and ordered[at - 1] > signature[i]:
            ordered[at] = ordered[at - 1]
            at -= 1
        ordered[at] = signature[i]
    return ordered


@compiled
def _paper_step(left: RankedPool, rows: int, m: int) -> tuple[Int32, int]:
    """One iteration of Figure 3: the beta most frequent values, and alpha; 0 if there is none.

    Paper: [XT07] Figure 3, Inequalities 5-7, in closed form. A beta above m is needed only for fewer than m (m + 1)
    rows.
    """
    values = len(left.rows)
    for beta in range(m, values + 1):
        ranked = most_frequent(left, min(beta + 1, values))
        following = left.rows[ranked[beta]] if beta < values else 0
        alpha = left.rows[ranked[beta - 1]]  # Inequality 5
        if alpha == 0:
            break
        if beta > m:
            alpha = min(alpha, (rows - m * left.rows[ranked[0]]) // (beta - m))  # Inequality 6
        alpha = min(alpha, (rows - m * following) // beta)  # Inequality 7
        if alpha >= 1:
            return ranked[:beta], alpha
    return np.empty(0, dtype=np.int32), 0


@compiled
def _fill_step(buckets: RankedBuckets, left: RankedPool, rows: int, m: int) -> tuple[int, int]:
    """The bucket to fill and the number of layers, or NONE if no bucket can take a layer."""
    while True:
        bucket = buckets.winner[1]
        if buckets.keys[bucket, 0] == ABSENT:
            return NONE, 0
        layers = _layers(buckets, bucket, left, rows, m)
        if layers == buckets.keys[bucket, 2]:  # no bucket of equal rank has a greater bound
            return bucket, layers
        buckets.keys[bucket, 2] = layers
        if layers < 1:
            buckets.least[bucket] = 0
            buckets.keys[bucket, 0] = ABSENT
        replay_matches(buckets.keys, buckets.winner, bucket)


@compiled
def _layers(buckets: RankedBuckets, bucket: int, left: RankedPool, rows: int, m: int) -> int:
    """How many layers the bucket can take.

    Inequalities 5-7 hold with the greatest count inside the signature for n_1 and the greatest outside for n_(beta+1).
    """
    start, end = buckets.offsets[bucket], buckets.offsets[bucket + 1]
    size, layers = end - start, buckets.least[bucket]
    if rows - m * left.rows[left.winner[1]] >= layers * size:  # whatever value is the greatest one
        return int(layers)
    most, outside = np.int64(0), np.int64(0)
    for slot in range(start, end):
        value = buckets.values[slot]
        most = max(most, left.rows[value])
        left.keys[value, 0] = ABSENT
        replay_matches(left.keys, left.winner, value)
    if left.keys[left.winner[1], 0] != ABSENT:
        outside = left.rows[left.winner[1]]
    for slot in range(start, end):
        value = buckets.values[slot]
        set_rows(left, value, left.rows[value])
    layers = min(layers, (rows - m * outside) // size)
    if size > m:
        layers = min(layers, (rows - m * most) // (size - m))
    return int(layers)
