"""Phase 1: who was published before, and with which signature."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.roster import Roster
from reanon_core.bucketing.signatures import Signatures
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.snapshot import Snapshot

NEW = -1
"""The roster entry of a person who was never published."""
DISPLACED = -2
"""The roster entry of a known person whose value is in none of their signatures."""


@dataclass(frozen=True, eq=False)
class Division:
    """Each row's entry in the roster, and what changed since.

    Paper: [XT07] Section 4.1, division. Departure D1: all people ever published are old, not only those of T(n-1).
    """

    entry: Int32  # [n] row of the roster, or NEW, or DISPLACED
    changed: Bool  # [n] known people whose sensitive value has changed


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
