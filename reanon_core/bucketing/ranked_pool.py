"""The new rows that are left to assignment, value by value, with the most frequent value at hand."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.tournament import ABSENT, replay_matches, tournament, tournament_keys
from reanon_core.model.arrays import Float64, Int32, Int64


class RankedPool(NamedTuple):
    """The new rows that are left of each value, the most frequent value first; changed in place."""

    rows: Int64  # [values]
    keys: Float64  # [room, 1] the same
    winner: Int32  # [2 * room]


def ranked_pool(pool: Int64) -> RankedPool:
    """The pool before the first step."""
    keys = tournament_keys(len(pool), 1)
    keys[: len(pool), 0] = pool
    return RankedPool(pool.copy(), keys, tournament(keys))


@compiled
def set_rows(left: RankedPool, value: int, rows: int) -> None:
    """Say how many rows of the value are left."""
    left.rows[value] = rows
    left.keys[value, 0] = rows
    replay_matches(left.keys, left.winner, value)


@compiled
def most_frequent(left: RankedPool, count: int) -> Int32:
    """The values with the most rows, the first of equal ones first."""
    listed = np.empty(count, dtype=np.int32)
    for i in range(count):
        listed[i] = left.winner[1]
        left.keys[listed[i], 0] = ABSENT
        replay_matches(left.keys, left.winner, listed[i])
    for i in range(count):
        set_rows(left, listed[i], left.rows[listed[i]])
    return listed
