"""The domain of each quasi-identifier, by which lengths and ranges are normalised."""

import numpy as np

from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.snapshot import Snapshot

PART = 1 << 20
"""How many codes are copied at a time."""


def domains(snapshot: Snapshot) -> Int64:
    """First and last code of each attribute, int64[2, d]: as declared, or as they occur in the snapshot.

    The values of a category are its leaves, whether or not a domain is declared. An attribute without any
    value has the domain 0 to 0.
    """
    found = np.zeros((2, len(snapshot.schema.quasi_identifiers)), dtype=np.int64)
    for attribute, column in enumerate(snapshot.schema.quasi_identifiers):
        if column.domain is not None:
            found[:, attribute] = column.domain
        elif column.taxonomy is not None:
            found[:, attribute] = 0, len(column.taxonomy.leaves) - 1
        else:
            found[:, attribute] = _extent(snapshot.qi[attribute])
    return found


def _extent(codes: Int32) -> tuple[int, int]:
    """The least and the largest code that is not missing, looked up a part at a time; 0 and 0 if there is none."""
    ends = []
    for start in range(0, len(codes), PART):
        part = codes[start : start + PART]
        present = part[part != MISSING]
        if len(present):
            ends += [int(present.min()), int(present.max())]
    return min(ends, default=0), max(ends, default=0)
