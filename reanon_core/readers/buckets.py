"""What a reader of the source learns from buckets: how likely they are if people of one bucket had other values.

The adversary knows the algorithm, its parameters, everyone's group, and the values of everyone outside one bucket. Two
sets of arrangements of the bucket's values are compared:

- *all* that show the same values in every group, where they are few: each person then has a place of their own;
- otherwise *relabellings*: one permutation of the signature, applied to everyone ever placed in the bucket. Who shares
  a value with whom then counts as known, which is more than the adversary of the promise knows.

Only phases 1 to 3 are replayed, over counts. With `balancing: blind` phase 4 gets the slots of a bucket without their
values, so a relabelling is split alike: its likelihood is exact. With `filled` this holds for m-invariance if the rows
of a slot differ in their quasi-identifiers; Cor-Split's repair may tell values apart by their codes. Phase 4 may split
other arrangements otherwise, so among *all* arrangements more may be ruled out than is said here. What is ruled out
here is ruled out, and a person who is certain here is certain.

Relabelling is enough to see whether a technique treats values alike: if all relabellings of the truth are as likely as
the truth, whatever the truth is, then each value of a signature has the same posterior for each person (every world is
one of as many equally likely relabellings as give the person each value).
"""

from collections.abc import Iterator
from itertools import combinations, permutations
from math import factorial
from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.options import BucketOptions
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.ledger import Ledger
from reanon_core.model.reading import Reading
from reanon_core.readers.bucket_history import (
    DISPLACED_ROW,
    NEW_ROW,
    OLD_ROW,
    WITHHELD_ROW,
    BucketHistory,
    bucket_history,
)
from reanon_core.readers.count_likelihood import CountLikelihood, WorldCounts, true_counts
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

MOST_ARRANGEMENTS = 720
"""All arrangements of a bucket are looked at if there are no more."""
MOST_WORK = 1_000_000
"""About the most buckets that are decided on, in all releases of all worlds; of too many buckets, some are read."""


def m_invariance_readings(technique: MInvariance, ledger: Ledger) -> Iterator[Reading]:
    """What a reader of the source learns from the buckets of m-invariance."""
    return bucket_readings(ledger, technique, adds_layers=False, max_lifespan=None)


def cor_split_readings(technique: CorSplit, ledger: Ledger) -> Iterator[Reading]:
    """What a reader of the source learns from the buckets of Cor-Split."""
    return bucket_readings(ledger, technique, adds_layers=True, max_lifespan=technique.max_lifespan)


def bucket_readings(
    ledger: Ledger, options: BucketOptions, *, adds_layers: bool, max_lifespan: int | None
) -> Iterator[Reading]:
    """One reading for each bucket that was ever published, or for some of them if they are very many.

    `adds_layers` says whether phase 4 may add counterfeits, `max_lifespan` how often a person may be published.

    Requires: the ledger is of a technique with buckets and these options.
    Ensures: the first arrangement is the truth; an arrangement that is ruled out cannot have been published like this.
    Raises: InvalidParameter if a person's signature is not kept.
    """
    withholds = options.balancing == "median"
    history = bucket_history(ledger, max_lifespan=max_lifespan, withholds=withholds)
    likelihood = CountLikelihood(history, options, adds_layers)
    counts = true_counts(history)
    truth = likelihood.truth(counts)
    work = max(1, history.signatures.count**2 * history.releases)  # of one world for each bucket
    most = min(MOST_ARRANGEMENTS, MOST_WORK // work)
    for bucket in range(0, history.signatures.count, max(1, work // MOST_WORK)):
        members = history.members(bucket)
        signature = np.array(history.signatures.tuples[bucket], dtype=np.int32)
        listed = history.is_small(bucket)
        if listed:
            place, arrangements, complete = _arrangements(history, bucket, members, most)
        else:
            place, complete = signature.searchsorted(history.rows.value[members]).astype(np.int32), False
            arrangements = relabellings(len(signature), most)
        moved = history.rows.kind[members] == DISPLACED_ROW
        rows = _rows_of_people(history, members, place, arrangements) if complete else _rows_of_slots(history, bucket)
        worlds = _worlds(history, counts, bucket, rows, members[moved], place[moved], arrangements[1:])
        people = np.stack([history.rows.person[members], place.astype(np.int64)])
        persons, places = np.unique(people if listed else people[:, :0], axis=1)
        yield Reading(
            persons=persons,
            place=places,
            values=signature[arrangements],
            log_likelihood=np.array([0.0, *(likelihood.world(world, truth) for world in worlds)]),
            complete=complete,
            unread=likelihood.unread,
            unlisted=None if listed else history.places,
            number=bucket,
        )


def relabellings(size: int, most: int) -> Int32:
    """Permutations of the slots of a signature, the identity first: all, or shifts and exchanges, or shifts alone."""
    if factorial(size) <= most:
        return np.array(list(permutations(range(size))), dtype=np.int32)
    identity = np.arange(size, dtype=np.int32)
    shifts = [np.roll(identity, shift) for shift in range(min(size, max(2, most)))]
    exchanges = []
    for one, other in combinations(range(size), 2) if size * (size + 1) // 2 <= most else ():
        exchanged = identity.copy()
        exchanged[[one, other]] = other, one
        exchanges.append(exchanged)
    return np.stack([*shifts, *exchanges])


def _arrangements(history: BucketHistory, bucket: int, members: Int64, most: int) -> tuple[Int32, Int32, bool]:
    """The place of each row, the slot of each place in each arrangement (the truth first), and whether it is all."""
    rows = history.rows
    signature = np.array(history.signatures.tuples[bucket], dtype=np.int32)
    slot = signature.searchsorted(rows.value[members]).astype(np.int32)
    persons, place = np.unique(rows.person[members], return_inverse=True)
    own = np.zeros(len(persons), dtype=np.int32)
    own[place] = slot
    if (own[place] == slot).all():
        everything = _all_arrangements(history, members, place.astype(np.int32), own, len(signature))
        if everything is not None and len(everything) <= most:
            return place.astype(np.int32), everything, True
    return slot, relabellings(len(signature), most), False


def _all_arrangements(history: BucketHistory, members: Int64, place: Int32, own: Int32, size: int) -> Int32 | None:
    """Every way to give the people of a bucket slots that their groups have; None if there are too many."""
    rows, people = history.rows, len(own)
    together: dict[tuple[int, int], set[int]] = {}
    groups: list[list[tuple[int, set[int]]]] = [[] for _ in range(people)]
    columns = (rows.time[members], rows.group[members], rows.layers[members], place)
    for time, group, layers, one in zip(*(column.tolist() for column in columns), strict=True):
        if group >= 0:
            with_them = together.setdefault((time, group), set())
            groups[one].append((layers, with_them))
            with_them.add(one)
    found = np.full((1, people), -1, dtype=np.int32)
    placed: set[int] = set()
    for one in _connected_order([set().union(*(with_them for _, with_them in of_one)) for of_one in groups]):
        slot = np.tile(np.arange(size, dtype=np.int32), len(found))
        found = np.repeat(found, size, axis=0)
        fits = np.ones(len(found), dtype=np.bool_)
        # People are with the same others in many releases, and others who are not placed yet take no slot.
        for layers, others in {(layers, frozenset(with_them & placed)) for layers, with_them in groups[one]}:
            if len(others) >= layers:
                fits &= (found[:, list(others)] == slot[:, None]).sum(axis=1) < layers
        found[:, one] = slot
        placed.add(one)
        found = found[fits]
        if len(found) > MOST_ARRANGEMENTS:
            return None
    is_truth = (found == own).all(axis=1)
    return np.concatenate([found[is_truth], found[~is_truth]])


def _connected_order(neighbours: list[set[int]]) -> list[int]:
    """All people, each after one of their neighbours if there is one: what is chosen for few decides the others."""
    order: list[int] = []
    seen: set[int] = set()
    for start in range(len(neighbours)):
        waiting = [start]
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                order.append(one)
                waiting += sorted(neighbours[one] - seen)
    return order


class PlaceRows(NamedTuple):
    """How many rows of a bucket there are at each place, without those of displaced people."""

    old: Int64  # [places, t]
    surplus: Int64  # [places, t]
    new: Int64  # [places, t]
    withheld: Int64  # [places, t]


def _rows_of_slots(history: BucketHistory, bucket: int) -> PlaceRows:
    """The rows if each slot is a place."""
    low, high = history.signatures.offsets[bucket : bucket + 2]
    old, surplus, new, _, awaited = history.counts
    return PlaceRows(*(counts[:, low:high].T for counts in (old, surplus, new, awaited)))


def _rows_of_people(history: BucketHistory, members: Int64, place: Int32, arrangements: Int32) -> PlaceRows:
    """The rows of a small bucket, at the places of its members."""
    rows, kind = history.rows, history.rows.kind[members]
    shape, is_old = (arrangements.shape[1], history.releases), kind == OLD_ROW
    found = []
    for chosen in (is_old, is_old & (rows.group[members] < 0), kind == NEW_ROW, kind == WITHHELD_ROW):
        table = np.zeros(shape, dtype=np.int64)
        np.add.at(table, (place[chosen], rows.time[members[chosen]]), 1)
        found.append(table)
    return PlaceRows(*found)


def _worlds(
    history: BucketHistory,
    counts: WorldCounts,
    bucket: int,
    rows: PlaceRows,
    displaced_rows: Int64,
    displaced_place: Int32,
    arrangements: Int32,
) -> Iterator[WorldCounts]:
    """The counts of the world of each arrangement."""
    low, high = history.signatures.offsets[bucket : bucket + 2].tolist()
    signature = history.signatures.values[low:high]
    moved = dict(zip(displaced_rows.tolist(), displaced_place.tolist(), strict=True))
    known = counts.withheld.T.copy()
    known[signature] -= history.counts.awaited[:, low:high].T
    for arrangement in arrangements:
        old, surplus, new, withheld = counts.old.copy(), counts.surplus.copy(), counts.new.copy(), counts.withheld
        old[:, low:high] = _by_slot(rows.old, arrangement, high - low).T
        surplus[:, low:high] = _by_slot(rows.surplus, arrangement, high - low).T
        new[:, low:high] = _by_slot(rows.new, arrangement, high - low).T
        if rows.withheld.any():
            by_value = known.copy()
            np.add.at(by_value, signature[arrangement], rows.withheld)
            withheld = by_value.T
        displaced = counts.displaced
        if moved:
            values = {row: int(signature[arrangement[at]]) for row, at in moved.items()}
            displaced = tuple(
                tuple(one._replace(value=values.get(one.row, one.value)) for one in of_release)
                for of_release in displaced
            )
        yield WorldCounts(old, surplus, new, withheld, displaced)


def _by_slot(of_places: Int64, arrangement: Int32, slots: int) -> Int64:
    """Counts of places as counts of the slots that an arrangement gives them."""
    found = np.zeros((slots, *of_places.shape[1:]), dtype=np.int64)
    np.add.at(found, arrangement, of_places)
    return found
