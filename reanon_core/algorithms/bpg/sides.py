"""A neighbourhood divided in two, what is published and what stays, and the principle on both sides."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64

PUBLISHED, STAYS = 0, 1
"""The two sides. The published side has one column more: the values of this release."""


@compiled
def holds(side: int, size: Int64, distinct: Int64, columns: int, k: int, ell: int) -> bool:
    """Whether one side has k people and ell values in every published column; the published side in this one too.

    Paper: [BPG] Definition 3: the principle is monotonous, so it need not be tested on unions.
    """
    if size[side] < k:
        return False
    for column in range(columns + 1 if side == PUBLISHED else columns):
        if distinct[side, column] < ell:
            return False
    return True


@compiled
def tally(
    side: int, step: int, counts: Int32, distinct: Int64, size: Int64, past: Int32, current: int, columns: int
) -> None:
    """Add a person to one side, or take them away; `current` is -1 for whoever is not in the table."""
    size[side] += step
    for column in range(columns):
        _count(side, step, counts, distinct, column, past[column])
    if current >= 0:
        _count(side, step, counts, distinct, columns, current)


@compiled
def helps(counts: Int32, distinct: Int64, past: Int32, columns: int, ell: int) -> bool:
    """Whether a person would bring a value to what stays in a column that has too few."""
    for column in range(columns):
        if distinct[STAYS, column] < ell and counts[STAYS, column, past[column]] == 0:
            return True
    return False


@compiled
def distances(qi: Int32, scale: Int64, rows: Int32, inside: Int32) -> Int64:
    """How far each of `rows` is from the smallest box around the rows `inside`, summed over the attributes."""
    far = np.zeros(len(rows), dtype=np.int64)
    missing = np.iinfo(np.int32).min
    for attribute in range(qi.shape[0]):
        low, high = np.int64(2**31), np.int64(-(2**31))
        for row in inside:
            code = qi[attribute, row]
            if code != missing:
                low, high = min(low, np.int64(code)), max(high, np.int64(code))
        if low > high:
            continue
        for i, row in enumerate(rows):
            code = np.int64(qi[attribute, row])
            if code != missing:
                far[i] += max(low - code, code - high, np.int64(0)) * scale[attribute]
    return far


@compiled
def _count(side: int, step: int, counts: Int32, distinct: Int64, column: int, value: int) -> None:
    before = counts[side, column, value]
    counts[side, column, value] = before + step
    if before == 0:
        distinct[side, column] += 1
    elif before + step == 0:
        distinct[side, column] -= 1
