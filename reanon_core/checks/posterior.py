"""How an adversary shares a group's values out among its members: the judge's own arithmetic."""

import numpy as np

from reanon_core.model.arrays import Float64, Int32

TURNS = 500
STEADY = 1e-10
FAINT = 1e-12


def shared_out(posterior: str, expected: Float64, group: Int32, shown: Float64) -> Float64:
    """The probability of each value for each person [n, values], once the groups are seen; rows sum up to 1.

    `expected` [n, values] is from before, `group` [n] is where each person is, `shown` [groups, values] what is there.
    Paper: [RPB12] Section 5.2.
    """
    size = np.bincount(group, minlength=len(shown)).astype(np.float64)
    column = np.zeros(shown.shape)
    np.add.at(column, group, expected)
    there, all_of = shown[group], column[group]
    if posterior == "omega":
        even = 1 / np.maximum(size, 1)[group][:, None]
        weight = there * np.where(all_of > 0, expected / np.where(all_of > 0, all_of, 1), even)
    elif posterior == "sum":
        degree = (shown * column).sum(axis=1)[group][:, None]
        mine = (there * expected).sum(axis=1, keepdims=True)
        others = np.maximum(0, degree - mine - all_of + expected) / np.maximum(size[group] - 1, 1)[:, None]
        weight = there * np.where(size[group][:, None] > 1, expected + others, expected)
        weight = np.where(degree > 0, weight / np.where(degree > 0, degree, 1), 0)
    else:
        weight = _balanced(expected, group, shown)
    total = weight.sum(axis=1, keepdims=True)
    frequency = there / np.maximum(there.sum(axis=1, keepdims=True), 1)
    return np.where(total > 0, weight / np.where(total > 0, total, 1), frequency)


def _balanced(expected: Float64, group: Int32, shown: Float64) -> Float64:
    """Rows scaled to one person and columns to the tuples of each value, in turn, group by group."""
    weight = np.zeros(expected.shape)
    for number in np.unique(group):
        members, held = np.flatnonzero(group == number), np.flatnonzero(shown[number])
        block = expected[np.ix_(members, held)] + FAINT
        wanted = shown[number, held] * len(members) / shown[number].sum()
        for _ in range(TURNS):
            block = block * (wanted / block.sum(axis=0))
            sums = block.sum(axis=1, keepdims=True)
            block = block / sums
            if np.abs(sums - 1).max() < STEADY:
                break
        weight[np.ix_(members, held)] = block
    return weight
