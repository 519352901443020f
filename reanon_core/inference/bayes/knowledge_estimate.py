"""Background knowledge estimated from the releases alone, as an outsider without any would."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reanon_core.inference.bayes.transition_counts import windows
from reanon_core.model.arrays import Float64, Int64
from reanon_core.model.background import START, Background

ROUNDS = 30
CONVERGED = 1e-3
"""The estimate is done once no transition changes by more than this."""


@dataclass(frozen=True, eq=False)
class GroupFrequencies:
    """How frequent each value is in the group of each person of a release."""

    persons: Int64  # [n] ascending
    frequency: Float64  # [n, values] sums up to 1, or to 0 for a person whom no group can contain


def estimate_knowledge(releases: Sequence[GroupFrequencies], values: int) -> Background:
    """The prior and the one-step transitions under which the releases are most likely, by expectation maximisation.

    Expectation: the beliefs about a person at two consecutive releases count as fractions of transitions. Maximisation:
    these fractions are normalised. It starts from the frequencies of the groups.
    """
    prior = np.zeros(values)
    transition = np.zeros((values, values))
    for _ in range(ROUNDS):
        started, moved = np.zeros(values), np.zeros((values, values))
        known, belief = np.empty(0, np.int64), np.empty((0, values))
        for release in releases:
            at = known.searchsorted(release.persons)
            old = at < len(known)
            old[old] = known[at[old]] == release.persons[old]
            before = belief[at[old]]
            now = release.frequency.copy()
            if transition.any():
                expected = before @ transition
                now[old] = _normalise(now[old] * (expected + 1e-9))
                moved += transition * (before.T @ (now[old] / np.maximum(expected, 1e-300)))
            else:
                moved += before.T @ now[old]
            started += now[~old].sum(axis=0)
            belief[at[old]] = now[old]
            known, belief = (
                np.insert(known, at[~old], release.persons[~old]),
                np.insert(belief, at[~old], now[~old], axis=0),
            )
        prior, previous, transition = started / max(started.sum(), 1e-300), transition, _normalise(moved)
        if np.abs(transition - previous).max(initial=0) < CONVERGED:
            break
    following = windows(values, 1).following
    emission = np.zeros((1, len(following), values))
    emission[0, START + 1 :] = transition
    return Background(prior=prior[None], following=following, emission=emission, source="releases")


def _normalise(rows: Float64) -> Float64:
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, rows / np.where(total > 0, total, 1), 0)
