"""The judge of j: its own beliefs, compared with enumeration, and planted violations."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.beliefs import divergence, expected_by_sequences, mined_row

from reanon_core.checks import adversary_beliefs, js_divergence
from reanon_core.checks.adversary_beliefs import PastBeliefs, expected_values, revise_beliefs
from reanon_core.checks.js_divergence import Engine, JsDivergence, Mode, divergences
from reanon_core.checks.posterior import group_posteriors
from reanon_core.checks.t_closeness import TCloseness
from reanon_core.model.background import Background, Classes
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import pack
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace

few = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32 - 1)
VALUES = 3
SCHEMA = Schema(quasi_identifiers=(QuasiIdentifier(name="age"),), sensitive=Sensitive(name="s", values=("a", "b", "c")))


def entry(
    persons: np.ndarray,
    sensitive: np.ndarray,
    group: np.ndarray,
    schema: Schema = SCHEMA,
    ages: np.ndarray | None = None,
) -> Entry:
    """A release of all people, row by row, in these groups."""
    groups = int(group.max(initial=-1)) + 1
    boxes = Boxes(np.zeros((1, groups)), np.full((1, groups), 9), np.zeros((1, groups)))
    snapshot = Snapshot(schema, persons, np.zeros((1, len(persons)), np.int32) if ages is None else ages, sensitive)
    return Entry(snapshot, Release(group, sensitive, boxes), Auxiliary.none(), Trace(persons, np.arange(len(persons))))


@given(seeds, st.integers(1, 3), st.booleans())
@few
def test_the_judges_beliefs_are_the_sum_over_all_sequences(seed: int, memory: int, normalised: bool) -> None:
    rng = np.random.default_rng(seed)
    background = Background(memory=memory, normalised=normalised)
    past = PastBeliefs.restored({}, background)
    histories: list[list[int]] = [[] for _ in range(6)]
    seen: list[list[np.ndarray]] = [[] for _ in range(6)]
    newcomers = np.zeros(VALUES)
    for _ in range(4):
        here = np.flatnonzero(rng.random(6) < 0.8)
        value = rng.integers(0, VALUES, len(here)).astype(np.int32)
        one = entry(here, value, (np.arange(len(here)) % 2).astype(np.int32))
        for person, code in zip(here, value, strict=True):
            newcomers[code] += not histories[person]
            histories[person].append(int(code))
        expected, past = expected_values(one, past, background)
        prior = newcomers / max(1, newcomers.sum())

        def next_given(window: tuple[int, ...], prior: np.ndarray = prior) -> np.ndarray:
            row = mined_row([h for h in histories if h], window[-memory:], VALUES, normalised=normalised)
            return prior if row is None else row

        for row, person in enumerate(here):
            wanted = expected_by_sequences(seen[person], next_given) if seen[person] else prior
            assert expected[row] == pytest.approx(wanted)
        shown = np.zeros((one.release.boxes.count, VALUES))
        np.add.at(shown, (one.release.group, value), 1)
        known = group_posteriors("omega", expected, one.release.group, shown)
        for row, person in enumerate(here):
            seen[person].append(known[row])
        past = revise_beliefs(one, past, background, expected, "omega", "product")


@given(seeds)
@few
def test_divergences_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, group = rng.dirichlet(np.full(4, 0.4), 20), rng.integers(0, 3, 20).astype(np.int32)
    ours = divergences(rows * rng.uniform(0.1, 1, (20, 1)), group, 3)
    for number in range(3):
        if (group == number).any():
            assert ours[number] == pytest.approx(divergence(rows[group == number]))


def follows_itself() -> Background:
    """Every value follows itself."""
    following = np.tile(np.arange(1, 4), (4, 1))
    emission = np.concatenate([np.zeros((1, 3)), np.eye(3)])[None]
    return Background(prior=np.full((1, 3), 1 / 3), following=following, emission=emission, source="domain")


def by_class() -> Background:
    """Two classes by age, and transitions of their own for each."""
    rng, values = np.random.default_rng(5), 12
    following = np.tile(np.arange(1, values + 1), (values + 1, 1))
    emission = rng.dirichlet(np.ones(values), (2, values + 1))
    emission[:, ::2] = emission[1, 7] = 0  # these states stand for the prior
    classes = Classes((0,), (np.array([5]),))
    return Background(classes, rng.dirichlet(np.ones(values), 2), following, emission, source="domain")


@pytest.mark.parametrize("background", [Background(), Background(memory=2), by_class()], ids=["1", "2", "by class"])
@pytest.mark.parametrize("mode", ["product", "filter"])
@pytest.mark.parametrize("posterior", ["omega", "sum", "sinkhorn"])
def test_the_judge_remembers_the_same_however_many_people_it_takes_at_a_time(
    background: Background, mode: Mode, posterior: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = JsDivergence(j=2, posterior=posterior, mode=mode).informed(background)
    schema = replace(SCHEMA, sensitive=Sensitive(name="s", values=tuple("abcdefghijkl")))
    kept: list[list[tuple[object, bytes]]] = []
    for people in (1, 3, 100):
        monkeypatch.setattr(adversary_beliefs, "PEOPLE_AT_ONCE", people)
        monkeypatch.setattr(js_divergence, "ROWS_AT_ONCE", people)
        rng, memory = np.random.default_rng(3), check.initial_memory()
        kept.append([])
        for _ in range(3):
            here = np.flatnonzero(rng.random(30) < 0.7)
            value = rng.integers(0, 12, len(here)).astype(np.int32)
            group = rng.permutation(np.arange(len(here), dtype=np.int32) % 3)
            ages = rng.integers(0, 10, (1, len(here))).astype(np.int32)
            verdict, memory = check.examine(entry(here, value, group, schema, ages), memory)
            kept[-1].append((verdict.observed, pack(memory)))
    assert kept[0] == kept[1] == kept[2]


def test_a_group_of_people_who_are_known_to_differ_fails() -> None:
    check = JsDivergence(j=0.5).informed(follows_itself())
    people, value = np.arange(4), np.array([0, 0, 1, 1], np.int32)
    # At first every value is expected of everyone; groups of a single value disclose it.
    verdict, memory = check.examine(entry(people, value, value), check.initial_memory())
    assert verdict.holds
    assert verdict.observed["greatest divergence"] == pytest.approx(0)
    mixed = entry(people, value, np.array([0, 1, 0, 1], np.int32))
    verdict, _ = check.examine(mixed, memory)
    assert not verdict.holds
    assert verdict.violations == 2
    assert verdict.observed["greatest divergence"] == pytest.approx(1)
    verdict, _ = check.examine(entry(people, value, value), memory)
    assert verdict.holds


def test_slack_widens_the_limit_and_is_reported() -> None:
    check = JsDivergence(j=0.8, slack=0.5).informed(follows_itself())
    people, value = np.arange(4), np.array([0, 0, 1, 1], np.int32)
    _, memory = check.examine(entry(people, value, value), check.initial_memory())
    verdict, _ = check.examine(entry(people, value, np.array([0, 1, 0, 1], np.int32)), memory)
    assert verdict.holds
    assert verdict.observed["groups within slack only"] == 2


def test_an_unreadable_release_does_not_hold() -> None:
    check = JsDivergence(j=1.0)
    whole = entry(np.arange(2), np.array([0, 1], np.int32), np.array([0, 0], np.int32))
    release = replace(whole.release, sensitive=np.array([0, 7], np.int32))
    verdict, _ = check.examine(replace(whole, release=release), check.initial_memory())
    assert not verdict.holds


def test_parameters_out_of_range_are_refused_at_once() -> None:
    with pytest.raises(InvalidParameter) as raised:
        JsDivergence(j=-1, slack=-1, posterior="bayes", mode="x")  # type: ignore[arg-type]
    assert len(raised.value.problems) == 4


def test_closeness_may_be_held_against_the_whole_table_and_by_order() -> None:
    everyone = entry(np.arange(6), np.array([0, 0, 1, 1, 2, 2], np.int32), np.array([0, 0, 0, 0, 1, 1], np.int32))
    shown = Entry(
        everyone.snapshot,
        Release(
            np.zeros(4, np.int32), np.array([0, 0, 1, 1]), Boxes(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)))
        ),
        Auxiliary.none(),
        Trace(np.arange(4), np.arange(4)),
    )
    (alone, _), (against_all, _) = (
        TCloseness(t=0.3, whole=whole).examine(shown, {}) for whole in ("release", "snapshot")
    )  # type: ignore[arg-type]
    assert alone.observed["greatest distance"] == pytest.approx(0)
    assert not against_all.holds
    assert against_all.observed["greatest distance"] == pytest.approx(1 / 3)
    by_order, _ = TCloseness(t=1, distance="ordered").examine(everyone, {})
    # Both values in the second group are the last of three; the table has a third of each.
    assert by_order.observed["greatest distance"] == pytest.approx((1 / 3 + 2 / 3) / 2)
