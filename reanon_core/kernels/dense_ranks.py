"""Dense ranks of codes: 0 for the smallest value that occurs, 1 for the next, and so on."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import MISSING, Int32, Int64

DENSE_RANGE = 1 << 22
"""Up to this spread of codes a table of all codes is cheaper than a sort."""


def dense_ranks(codes: Int32) -> tuple[Int32, Int64]:
    """The rank of each code (-1 where it is missing) and the codes that occur, ascending."""
    low, high = _extent(codes)
    if low > high:
        return np.full(len(codes), -1, np.int32), np.empty(0, np.int64)
    if high - low < DENSE_RANGE:
        return _ranks_by_table(codes, low, high)
    present = codes != MISSING
    values, inverse = np.unique(codes[present], return_inverse=True)
    ranks = np.full(len(codes), -1, np.int32)
    ranks[present] = inverse
    return ranks, values.astype(np.int64)


@compiled
def _extent(codes: Int32) -> tuple[int, int]:
    low, high = 2**31, -(2**31)
    for row in range(len(codes)):
        code = int(codes[row])
        if code != MISSING:
            low, high = min(low, code), max(high, code)
    return low, high


@compiled
def _ranks_by_table(codes: Int32, low: int, high: int) -> tuple[Int32, Int64]:
    rank_of = np.zeros(high - low + 1, dtype=np.int32)
    for code in codes:
        if code != MISSING:
            rank_of[code - low] = 1
    distinct = 0
    for i in range(len(rank_of)):
        if rank_of[i]:
            rank_of[i] = distinct
            distinct += 1
        else:
            rank_of[i] = -1
    values = np.empty(distinct, dtype=np.int64)
    for i in range(len(rank_of)):
        if rank_of[i] >= 0:
            values[rank_of[i]] = i + low
    ranks = np.empty(len(codes), dtype=np.int32)
    for row in range(len(codes)):
        ranks[row] = rank_of[codes[row] - low] if codes[row] != MISSING else -1
    return ranks, values
