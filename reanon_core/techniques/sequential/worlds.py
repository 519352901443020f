"""The two constructions of worlds, each of which assigns every person ell different sensitive values."""

from dataclasses import dataclass

import numpy as np

from reanon_core.kernels.closures import Space
from reanon_core.kernels.rings import greedy_rings, random_factors
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.model.arrays import Int32, Int64, UInt64

NEVER = np.uint64(2**64 - 1)


@dataclass(frozen=True, eq=False)
class Worlds:
    """For each person of a batch, whose suffix each false world assigns to them, and who must leave with them.

    Paper: [ST15] Section 4.1: E, the set of possible worlds. The true world is not listed.
    """

    images: Int32  # [ell - 1, n] permutations of the batch
    cell: Int32  # [n] every permutation stays within a cell
    bucket: Int32  # [n]


@dataclass(frozen=True, eq=False)
class ValueOrder:
    """People bucket after bucket, the most frequent value of a bucket first, in random order within a value.

    Paper: [ST15] Lemma 8.1: z_0 ... z_(n-1) of each bucket.
    """

    people: Int32  # [n]
    start: Int64  # [buckets + 1]


def order_by_value(bucket: Int32, sensitive: Int32, person_key: UInt64, rng: np.random.Generator) -> ValueOrder:
    """Order the people of each bucket by value; equally frequent values come in random order.

    Paper: [ST15] Lemma 8.1; erratum E1.
    """
    values = int(sensitive.max(initial=0)) + 1
    pairs = bucket.astype(np.int64) * values + sensitive
    occurring, place, count = np.unique(pairs, return_inverse=True, return_counts=True)
    chance = siphash_words(occurring, fresh_key(rng))
    rank = np.empty(len(occurring), dtype=np.int64)
    rank[np.lexsort((chance, -count, occurring // values))] = np.arange(len(occurring))
    people = np.lexsort((person_key, rank[place])).astype(np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(bucket))]).astype(np.int64)
    return ValueOrder(people, start)


def symmetric_worlds(
    bucket: Int32, order: ValueOrder, ell: int, person_key: UInt64, rng: np.random.Generator
) -> Worlds:
    """Divide each bucket into cells of ell to 2 ell - 1 different values; each world rotates every cell.

    Seen from any of its worlds a cell holds the same values in the same circle, and the other worlds rotate it by as
    many different steps. So all worlds are equally likely to have led to what was drawn (departure D2).

    Paper: [ST15] Lemma 8.1: each line of the array has different values.
    """
    sizes = np.diff(order.start)
    heights = sizes // ell
    owner = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(owner)) - order.start[owner]
    first_cell = np.cumsum(heights) - heights
    cell = np.empty(len(owner), dtype=np.int32)
    cell[order.people] = first_cell[owner] + place % np.maximum(heights, 1)[owner]
    circle = np.lexsort((person_key, cell)).astype(np.int32)
    count = np.bincount(cell)
    begin = np.cumsum(count) - count
    mine = cell[circle]
    at = np.arange(len(circle)) - begin[mine]
    steps = _random_rotations(count, ell, rng)
    images = np.empty((ell - 1, len(circle)), dtype=np.int32)
    for world in range(ell - 1):
        images[world, circle] = circle[begin[mine] + (at + steps[mine, world]) % count[mine]]
    return Worlds(images, cell, bucket)


def _random_rotations(sizes: Int64, ell: int, rng: np.random.Generator) -> Int64:
    """For each cell ell - 1 different numbers from 1 to its size less 1, in random order, [cells, ell - 1]."""
    most = int(sizes.max(initial=ell))
    words = np.arange(len(sizes) * (most - 1), dtype=np.int64)
    chance = siphash_words(words, fresh_key(rng)).reshape(len(sizes), most - 1)
    chance[np.arange(1, most) >= sizes[:, None]] = NEVER
    return np.argsort(chance, axis=1, kind="stable")[:, : ell - 1] + 1


def ring_worlds(
    bucket: Int32, order: ValueOrder, sensitive: Int32, space: Space, ell: int, rng: np.random.Generator
) -> Worlds:
    """Arrange each bucket in a ring where any ell in a row differ; a world moves every person 1 to ell - 1 places on.

    Paper: [ST15] Algorithm 1, Steps 4 to 7; Equations 5 and 7.
    """
    ring = greedy_rings(space, order.people, order.start, sensitive, ell)
    offsets = random_factors(order.start, ell, fresh_key(rng))
    sizes = np.diff(order.start)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    begin = order.start[owner]
    place = np.arange(len(owner)) - begin
    words = np.arange(len(sizes) * (ell - 1), dtype=np.int64)
    chance = siphash_words(words, fresh_key(rng)).reshape(len(sizes), ell - 1)
    factor_of = np.argsort(chance, axis=1, kind="stable")  # [buckets, ell - 1] the factors in random order
    images = np.empty((ell - 1, len(ring)), dtype=np.int32)
    for world in range(ell - 1):
        offset = offsets[factor_of[owner, world], np.arange(len(owner))]
        images[world, ring] = ring[begin + (place + offset) % sizes[owner]]
    return Worlds(images, bucket.astype(np.int32), bucket)
