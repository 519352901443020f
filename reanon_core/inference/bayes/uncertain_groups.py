"""The Omega-estimate where the adversary does not know which group contains a person."""

import numpy as np

from reanon_core.inference.view.possible_groups import Memberships
from reanon_core.model.arrays import Float64, Int64


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
