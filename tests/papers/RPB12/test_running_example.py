"""The numbers of the paper's running example, and of the formulas on it."""

import numpy as np
import pytest

from papers.RPB12.example import (
    ALICE,
    BCM_POS,
    CX_NEG,
    HISTORY,
    KNOWLEDGE,
    MAM_POS,
    PNE_POS,
    SECOND_PEOPLE,
    second_entry,
    table_3b,
)
from reanon_core.attacks.background import BackgroundAttack
from reanon_core.checks.js_divergence import divergences
from reanon_core.finding_truth import adversary_gain
from reanon_core.inference.bayes.beliefs import Beliefs, Observation
from reanon_core.inference.bayes.posteriors import posteriors
from reanon_core.inference.bayes.transition_counts import TransitionCounts, automaton_of, windows
from reanon_core.kernels.group_distances import distributions, jensen_shannon
from reanon_core.kernels.hilbert import hilbert_indices

RBK = np.array([[0.31, 0.05], [0.02, 0.31]])
PAIR, BOTH = np.zeros(2, np.int32), np.ones((1, 2), np.int64)


def after_the_first() -> tuple[Beliefs, np.ndarray]:
    """The beliefs after the first release, and what is then expected of Alice and Carol."""
    automaton = automaton_of(table_3b(), None, 7)
    first = next(BackgroundAttack().beliefs(HISTORY, KNOWLEDGE))
    classes = np.zeros(4, np.int32)
    expected = Beliefs.empty().expected(first.persons, classes, automaton)
    seen = Observation(first.persons, classes, expected, first.posterior)
    beliefs = Beliefs.empty().revise(seen, automaton, "product")
    return beliefs, beliefs.expected(SECOND_PEOPLE.persons[:2], classes[:2], automaton)


def test_the_first_release_leaves_both_values_equally_likely() -> None:
    first = next(BackgroundAttack().beliefs(HISTORY, KNOWLEDGE))
    assert first.posterior[ALICE, [MAM_POS, CX_NEG]] == pytest.approx([0.5, 0.5])
    assert np.count_nonzero(np.isclose(first.posterior, 0.5)) == 8


def test_the_revised_knowledge_is_that_of_table_4b() -> None:
    _, expected = after_the_first()
    assert expected[:, [BCM_POS, PNE_POS]] == pytest.approx(RBK)


@pytest.mark.parametrize(
    ("engine", "alice"), [("sum", 0.898551), ("bayes", 0.989701), ("omega", 0.871194), ("sinkhorn", 0.907434)]
)
def test_the_posterior_of_alice_by_each_engine(engine: str, alice: float) -> None:
    assert posteriors(engine, RBK, PAIR, BOTH)[0, 0] == pytest.approx(alice, abs=5e-7)  # type: ignore[arg-type]


def test_the_omega_posterior_of_carol() -> None:
    assert posteriors("omega", RBK, PAIR, BOTH)[1, 1] == pytest.approx(0.934247, abs=5e-7)


def test_the_attack_gives_the_posterior_of_table_4c() -> None:
    *_, second = BackgroundAttack(posterior="sum").beliefs(HISTORY, KNOWLEDGE)
    assert second.posterior[0, BCM_POS] == pytest.approx(0.898551, abs=5e-7)
    assert round(float(second.posterior[0, BCM_POS]), 1) == 0.9


def test_the_gain_about_alice_by_the_sum() -> None:
    *_, second = BackgroundAttack(posterior="sum").beliefs(HISTORY, KNOWLEDGE)
    alone = np.full(second.posterior.shape, 0.0)
    alone[0] = second.posterior[0]
    entry = second_entry()
    truth = entry.snapshot.sensitive
    shares = np.array([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3])
    alone[np.arange(1, 5), truth[1:]] = shares[1:]  # all others are known by the frequencies alone: they add nothing
    assert adversary_gain(entry, second.persons, alone).gain * 5 == pytest.approx(0.797101, abs=5e-7)


def test_the_divergence_of_the_two_normalised_rows() -> None:
    rows, entropy = distributions(RBK)
    assert jensen_shannon(rows.sum(axis=0), float(entropy.sum()), 2) == pytest.approx(0.539991, abs=5e-7)
    assert divergences(RBK, PAIR, 1)[0] == pytest.approx(0.539991, abs=5e-7)


def test_a_place_on_the_hilbert_curve() -> None:
    point = np.array([[3], [1], [7]], dtype=np.int32)
    assert hilbert_indices(point, np.zeros(3, np.int64), np.full(3, 7), 3)[0] == 85


def mined(*, normalised: bool) -> np.ndarray:
    """Algorithm 5 on the histories aab, ab, ba."""
    counts = TransitionCounts.empty(1, 1).with_values(2)
    for persons, values in (([0, 1, 2], [0, 0, 1]), ([0, 1, 2], [0, 1, 0]), ([0], [1])):
        counts = counts.with_view(np.array(persons), np.array(values, np.int32), np.zeros(len(persons), np.int32))
    return counts.emission(normalised=normalised)[windows(2, 1).following[0]]


def test_mined_knowledge_is_the_share_of_all_occurrences_as_the_paper_has_it() -> None:
    after_a = mined(normalised=False)[0]
    assert after_a == pytest.approx([0.25, 0.5])


def test_mined_knowledge_is_the_share_of_those_with_a_successor_when_normalised() -> None:
    assert mined(normalised=True)[0, 1] == pytest.approx(0.6667, abs=5e-5)
