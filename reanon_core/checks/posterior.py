"""The adversary's posterior (PKsv) for each member of a group: the judge's own arithmetic."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Float64, Int32

ROUNDS = 500
CONVERGED = 1e-10
FAINT = 1e-12


def group_posteriors(posterior: str, expected: Float64, group: Int32, shown: Float64) -> Float64:
    """The probability of each value for each person [n, values], given the groups; rows sum up to 1.

    `expected` [n, values] is RBKsv, `group` [n] the group of each person, `shown` [groups, values] the group's values.

    Paper: [RPB12] Section 5.2.
    """
    return GroupPosteriors.of(posterior, expected, group, shown).rows(slice(0, len(group)))


@dataclass(frozen=True, eq=False)
class GroupPosteriors:
    """What the posteriors of all people are computed from: the members of each group, and the sums over them."""

    posterior: str
    expected: Float64  # [n, values]
    group: Int32  # [n]
    shown: Float64  # [groups, values]
    size: Float64  # [groups]
    column: Float64  # [groups, values] the sum of what is expected of the members
    scaled: Float64  # [n, values] sinkhorn's weights; no rows for other posteriors

    @staticmethod
    def of(posterior: str, expected: Float64, group: Int32, shown: Float64) -> "GroupPosteriors":
        """The sums over the groups."""
        size = np.bincount(group, minlength=len(shown)).astype(np.float64)
        column = np.zeros(shown.shape)
        np.add.at(column, group, expected)
        scaled = expected[:0] if posterior in ("omega", "sum") else _sinkhorn(expected, group, shown)
        return GroupPosteriors(posterior, expected, group, shown, size, column, scaled)

    def rows(self, rows: slice) -> Float64:
        """The posteriors of some people."""
        expected, group = self.expected[rows], self.group[rows]
        in_group, group_total, size = self.shown[group], self.column[group], self.size[group][:, None]
        if self.posterior == "omega":
            even = 1 / np.maximum(size, 1)
            weight = in_group * np.where(group_total > 0, expected / np.where(group_total > 0, group_total, 1), even)
        elif self.posterior == "sum":
            degree = (self.shown * self.column).sum(axis=1)[group][:, None]
            mine = (in_group * expected).sum(axis=1, keepdims=True)
            others = np.maximum(0, degree - mine - group_total + expected) / np.maximum(size - 1, 1)
            weight = in_group * np.where(size > 1, expected + others, expected)
            weight = np.where(degree > 0, weight / np.where(degree > 0, degree, 1), 0)
        else:
            weight = self.scaled[rows]
        total = weight.sum(axis=1, keepdims=True)
        frequency = in_group / np.maximum(in_group.sum(axis=1, keepdims=True), 1)
        return np.where(total > 0, weight / np.where(total > 0, total, 1), frequency)


def _sinkhorn(expected: Float64, group: Int32, shown: Float64) -> Float64:
    """Group by group, scale rows to one person and columns to the tuples of each value, in turn."""
    weight = np.zeros(expected.shape)
    for number in np.unique(group):
        members, present = np.flatnonzero(group == number), np.flatnonzero(shown[number])
        block = expected[np.ix_(members, present)] + FAINT
        column_sums = shown[number, present] * len(members) / shown[number].sum()
        for _ in range(ROUNDS):
            block = block * (column_sums / block.sum(axis=0))
            sums = block.sum(axis=1, keepdims=True)
            block = block / sums
            if np.abs(sums - 1).max() < CONVERGED:
                break
        weight[np.ix_(members, present)] = block
    return weight
