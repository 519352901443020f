"""Phase 1: who was published before, and with which signature.

The roster holds the signature of every person ever placed in a bucket. An episode is a new signature for people whose
sensitive value is no longer in theirs. A person's signatures are pairwise equal or disjoint, so that knowing *that* a
value changed reveals nothing about which one it was.

Paper: [XT07] Section 4.1 for the division; departure D3 for episodes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64, frozen
from reanon_core.model.errors import TooFewValues
from reanon_core.model.snapshot import Snapshot

NO_EPISODE = -1
"""The latest value of a person who was stranded, and who therefore begins no further episode."""
NEW = -1
"""The roster entry of a person who was never published."""
DISPLACED = -2
"""The roster entry of a known person whose value is in none of their signatures."""
CHANGED = -3
"""The roster entry of a person who is withheld as long as their value differs from the one they were placed with."""
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")

Choice = Callable[[frozenset[int], int], Signature | None]
"""The signature for a person who was hidden among these values and has that one now; None if there is none."""


@dataclass(frozen=True, eq=False)
class Roster:
    """The signature and the latest value of every person ever placed in a bucket.

    They were published with it, unless balancing has withheld them so far.

    A person whose sensitive value changed has one row for each of their signatures, which share no value.
    """

    persons: Int64  # [p] ascending
    signature: Int32  # [p] number of the signature
    sensitive: Int32  # [p] the latest value with that signature, or NO_EPISODE

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in (("persons", np.int64), ("signature", np.int32), ("sensitive", np.int32)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @staticmethod
    def empty() -> "Roster":
        """The roster before the first release."""
        return Roster(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))

    def rows(self, kept: Bool) -> "Roster":
        """Some of the rows."""
        return Roster(self.persons[kept], self.signature[kept], self.sensitive[kept])

    def recorded(self, entry: Int32, persons: Int64, signature: Int32, sensitive: Int32) -> "Roster":
        """The roster after these people are placed; `entry` [n] is their row in it, negative if they have none."""
        if not len(self.persons):
            return Roster(persons, signature, sensitive)
        latest = self.sensitive.copy()
        known = entry >= 0
        kept = entry[known]
        latest[kept] = np.where(latest[kept] == NO_EPISODE, NO_EPISODE, sensitive[known])
        new = ~known
        return Roster(*_merged(self.persons, self.signature, latest, persons[new], signature[new], sensitive[new]))

    def with_stranded(self, persons: Int64) -> "Roster":
        """The roster after these people were withheld, because no signature hides their new value.

        They begin no further episode. A later signature would hold values that could not have been withheld before, so
        it would tell who has not had them all along.
        """
        if not len(persons):
            return self
        latest = np.where(np.isin(self.persons, persons), NO_EPISODE, self.sensitive)
        return Roster(self.persons, self.signature, latest.astype(np.int32))


@compiled
def _merged(
    persons: Int64, signature: Int32, sensitive: Int32, new: Int64, new_signature: Int32, new_sensitive: Int32
) -> tuple[Int64, Int32, Int32]:
    """Two ascending lists of people as one; the old rows of a person come first."""
    total = len(persons) + len(new)
    who, where, what = np.empty(total, np.int64), np.empty(total, np.int32), np.empty(total, np.int32)
    old, fresh = 0, 0
    for at in range(total):
        if fresh == len(new) or (old < len(persons) and persons[old] <= new[fresh]):
            who[at], where[at], what[at] = persons[old], signature[old], sensitive[old]
            old += 1
        else:
            who[at], where[at], what[at] = new[fresh], new_signature[fresh], new_sensitive[fresh]
            fresh += 1
    return who, where, what


@dataclass(frozen=True, eq=False)
class Division:
    """Each row's entry in the roster, and what changed since.

    Paper: [XT07] Section 4.1, division. Departure D1: all people ever published are old, not only those of T(n-1).
    """

    entry: Int32  # [n] row of the roster, or NEW, or DISPLACED
    changed: Bool  # [n] known people whose sensitive value has changed

    def without_changed(self) -> "Division":
        """The same, and everyone whose value has changed has no entry."""
        return Division(np.where(self.changed, np.int32(CHANGED), self.entry), self.changed)


def divide(snapshot: Snapshot, roster: Roster, signatures: Signatures) -> Division:
    """Find each person in the roster, with the signature that contains their present value."""
    return divide_people(snapshot.persons, snapshot.sensitive, roster, signatures)


def divide_people(persons: Int64, sensitive: Int32, roster: Roster, signatures: Signatures) -> Division:
    """The same for any people, in ascending order, with their values."""
    known = (roster.persons, roster.signature, roster.sensitive)
    return Division(*_divide(*known, signatures.offsets, signatures.values, persons, sensitive))


@compiled
def _divide(
    known: Int64,
    signature: Int32,
    latest: Int32,
    offsets: Int64,
    values: Int32,
    persons: Int64,
    sensitive: Int32,
) -> tuple[Int32, Bool]:
    """Both lists of people are ascending, so one pass over them finds everyone."""
    entry = np.full(len(persons), NEW, dtype=np.int32)
    changed = np.zeros(len(persons), dtype=np.bool_)
    at = 0
    for row in range(len(persons)):
        while at < len(known) and known[at] < persons[row]:
            at += 1
        i = at
        while i < len(known) and known[i] == persons[row]:
            if entry[row] < 0:
                entry[row] = DISPLACED
            for slot in range(offsets[signature[i]], offsets[signature[i] + 1]):
                if values[slot] == sensitive[row]:
                    entry[row] = i
            i += 1
        if entry[row] != NEW:
            changed[row] = entry[row] == DISPLACED or latest[entry[row]] != sensitive[row] or i - at > 1
    return entry, changed


@dataclass(frozen=True, eq=False)
class Episodes:
    """The signatures of people who begin an episode."""

    signatures: Signatures
    """The list with the new ones at its end."""
    signature: Int32  # [n] -1 for rows that begin no episode
    stranded: Int64  # [s] the rows for which no signature is left


def begun_episodes(
    snapshot: Snapshot, division: Division, roster: Roster, signatures: Signatures, choice: Choice
) -> Episodes:
    """A signature for each displaced row, as `choice` says; none for a person who was stranded before.

    Raises: TooFewValues, with all people for whom `choice` raises it.
    """
    chosen = np.full(snapshot.size, -1, dtype=np.int32)
    stranded, refused, refusal = [], [], ""
    before = signatures
    for row in np.flatnonzero(division.entry == DISPLACED).tolist():
        first, last = (int(roster.persons.searchsorted(snapshot.persons[row], side=side)) for side in SIDES)
        had = frozenset(value for entry in range(first, last) for value in before.tuples[roster.signature[entry]])
        lost = (roster.sensitive[first:last] == NO_EPISODE).any()
        try:
            signature = None if lost else choice(had, int(snapshot.sensitive[row]))
        except TooFewValues as error:
            refused.append(row)
            refusal = refusal or error.said
            continue
        if signature is None:
            stranded.append(row)
            continue
        if signature not in signatures.number:
            signatures = signatures.extended([signature])
        chosen[row] = signatures.number[signature]
    if refused:
        raise TooFewValues(refusal, persons=snapshot.persons[refused])
    return Episodes(signatures, chosen, np.array(stranded, dtype=np.int64))


def block_choice(signatures: Signatures, depth: Int64, known: Bool, m: int) -> Choice:
    """The block of the new value, in a partition of the values that depends on the person's earlier ones alone.

    `depth` is the number of layers of each bucket, `known` [values] what is declared, or shown by now. Deep buckets
    make cheap blocks: a person who joins one rarely needs counterfeits.

    Ensures: every value of a signature leads to it with certainty, so the signature does not tell which one it was.
    Whether a person is stranded does not depend on their new value either, as long as it is known.
    """
    in_use = sorted(np.flatnonzero(depth).tolist(), key=lambda s: (-int(depth[s]), signatures.tuples[s]))
    candidates = [signatures.tuples[s] for s in in_use if len(signatures.tuples[s]) >= m]
    partitions: dict[frozenset[int], dict[int, Signature]] = {}

    def choose(had: frozenset[int], value: int) -> Signature | None:
        if had not in partitions:
            allowed = [v for v in np.flatnonzero(known).tolist() if v not in had]
            blocks = partition_of_values(allowed, candidates, m)
            partitions[had] = {v: block for block in blocks for v in block}
        return partitions[had].get(value)

    return choose


def partition_of_values(allowed: list[int], candidates: Iterable[Signature], m: int) -> list[Signature]:
    """A partition of the allowed values into blocks of m or more, with candidates first; empty if they are too few."""
    left, blocks = set(allowed), []
    for candidate in candidates:
        rest = len(left) - len(candidate)
        if left.issuperset(candidate) and (rest == 0 or rest >= m):
            blocks.append(candidate)
            left.difference_update(candidate)
    if len(left) < m:
        return blocks
    listed = sorted(left)
    count = len(listed) // m
    cut = [listed[at * m : (at + 1) * m if at + 1 < count else None] for at in range(count)]
    return [*blocks, *(tuple(block) for block in cut)]


def frequency_choice(signatures: Signatures, pool: Int64, m: int) -> Choice:
    """The smallest known signature with the new value, or else the value with the most frequent others.

    This is the way of filled balancing. Who knows it can read the new value off the signature.

    Raises, when it is used: TooFewValues if too few values are outside the signatures that a person already had.
    """
    chosen: dict[tuple[frozenset[int], int], Signature] = {}

    def choose(had: frozenset[int], value: int) -> Signature:
        if (had, value) not in chosen:
            listed = [*signatures.tuples, *chosen.values()]
            chosen[had, value] = _frequent_signature(value, had, listed, pool, m)
        return chosen[had, value]

    return choose


def _frequent_signature(value: int, had: frozenset[int], listed: list[Signature], pool: Int64, m: int) -> Signature:
    fitting = [s for s in listed if len(s) >= m and value in s and had.isdisjoint(s)]
    if fitting:
        return min(fitting, key=lambda signature: (len(signature), signature))
    others = [int(v) for v in np.argsort(-pool, kind="stable") if v != value and int(v) not in had]
    if len(others) < m - 1:
        raise TooFewValues(
            f"on_sensitive_change: episode needs a new signature of m = {m} values that shares none with the "
            f"{len(had)} a person was hidden among before, and only {len(others) + 1} of {len(pool)} known values are "
            f"left; leave such a person out of the snapshot"
        )
    return tuple(sorted([value, *others[: m - 1]]))
