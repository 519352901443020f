"""Episodes: a new signature for people whose sensitive value is no longer in theirs.

Paper: none; departure D3. A person's signatures are pairwise equal or disjoint, so that knowing *that* a value changed
reveals nothing about which one it was.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reanon_core.bucketing.division import DISPLACED, Division
from reanon_core.bucketing.roster import NO_EPISODE, Roster
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.errors import TooFewValues
from reanon_core.model.snapshot import Snapshot

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")

Choice = Callable[[frozenset[int], int], Signature | None]
"""The signature for a person who was hidden among these values and has that one now; None if there is none."""


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
            f"left; leave such a person out of the snapshot, or start a new series with a smaller m"
        )
    return tuple(sorted([value, *others[: m - 1]]))
