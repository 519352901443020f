"""Numbers for the columns of an array, such that equal columns have equal numbers."""

import numpy as np

from reanon_core.model.arrays import Int32, Int64

WORD = 2**62
"""Numbers below this fit into a signed word."""


def column_ids(rows: Int32) -> Int64:
    """A number for each column [n] of the array [d, n], from 0 on, in lexicographic order.

    As many rows as fit share a word, because every sort costs time.
    """
    number, room = np.zeros(rows.shape[1], dtype=np.int64), 1
    for row in rows.astype(np.int64) if rows.size else ():
        least, width = int(row.min()), int(np.ptp(row)) + 1
        if room * width > WORD:
            different, number = np.unique(number, return_inverse=True)
            room = len(different)
        number, room = number * width + (row - least), room * width
    return np.unique(number, return_inverse=True)[1].astype(np.int64)
