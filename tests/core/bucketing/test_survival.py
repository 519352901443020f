"""A long series whose newcomers are unlike the rest goes on, and costs little."""

from typing import Any

import numpy as np
import pytest
from populations.survey import snapshots

from reanon_core.catalog import own_checks
from reanon_core.judgement import history_verdicts
from reanon_core.replay import replay
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

ALIVE: dict[str, Any] = {"regions": "none", "not_eligible": "partial-blocks", "balancing": "median"}


def cost(technique: MInvariance | CorSplit, years: int, seed: int, **shape: Any) -> float:
    """Withheld people and counterfeits of the last release, for each person in the table; all promises are kept."""
    ledger = replay(technique, snapshots(years, seed, **shape), np.random.default_rng(seed))
    for check in own_checks(technique):
        assert all(verdict.holds for verdict in history_verdicts(check, ledger.entries))
    last = ledger.entries[-1]
    return (last.withheld + int(last.auxiliary.count.sum())) / last.snapshot.size


def test_newcomers_who_are_not_eligible_do_not_end_a_series() -> None:
    assert cost(MInvariance(m=5, **ALIVE), 8, 3, people=2000) < 0.15


def test_newcomers_who_are_not_eligible_do_not_end_a_series_of_cor_split() -> None:
    assert cost(CorSplit(m=4, n=2, **ALIVE), 4, 3, people=600) < 0.25


def test_episodes_with_few_values_go_on() -> None:
    technique = MInvariance(m=3, on_sensitive_change="episode", **ALIVE)
    assert cost(technique, 8, 3, people=1500, values=10, changing=0.05) < 0.12


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 11, 23])
def test_twenty_two_years_cost_less_than_fifteen_in_a_hundred(seed: int) -> None:
    assert cost(MInvariance(m=5, **ALIVE), 22, seed) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("changing", [0.02, 0.05, 0.1])
def test_twenty_two_years_of_episodes_cost_less_than_twelve_in_a_hundred(changing: float) -> None:
    technique = MInvariance(m=3, on_sensitive_change="episode", **ALIVE)
    assert cost(technique, 22, 7, values=10, changing=changing) < 0.12
