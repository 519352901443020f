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

import numpy as np

from reanon_core.bucketing.bucket_history import (
    DISPLACED_ROW,
    NEW_ROW,
    OLD_ROW,
    WITHHELD_ROW,
    BucketHistory,
    bucket_history,
)
from reanon_core.bucketing.count_likelihood import CountLikelihood
from reanon_core.bucketing.options import BucketOptions
from reanon_core.bucketing.world_counts import WorldCounts, true_counts
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.ledger import Ledger
from reanon_core.model.reading import Reading

MOST_ARRANGEMENTS = 720
"""All arrangements of a bucket are looked at if there are no more."""
MOST_WORK = 1_000_000
"""About the most buckets that are decided on, in all releases of all worlds; of too many buckets, some are read."""
MOST_PEOPLE = 100
"""All arrangements of a bucket are looked for if it has no more people."""


def bucket_readings(
    ledger: Ledger, options: BucketOptions, *, adds_layers: bool, max_lifespan: int | None
) -> Iterator[Reading]:
    """One reading for each bucket that was ever published, or for some of them if they are very many.

    `adds_layers` says whether phase 4 may add counterfeits, `max_lifespan` how often a person may be published.

    Requires: the ledger is of a technique with buckets and these options.
    Ensures: the first arrangement is the truth; an arrangement that is ruled out cannot have been published like this.
    Raises: InvalidParameter if a person's signature is not kept.
    """
    m = options.m if options.regions != "none" else None
    withholds = options.balancing == "median"
    history = bucket_history(ledger, max_lifespan=max_lifespan, m=m, withholds=withholds)
    likelihood = CountLikelihood(history, options, adds_layers)
    counts = true_counts(history)
    truth = likelihood.truth(counts)
    work = max(1, history.signatures.count**2 * history.releases)  # of one world for each bucket
    most = min(MOST_ARRANGEMENTS, MOST_WORK // work)
    for bucket in range(0, history.signatures.count, max(1, work // MOST_WORK)):
        members = np.flatnonzero(history.rows.bucket == bucket)
        place, arrangements, complete = _arrangements(history, bucket, members, most)
        worlds = _worlds(history, counts, bucket, members, place, arrangements[1:])
        signature = np.array(history.signatures.tuples[bucket], dtype=np.int32)
        people, first = np.unique(
            np.stack([history.rows.person[members], place.astype(np.int64)]), axis=1, return_index=True
        )
        yield Reading(
            persons=people[0],
            place=place[first],
            values=signature[arrangements],
            log_likelihood=np.array([0.0, *(likelihood.world(world, truth) for world in worlds)]),
            complete=complete,
            unread=likelihood.unread,
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
    if people > MOST_PEOPLE:
        return None
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


def _worlds(
    history: BucketHistory, counts: WorldCounts, bucket: int, members: Int64, place: Int32, arrangements: Int32
) -> Iterator[WorldCounts]:
    """The counts of the world of each arrangement."""
    rows, signatures = history.rows, history.signatures
    low, high = int(signatures.offsets[bucket]), int(signatures.offsets[bucket + 1])
    signature = signatures.values[low:high]
    kind, places = rows.kind[members], arrangements.shape[1]
    old_rows, surplus_rows, new_rows, withheld_rows = (
        np.zeros((places, history.releases, history.cells), dtype=np.int64) for _ in range(4)
    )
    is_old = kind == OLD_ROW
    for table, chosen in (
        (old_rows, is_old),
        (surplus_rows, is_old & (rows.group[members] < 0)),
        (new_rows, kind == NEW_ROW),
        (withheld_rows, kind == WITHHELD_ROW),
    ):
        np.add.at(table, (place[chosen], rows.time[members[chosen]], rows.cell[members[chosen]]), 1)
    moving = kind == DISPLACED_ROW
    moved = dict(zip(members[moving].tolist(), place[moving].tolist(), strict=True))
    known = counts.withheld.T.copy()
    withheld_here = members[kind == WITHHELD_ROW]
    np.subtract.at(known, (rows.value[withheld_here], rows.time[withheld_here]), 1)
    for arrangement in arrangements:
        old, surplus, new, withheld = counts.old.copy(), counts.surplus.copy(), counts.new.copy(), counts.withheld
        old_part, surplus_part, new_part = np.zeros((3, high - low, history.releases, history.cells), dtype=np.int64)
        for part, of_places in ((old_part, old_rows), (surplus_part, surplus_rows), (new_part, new_rows)):
            np.add.at(part, arrangement, of_places)
        old[:, low:high] = old_part.sum(axis=2).T
        surplus[:, low:high] = surplus_part.sum(axis=2).T
        new[:, :, low:high] = new_part.transpose(1, 2, 0)
        if len(withheld_here):
            by_value = known.copy()
            np.add.at(by_value, signature[arrangement], withheld_rows.sum(axis=2))
            withheld = by_value.T
        displaced = counts.displaced
        if moved:
            values = {row: int(signature[arrangement[at]]) for row, at in moved.items()}
            displaced = tuple(
                tuple(one._replace(value=values.get(one.row, one.value)) for one in of_release)
                for of_release in displaced
            )
        yield WorldCounts(old, surplus, new, withheld, displaced)
