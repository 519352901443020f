"""The baseline of (B,t)-privacy, against its definition."""

import numpy as np
import pytest
from experiments.bt_privacy import BtPrivacy, kernel_prior, moved
from oracles.beliefs import divergence

from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot

SCHEMA = Schema(
    quasi_identifiers=(QuasiIdentifier(name="a", domain=(0, 9)), QuasiIdentifier(name="b", domain=(0, 9))),
    sensitive=Sensitive(name="s", values=("x", "y", "z")),
)


def snapshot(rows: int = 120) -> Snapshot:
    rng = np.random.default_rng(1)
    qi = rng.integers(0, 10, (2, rows)).astype(np.int32)
    return Snapshot(SCHEMA, np.arange(rows), qi, (qi[0] // 4 + (rng.random(rows) < 0.3)).clip(0, 2))


def test_the_prior_is_the_kernel_estimate_of_every_row() -> None:
    view, extent = snapshot(30), np.array([[0, 0], [9, 9]])
    ours = kernel_prior(view.qi, view.sensitive, 3, extent, 0.5)
    for row in range(30):
        weights = [
            np.prod([max(0, 1 - ((view.qi[a, row] - view.qi[a, other]) / 9 / 0.5) ** 2) for a in (0, 1)])
            for other in range(30)
        ]
        wanted = np.bincount(view.sensitive, weights=weights, minlength=3)
        assert ours[row] == pytest.approx(wanted / wanted.sum())


def test_moving_is_the_divergence_of_before_and_after() -> None:
    rng = np.random.default_rng(2)
    before, after = rng.dirichlet(np.ones(3), 5), rng.dirichlet(np.full(3, 0.3), 5)
    assert moved(before, after) == pytest.approx(
        [divergence(np.stack(pair)) for pair in zip(before, after, strict=True)]
    )


@pytest.mark.parametrize("t", [0.05, 0.3])
def test_the_beliefs_about_a_person_move_by_at_most_t(t: float) -> None:
    from reanon_core.inference.bayes.posteriors import omega

    view, baseline = snapshot(), BtPrivacy(k=3, t=t)
    plan = baseline.plan(view, baseline.initial_state(), np.random.default_rng(0))
    prior = kernel_prior(view.qi, view.sensitive, 3, np.array([[0, 0], [9, 9]]), 0.5)
    counts = np.zeros((plan.groups, 3), np.int64)
    np.add.at(counts, (plan.group, view.sensitive), 1)
    assert counts.sum(axis=1).min() >= 3
    assert moved(prior, omega(prior, plan.group, counts)).max() <= t
    assert plan.groups > 1
