"""Episodes: a new signature for people whose sensitive value is no longer in theirs.

Paper: none; departure D3. A person's signatures are pairwise equal or disjoint, so that knowing *that* a value changed
reveals nothing about which one it was.
"""

from typing import Literal

import numpy as np

from reanon_core.bucketing.division import DISPLACED, Division
from reanon_core.bucketing.roster import Roster
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import TooFewValues
from reanon_core.model.snapshot import Snapshot

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def displaced_signatures(
    snapshot: Snapshot, division: Division, roster: Roster, signatures: Signatures, pool: Int64, m: int
) -> tuple[Signatures, Int32]:
    """A signature for each displaced row ([n], -1 for the others), and the list of signatures with the new ones.

    Raises: TooFewValues if too few values are outside the signatures that a person already had.
    """
    chosen = np.full(snapshot.size, -1, dtype=np.int32)
    chosen_before: dict[tuple[Signature, int], int] = {}
    for row in np.flatnonzero(division.entry == DISPLACED).tolist():
        first, last = (int(roster.persons.searchsorted(snapshot.persons[row], side=side)) for side in SIDES)
        had = {value for entry in range(first, last) for value in signatures.tuples[roster.signature[entry]]}
        key = (tuple(sorted(had)), int(snapshot.sensitive[row]))
        if key not in chosen_before:
            signature = _disjoint_signature(key[1], had, signatures, pool, m)
            if signature not in signatures.number:
                signatures = signatures.extended([signature])
            chosen_before[key] = signatures.number[signature]
        chosen[row] = chosen_before[key]
    return signatures, chosen


def _disjoint_signature(value: int, had: set[int], signatures: Signatures, pool: Int64, m: int) -> Signature:
    """A signature with the value and none of those the person had: the smallest known one, or else a new one."""
    known = [s for s in signatures.tuples if len(s) >= m and value in s and had.isdisjoint(s)]
    if known:
        return min(known, key=lambda signature: (len(signature), signature))
    others = [int(v) for v in np.argsort(-pool, kind="stable") if v != value and int(v) not in had]
    if len(others) < m - 1:
        raise TooFewValues(
            f"on_sensitive_change: episode needs a new signature of m = {m} values that shares none with the "
            f"{len(had)} a person was hidden among before, and only {len(others) + 1} of {len(pool)} known values are "
            f"left; leave that person out of the snapshot, or start a new series with a smaller m"
        )
    return tuple(sorted([value, *others[: m - 1]]))
