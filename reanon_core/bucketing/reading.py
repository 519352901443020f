"""What a reader of the source learns from buckets: how likely they are if people of one bucket had other values.

The adversary knows the algorithm, its parameters, everyone's group, and the values of everyone outside one bucket. Two
sets of arrangements of the bucket's values are compared:

- *all* that show the same values in every group, where they are few: each person then has a place of their own;
- otherwise *relabellings*: one permutation of the signature, applied to everyone ever placed in the bucket. Who shares
  a value with whom then counts as known, which is more than the adversary of the promise knows.

Only phases 1 to 3 are replayed, over counts. Phase 4 splits the slots of a bucket without looking at what values they
stand for, so a relabelling is split alike: its likelihood is exact. It may split other arrangements otherwise, so among
*all* arrangements more may be ruled out than is said here. A person who is certain here is certain.

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
from reanon_core.bucketing.count_likelihood import CountLikelihood, WorldCounts, true_counts
from reanon_core.bucketing.options import BucketOptions
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.ledger import Ledger
from reanon_core.model.reading import Reading

MOST_ARRANGEMENTS = 720
"""All arrangements of a bucket are looked at if there are no more; otherwise shifts and exchanges of two values."""
MOST_STEPS = 20_000
"""The most steps of the search for all arrangements of a bucket."""


def bucket_readings(
    ledger: Ledger, options: BucketOptions, *, adds_layers: bool, max_lifespan: int | None
) -> Iterator[Reading]:
    """One reading for each bucket that was ever published.

    `adds_layers` says whether phase 4 may add counterfeits, `max_lifespan` how often a person may be published.

    Requires: the ledger is of a technique with buckets and these options.
    Ensures: the first arrangement is the truth, and the likelihood of a relabelling is exact.
    Raises: InvalidParameter if a person's signature is not kept.
    """
    history = bucket_history(ledger, max_lifespan=max_lifespan)
    likelihood = CountLikelihood(history, options, adds_layers)
    counts = true_counts(history)
    truth = likelihood.truth(counts)
    for bucket in range(history.signatures.count):
        members = np.flatnonzero(history.rows.bucket == bucket)
        place, arrangements, complete = _arrangements(history, bucket, members)
        worlds = _worlds(history, counts, bucket, members, place, arrangements)
        signature = np.array(history.signatures.tuples[bucket], dtype=np.int32)
        people, first = np.unique(
            np.stack([history.rows.person[members], place.astype(np.int64)]), axis=1, return_index=True
        )
        yield Reading(
            persons=people[0],
            place=place[first],
            values=signature[arrangements],
            log_likelihood=np.array([likelihood.world(world, truth) for world in worlds]),
            complete=complete,
        )


def relabellings(size: int) -> Int32:
    """Permutations of the slots of a signature, the identity first: all, or shifts and exchanges if they are many."""
    if factorial(size) <= MOST_ARRANGEMENTS:
        return np.array(list(permutations(range(size))), dtype=np.int32)
    identity = np.arange(size, dtype=np.int32)
    exchanges = []
    for one, other in combinations(range(size), 2):
        exchanged = identity.copy()
        exchanged[[one, other]] = other, one
        exchanges.append(exchanged)
    return np.stack([*(np.roll(identity, shift) for shift in range(size)), *exchanges])


def _arrangements(history: BucketHistory, bucket: int, members: Int64) -> tuple[Int32, Int32, bool]:
    """The place of each row, the slot of each place in each arrangement (the truth first), and whether it is all."""
    rows = history.rows
    signature = np.array(history.signatures.tuples[bucket], dtype=np.int32)
    slot = signature.searchsorted(rows.value[members]).astype(np.int32)
    persons, place = np.unique(rows.person[members], return_inverse=True)
    own = np.zeros(len(persons), dtype=np.int32)
    own[place] = slot
    if (own[place] == slot).all():
        everything = _all_arrangements(history, members, place.astype(np.int32), own, len(signature))
        if everything is not None:
            return place.astype(np.int32), everything, True
    return slot, relabellings(len(signature)), False


def _all_arrangements(history: BucketHistory, members: Int64, place: Int32, own: Int32, size: int) -> Int32 | None:
    """Every way to give the people of a bucket slots that their groups have; None if there are too many."""
    people, rows = len(own), history.rows
    if people > MOST_ARRANGEMENTS:
        return None
    together: dict[tuple[int, int], list[int]] = {}
    groups: list[list[tuple[int, list[int]]]] = [[] for _ in range(people)]
    for row, one in zip(members.tolist(), place.tolist(), strict=True):
        if rows.group[row] >= 0:
            with_them = together.setdefault((int(rows.time[row]), int(rows.group[row])), [])
            groups[one].append((int(rows.layers[row]), with_them))
            with_them.append(one)
    found: list[list[int]] = []
    chosen, steps = [-1] * people, 0
    waiting = [(0, slot) for slot in range(size)]
    while waiting:
        at, slot = waiting.pop()
        chosen[at:] = [-1] * (people - at)
        if any(sum(chosen[one] == slot for one in with_them) == layers for layers, with_them in groups[at]):
            continue
        chosen[at], steps = slot, steps + 1
        if at + 1 < people:
            waiting += [(at + 1, other) for other in range(size)]
        else:
            found.append(list(chosen))
        if steps > MOST_STEPS or len(found) > MOST_ARRANGEMENTS:
            return None
    listed = np.array(found, dtype=np.int32)
    is_truth = (listed == own).all(axis=1)
    return np.concatenate([listed[is_truth], listed[~is_truth]])


def _worlds(
    history: BucketHistory, counts: WorldCounts, bucket: int, members: Int64, place: Int32, arrangements: Int32
) -> Iterator[WorldCounts]:
    """The counts of the world of each arrangement."""
    rows, signatures = history.rows, history.signatures
    low, high = int(signatures.offsets[bucket]), int(signatures.offsets[bucket + 1])
    signature = signatures.values[low:high]
    time, kind = rows.time[members], rows.kind[members]
    is_old, is_new, is_withheld = (kind == one for one in (OLD_ROW, NEW_ROW, WITHHELD_ROW))
    moved = {int(row): int(at) for row, at in zip(members, place, strict=True) if rows.kind[row] == DISPLACED_ROW}
    withheld_of_others = counts.withheld.copy()
    np.subtract.at(withheld_of_others, (time[is_withheld], rows.value[members[is_withheld]]), 1)
    for arrangement in arrangements:
        slot = arrangement[place]
        old, new, withheld = counts.old.copy(), counts.new.copy(), withheld_of_others.copy()
        old[:, low:high] = new[:, low:high] = 0
        np.add.at(old, (time[is_old], low + slot[is_old]), 1)
        np.add.at(new, (time[is_new], low + slot[is_new]), 1)
        np.add.at(withheld, (time[is_withheld], signature[slot[is_withheld]]), 1)
        displaced = counts.displaced
        if moved:
            values = {row: int(signature[arrangement[at]]) for row, at in moved.items()}
            displaced = tuple(
                tuple(one._replace(value=values.get(one.row, one.value)) for one in of_release)
                for of_release in displaced
            )
        yield WorldCounts(old, new, withheld, displaced)
