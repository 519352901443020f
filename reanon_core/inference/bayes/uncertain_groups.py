"""The Omega-estimate where the adversary does not know which group contains a person: all whose box contains them."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import MISSING, Float64, Int32, Int64, frozen
from reanon_core.model.release import Boxes

BLOCK = 1 << 22
"""How many pairs of a person and a group are compared at a time."""
ALL_MISSING = 2


@dataclass(frozen=True, eq=False)
class Memberships:
    """The possible groups of each person, each with a probability (`share`); the shares of a person sum up to 1."""

    row: Int64  # [m] ascending
    group: Int32  # [m]
    share: Float64  # [m]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in (("row", np.int64), ("group", np.int32), ("share", np.float64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))


def possible_memberships(qi: Int32, boxes: Boxes, sizes: Int64) -> Memberships:
    """The groups whose box contains each person, `qi` [d, n], weighted by `sizes`; none for a person in no box."""
    rows, groups = [], []
    step = max(1, BLOCK // max(1, boxes.count))
    for begin in range(0, qi.shape[1], step):
        inside = np.ones((min(step, qi.shape[1] - begin), boxes.count), dtype=np.bool_)
        for attribute, codes in enumerate(qi[:, begin : begin + step]):
            low, high, missing = boxes.low[attribute], boxes.high[attribute], boxes.missing[attribute]
            within = (codes[:, None] >= low) & (codes[:, None] <= high) & (missing != ALL_MISSING)
            inside &= np.where((codes == MISSING)[:, None], missing != 0, within)
        row, group = np.nonzero(inside)
        rows.append(row + begin)
        groups.append(group)
    row = np.concatenate([np.empty(0, np.int64), *rows])
    group = np.concatenate([np.empty(0, np.int64), *groups])
    total = np.bincount(row, weights=sizes[group], minlength=qi.shape[1])
    return Memberships(row, group.astype(np.int32), sizes[group] / np.maximum(total[row], 1))


def omega_over_groups(expected: Float64, members: Memberships, values: Int64) -> Float64:
    """The Omega-estimate over all groups that may contain a person, each with its share; with one group it is `omega`.

    A person whom no group can contain keeps the knowledge from before.
    """
    row, group, share = members.row, members.group, members.share[:, None]
    column, size = np.zeros(values.shape), np.zeros(len(values))
    np.add.at(column, group, share * expected[row])
    np.add.at(size, group, members.share)
    portion = np.where(
        column[group] > 0,
        expected[row] / np.where(column[group] > 0, column[group], 1),
        1 / np.maximum(size[group], 1e-300)[:, None],
    )
    posterior = np.zeros(expected.shape)
    np.add.at(posterior, row, share * values[group] * portion)
    frequency = np.zeros(expected.shape)
    np.add.at(frequency, row, share * values[group] / np.maximum(values[group].sum(axis=1), 1)[:, None])
    total = posterior.sum(axis=1, keepdims=True)
    posterior = np.where(total > 0, posterior / np.where(total > 0, total, 1), frequency)
    unseen = posterior.sum(axis=1) == 0
    posterior[unseen] = expected[unseen] / np.maximum(expected[unseen].sum(axis=1, keepdims=True), 1e-300)
    return posterior
