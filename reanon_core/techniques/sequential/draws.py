"""Every draw of the worlds of a small batch, with its exact probability."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, groupby, permutations, product
from math import factorial, prod

import numpy as np

from reanon_core.kernels.rings import greedy_rings
from reanon_core.model.arrays import Int32
from reanon_core.techniques.sequential.batches import Batch
from reanon_core.techniques.sequential.worlds import Worlds

Images = tuple[tuple[int, ...], ...]
"""Whose suffix each false world assigns to each person of a bucket, by their places in it."""
Cells = tuple[int, ...]
"""The cell of each person of a bucket."""
BucketDraws = dict[tuple[Images, Cells], Fraction]


def value_order_count(values: Sequence[int]) -> int:
    """How many orders of these people by value are equally likely: chance among equally frequent values, and people."""
    counts = Counter(values)
    return prod(map(factorial, Counter(counts.values()).values())) * prod(map(factorial, counts.values()))


def draws_of(batch: Batch, ell: int, *, ring: bool) -> Iterator[tuple[Worlds, Fraction]]:
    """The worlds that can be drawn for these buckets, in one order of each set of worlds, and how likely each is.

    A release matches worlds in random order, so their own order does not matter.

    Requires: with ring worlds, ell is 2. The random walks of more worlds are not uniform, and are not enumerated.
    """
    members = [np.flatnonzero(batch.bucket == bucket) for bucket in range(int(batch.bucket.max(initial=-1)) + 1)]
    each = [
        _ring_draws(batch, people.astype(np.int32))
        if ring
        else symmetric_draws(tuple(batch.sensitive[people].tolist()), ell)
        for people in members
    ]
    found: dict[tuple[Images, Cells], Fraction] = {}
    for drawn in product(*(one.items() for one in each)):
        image, cell, cells = np.empty((ell - 1, len(batch.persons)), dtype=np.int64), [0] * len(batch.persons), 0
        for people, ((places, own), _) in zip(members, drawn, strict=True):
            image[:, people] = people[np.array(places)]
            for person, line in zip(people.tolist(), own, strict=True):
                cell[person] = cells + line
            cells += max(own) + 1
        key = tuple(sorted(map(tuple, image.tolist()))), tuple(cell)
        found[key] = found.get(key, Fraction(0)) + prod((chance for _, chance in drawn), start=Fraction(1))
    for (images, lines), chance in found.items():
        yield Worlds(np.array(images, dtype=np.int32), np.array(lines, dtype=np.int32), batch.bucket), chance


def symmetric_draws(values: tuple[int, ...], ell: int) -> BucketDraws:
    """The cells of every order by value, the circles of every cell, and the rotations of every circle."""
    orders = Counter(_cells(order, ell) for order in _value_orders(values))
    total = sum(orders.values())
    found: dict[tuple[Images, Cells], Fraction] = {}
    for cells, count in orders.items():
        people = [[place for place, own in enumerate(cells) if own == cell] for cell in range(max(cells) + 1)]
        rotations = [_rotations(members, ell) for members in people]
        chance = Fraction(count, total * prod(sum(one.values()) for one in rotations))
        for drawn in product(*(one.items() for one in rotations)):
            image = [[0] * len(values) for _ in range(ell - 1)]
            for members, (targets, _) in zip(people, drawn, strict=True):
                for world, target in enumerate(targets):
                    for person, other in zip(members, target, strict=True):
                        image[world][person] = other
            key = (tuple(map(tuple, image)), cells)
            found[key] = found.get(key, Fraction(0)) + chance * prod(count for _, count in drawn)
    return found


def _ring_draws(batch: Batch, people: Int32) -> BucketDraws:
    """The ring of every order by value; with two worlds each person has the suffix of the next one."""
    values = tuple(batch.sensitive[people].tolist())
    start = np.array([0, len(people)], dtype=np.int64)
    found: Counter[tuple[Images, Cells]] = Counter()
    for order in _value_orders(values):
        ring = greedy_rings(batch.space, people[list(order)], start, batch.sensitive, 2)
        follower = dict(zip(ring.tolist(), np.roll(ring, -1).tolist(), strict=True))
        image = tuple(int(np.searchsorted(people, follower[person])) for person in people.tolist())
        found[(image,), (0,) * len(people)] += 1
    total = sum(found.values())
    return {key: Fraction(count, total) for key, count in found.items()}


def _value_orders(values: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every order of the people with the more frequent values first; all are equally likely."""
    counts = Counter(values)
    ranked = sorted(counts, key=lambda value: -counts[value])
    ties = [list(same) for _, same in groupby(ranked, key=lambda value: counts[value])]
    people = {value: [place for place, own in enumerate(values) if own == value] for value in counts}
    for ordered in product(*(permutations(same) for same in ties)):
        for blocks in product(*(permutations(people[value]) for value in chain(*ordered))):
            yield tuple(chain(*blocks))


def _cells(order: tuple[int, ...], ell: int) -> Cells:
    """The cell of each person, numbered by its first person."""
    height = len(order) // ell
    line = [0] * len(order)
    for place, person in enumerate(order):
        line[person] = place % height
    number: dict[int, int] = {}
    return tuple(number.setdefault(own, len(number)) for own in line)


def _rotations(members: list[int], ell: int) -> Counter[Images]:
    """Whose suffix each world assigns to each member, for every circle and every list of rotations."""
    size = len(members)
    found: Counter[Images] = Counter()
    for rest in permutations(members[1:]):
        circle = (members[0], *rest)
        at = [circle.index(person) for person in members]
        for turns in permutations(range(1, size), ell - 1):
            found[tuple(tuple(circle[(place + turn) % size] for place in at) for turn in turns)] += 1
    return found
