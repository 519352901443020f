"""The domain of each quasi-identifier, by which lengths and ranges are normalised."""

import numpy as np

from reanon_core.model.arrays import MISSING, Int64
from reanon_core.model.snapshot import Snapshot


def domains(snapshot: Snapshot) -> Int64:
    """First and last code of each attribute, int64[2, d]: as declared, or as they occur in the snapshot.

    The values of a category are its leaves, whether or not a domain is declared. An attribute without any
    value has the domain 0 to 0.
    """
    found = np.zeros((2, len(snapshot.schema.quasi_identifiers)), dtype=np.int64)
    for attribute, column in enumerate(snapshot.schema.quasi_identifiers):
        present = snapshot.qi[attribute][snapshot.qi[attribute] != MISSING]
        if column.domain is not None:
            found[:, attribute] = column.domain
        elif column.taxonomy is not None:
            found[:, attribute] = 0, len(column.taxonomy.leaves) - 1
        elif len(present):
            found[:, attribute] = present.min(), present.max()
    return found
