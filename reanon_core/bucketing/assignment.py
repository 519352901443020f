"""Phase 3: assign the remaining new rows to balanced buckets.

Steps work over counts, with the buckets and values that come next at hand. A step takes time that grows with the
buckets that hold one of its values, not with all buckets or values.

Within one assignment the new rows of a bucket's values only become fewer. So do the rows that are left minus m times
the rows of any one value, because a step has at least m values. The number of layers that a bucket can take therefore
never grows: a bucket that can take none is done with, and an old number of layers is a bound for the new one.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.compiled import compiled
from reanon_core.kernels.tournament import ABSENT, replay_matches, tournament, tournament_keys
from reanon_core.model.arrays import Bool, Float64, Int32, Int64

PAPER, STABLE, DEEP = 0, 1, 2
"""How rows are assigned: by the steps of the paper alone, or to existing buckets first, by one of two orders."""
NONE = -1
Assignment = Literal["stable", "deep", "paper"]

ORDERS: dict[Assignment, int] = {"paper": PAPER, "stable": STABLE, "deep": DEEP}
HOME_SHARE = 10
"""At most one in so many of the new rows goes to the home buckets of scarce values."""


class RankedPool(NamedTuple):
    """The new rows that are left of each value, the most frequent value first; changed in place."""

    rows: Int64  # [values]
    keys: Float64  # [room, 1] the same
    winner: Int32  # [2 * room]


def ranked_pool(pool: Int64) -> RankedPool:
    """The pool before the first step."""
    keys = tournament_keys(len(pool), 1)
    keys[: len(pool), 0] = pool
    return RankedPool(pool.copy(), keys, tournament(keys))


@compiled
def set_rows(left: RankedPool, value: int, rows: int) -> None:
    """Say how many rows of the value are left."""
    left.rows[value] = rows
    left.keys[value, 0] = rows
    replay_matches(left.keys, left.winner, value)


@compiled
def most_frequent(left: RankedPool, count: int) -> Int32:
    """The values with the most rows, the first of equal ones first."""
    listed = np.empty(count, dtype=np.int32)
    for i in range(count):
        listed[i] = left.winner[1]
        left.keys[listed[i], 0] = ABSENT
        replay_matches(left.keys, left.winner, listed[i])
    for i in range(count):
        set_rows(left, listed[i], left.rows[listed[i]])
    return listed


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
