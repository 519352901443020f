"""Beliefs: posteriors, revision and counted knowledge, compared with enumeration."""

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.beliefs import expected_by_sequences, mined_row, posterior_by_configurations

from reanon_core.inference.bayes.beliefs import Beliefs, Observation
from reanon_core.inference.bayes.posteriors import posteriors
from reanon_core.inference.bayes.transition_counts import TransitionCounts, automaton_of, renumber_windows, windows
from reanon_core.model.background import Automaton, Background
from reanon_core.model.errors import InvalidParameter, Unpublishable

few = settings(max_examples=share_of(60), deadline=None)
seeds = st.integers(0, 2**32 - 1)
FIRST_CLASS, ONE = np.zeros(1, np.int32), np.zeros(1, np.int64)


def group(rng: np.random.Generator, size: int, values: int = 4) -> tuple[np.ndarray, list[int], np.ndarray]:
    """Weights of some respondents, the values of their tuples, and how often each value is there."""
    weights = rng.dirichlet(np.full(values, rng.choice([0.2, 1.0, 5.0])), size)
    tuples = [int(value) for value in rng.integers(0, values, size)]
    return weights, tuples, np.bincount(tuples, minlength=values)[None]


@given(seeds, st.integers(1, 6))
@few
def test_the_closed_form_of_the_sum_is_the_enumeration_of_configurations(seed: int, size: int) -> None:
    weights, tuples, counts = group(np.random.default_rng(seed), size)
    ours = posteriors("sum", weights, np.zeros(size, np.int32), counts)
    assert ours == pytest.approx(posterior_by_configurations(weights, tuples, degree="sum"), abs=1e-9)


@given(seeds, st.integers(1, 6), st.integers(0, 2))
@few
def test_the_exact_posterior_is_the_enumeration_of_configurations(seed: int, size: int, counterfeits: int) -> None:
    rng = np.random.default_rng(seed)
    weights, _, _ = group(rng, size)
    tuples = [int(value) for value in rng.integers(0, 4, size + counterfeits)]  # counterfeits belong to no one
    counts = np.bincount(tuples, minlength=4)[None]
    ours = posteriors("bayes", weights, np.zeros(size, np.int32), counts)
    assert ours == pytest.approx(posterior_by_configurations(weights, tuples, degree="product"), abs=1e-9)


@given(seeds, st.sampled_from(["omega", "sum", "sinkhorn", "bayes"]))
@few
def test_posteriors_are_distributions_over_what_the_group_shows(seed: int, engine: str) -> None:
    rng = np.random.default_rng(seed)
    size, groups = 15, 4
    weights = rng.dirichlet(np.full(5, 0.3), size) * (rng.random((size, 5)) < 0.7)
    of = rng.integers(0, groups, size).astype(np.int32)
    counts = np.zeros((groups, 5), np.int64)
    np.add.at(counts, (of, rng.integers(0, 5, size)), 1)
    ours = posteriors(engine, weights, of, counts)  # type: ignore[arg-type]
    assert ours.sum(axis=1) == pytest.approx(1)
    assert (ours >= 0).all()
    assert not ours[counts[of] == 0].any()


def test_sinkhorn_gives_every_value_its_number_of_people() -> None:
    weights, _, counts = group(np.random.default_rng(1), 8)
    ours = posteriors("sinkhorn", weights, np.zeros(8, np.int32), counts)
    assert ours.sum(axis=0) == pytest.approx(counts[0], abs=1e-6)


def test_a_value_that_is_expected_of_no_one_is_divided_evenly() -> None:
    weights = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert posteriors("omega", weights, np.zeros(2, np.int32), np.array([[1, 1]])) == pytest.approx(0.5)


def test_the_exact_posterior_refuses_a_group_that_is_too_large() -> None:
    weights = np.full((40, 10), 0.1)
    with pytest.raises(InvalidParameter, match="take omega or sinkhorn"):
        posteriors("bayes", weights, np.zeros(40, np.int32), np.full((1, 10), 4))


def histories(rng: np.random.Generator, values: int) -> list[list[int]]:
    return [[int(v) for v in rng.integers(0, values, rng.integers(1, 6))] for _ in range(5)]


def counts_of(past: list[list[int]], values: int, memory: int) -> TransitionCounts:
    """Algorithm 5, view by view."""
    result = TransitionCounts.empty(1, memory).with_values(values)
    for view in range(max(len(history) for history in past)):
        here = [person for person, history in enumerate(past) if len(history) > view]
        value = np.array([past[person][view] for person in here], np.int32)
        result = result.with_view(np.array(here), value, np.zeros(len(here), np.int32))
    return result


@given(seeds, st.integers(1, 3), st.booleans())
@few
def test_counted_knowledge_is_that_of_every_suffix(seed: int, memory: int, normalised: bool) -> None:
    rng = np.random.default_rng(seed)
    past = histories(rng, 3)
    emission = counts_of(past, 3, memory).emission(normalised=normalised)
    table = windows(3, memory)
    state, window = 0, ()
    for value in rng.integers(0, 3, 6):
        state, window = int(table.following[state, value]), (*window, int(value))[-memory:]
        wanted = mined_row(past, window, 3, normalised=normalised)
        assert emission[state] == pytest.approx(np.zeros(3) if wanted is None else wanted)


@given(seeds, st.integers(1, 3), st.booleans())
@few
def test_revision_is_the_sum_over_all_sequences(seed: int, memory: int, normalised: bool) -> None:
    rng = np.random.default_rng(seed)
    past = histories(rng, 3)
    prior = rng.dirichlet(np.ones(3))
    known = Background(prior=prior[None], memory=memory, normalised=normalised)
    automaton = automaton_of(known, counts_of(past, 3, memory), 3)

    def next_given(sequence: tuple[int, ...]) -> np.ndarray:
        row = mined_row(past, sequence[-memory:], 3, normalised=normalised)
        return prior if row is None else row

    beliefs, seen = Beliefs.empty(), []
    for _ in range(4):
        expected = beliefs.expected(ONE, FIRST_CLASS, automaton)
        wanted = expected_by_sequences(seen, next_given) if seen else prior
        assert expected[0] == pytest.approx(wanted)
        seen.append(rng.dirichlet(np.ones(3)) * (rng.random(3) < 0.8) + 1e-3)
        seen[-1] /= seen[-1].sum()
        beliefs = beliefs.revise(Observation(ONE, FIRST_CLASS, expected, seen[-1][None]), automaton, "product")


@given(seeds)
@few
def test_revision_through_a_declared_automaton_is_the_sum_over_all_sequences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states, values, kinds = 5, 3, 2
    following = rng.integers(1, states, (states, values))
    emission = rng.dirichlet(np.ones(values), (kinds, states))
    automaton = Automaton(rng.dirichlet(np.ones(values), kinds), following, emission)
    kind = np.array([rng.integers(0, kinds)], np.int32)

    def next_given(sequence: tuple[int, ...]) -> np.ndarray:
        state = 0
        for value in sequence:
            state = following[state, value]
        return emission[kind[0], state]

    beliefs, seen = Beliefs.empty(), []
    for _ in range(4):
        expected = beliefs.expected(ONE, kind, automaton)
        assert expected[0] == pytest.approx(
            expected_by_sequences(seen, next_given) if seen else automaton.prior[kind[0]]
        )
        seen.append(rng.dirichlet(np.ones(values)))
        beliefs = beliefs.revise(Observation(ONE, kind, expected, seen[-1][None]), automaton, "product")


@given(seeds)
@few
def test_the_filter_keeps_what_is_known_and_gives_the_impossible_no_weight(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = windows(3, 2)
    emission = rng.dirichlet(np.ones(3), (1, table.count)) * (rng.random((1, table.count, 3)) < 0.7)
    automaton = Automaton(rng.dirichlet(np.ones(3), 1), table.following, emission)
    beliefs = Beliefs.empty()
    for _ in range(4):
        expected = beliefs.expected(ONE, FIRST_CLASS, automaton)
        known = posteriors(
            "omega",
            np.concatenate([expected, rng.dirichlet(np.ones(3), 2)]),
            np.zeros(3, np.int32),
            np.array([[1, 1, 1]]),
        )[:1]
        before = dict(zip(beliefs.states.tolist(), beliefs.weights.tolist(), strict=True)) or {0: 1.0}
        beliefs = beliefs.revise(Observation(ONE, FIRST_CLASS, expected, known), automaton, "filter")
        assert beliefs.weights.sum() == pytest.approx(1)
        latest = np.array(
            [
                int(state - table.first[1]) % 3 if state < table.first[2] else (state - table.first[2]) % 3
                for state in beliefs.states
            ]
        )
        for value in range(3):  # the latest value is as likely as the posterior of the release says
            assert beliefs.weights[latest == value].sum() == pytest.approx(known[0, value])
        reachable = {
            int(table.following[state, value])
            for state in before
            for value in range(3)
            if expected[0, value] == 0
            or (automaton.emission[0, state] if state and automaton.emission[0, state].any() else automaton.prior[0])[
                value
            ]
            > 0
        }
        assert set(beliefs.states.tolist()) <= reachable


def test_people_who_are_not_published_keep_their_beliefs() -> None:
    automaton = automaton_of(Background(prior=np.full((1, 2), 0.5)), TransitionCounts.empty(1, 1).with_values(2), 2)
    both = np.array([3, 8])
    classes, half = np.zeros(2, np.int32), np.full((2, 2), 0.5)
    beliefs = Beliefs.empty().revise(Observation(both, classes, half, half), automaton, "product")
    later = Observation(both[:1], classes[:1], half[:1], np.array([[1.0, 0.0]]))
    after = beliefs.revise(later, automaton, "product")
    assert after.persons.tolist() == [3, 8]
    assert after.weights[after.offsets[1] :].tolist() == beliefs.weights[beliefs.offsets[1] :].tolist()
    assert after.weights[: after.offsets[1]].tolist() == [1.0]


@given(seeds, st.integers(1, 3))
@few
def test_windows_keep_their_values_when_the_list_grows(seed: int, memory: int) -> None:
    rng = np.random.default_rng(seed)
    old, new = windows(2, memory), windows(4, memory)
    states, now = 0, 0
    for value in rng.integers(0, 2, 5):
        states, now = int(old.following[states, value]), int(new.following[now, value])
        assert renumber_windows(np.array([states], np.int32), 2, 4, memory).tolist() == [now]


def test_too_many_windows_are_refused_with_what_would_work() -> None:
    with pytest.raises(Unpublishable, match=r"a smaller knowledge\.memory would work"):
        windows(200, 3)


def test_knowledge_with_more_values_than_the_schema_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"knowledge \(3 values\) must have no more than the 2"):
        automaton_of(Background(prior=np.full((1, 3), 1 / 3)), TransitionCounts.empty(1, 1).with_values(2), 2)
