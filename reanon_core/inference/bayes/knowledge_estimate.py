"""Background knowledge from the releases alone: what an outsider without any learns of how values follow each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reanon_core.inference.bayes.transition_counts import windows
from reanon_core.model.arrays import Float64, Int64
from reanon_core.model.background import START, Background

ROUNDS = 30
STEADY = 1e-3
"""Once no transition moves by more than this, the estimate is done."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What one release shows of each person that is in it: how often their group has each value."""

    persons: Int64  # [n] ascending
    frequency: Float64  # [n, values] sums up to 1, or to 0 for somebody whom no group can show


def estimated(releases: Sequence[Seen], values: int) -> Background:
    """The prior and the transitions, one step back, under which the releases are most to be expected.

    Expectation maximisation: what is believed of a person before and after two releases is counted as a transition in
    parts. It begins with the frequencies of the groups.
    """
    prior = np.zeros(values)
    transition = np.zeros((values, values))
    for _ in range(ROUNDS):
        started, moved = np.zeros(values), np.zeros((values, values))
        known, belief = np.empty(0, np.int64), np.empty((0, values))
        for seen in releases:
            at = known.searchsorted(seen.persons)
            old = at < len(known)
            old[old] = known[at[old]] == seen.persons[old]
            before = belief[at[old]]
            now = seen.frequency.copy()
            if transition.any():
                expected = before @ transition
                now[old] = _normalised(now[old] * (expected + 1e-9))
                moved += transition * (before.T @ (now[old] / np.maximum(expected, 1e-300)))
            else:
                moved += before.T @ now[old]
            started += now[~old].sum(axis=0)
            belief[at[old]] = now[old]
            known, belief = (
                np.insert(known, at[~old], seen.persons[~old]),
                np.insert(belief, at[~old], now[~old], axis=0),
            )
        prior, before_that, transition = started / max(started.sum(), 1e-300), transition, _normalised(moved)
        if np.abs(transition - before_that).max(initial=0) < STEADY:
            break
    following = windows(values, 1).following
    emission = np.zeros((1, len(following), values))
    emission[0, START + 1 :] = transition
    return Background(prior=prior[None], following=following, emission=emission, source="releases")


def _normalised(rows: Float64) -> Float64:
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, rows / np.where(total > 0, total, 1), 0)
