"""What a reader of the source computes from releases of JS-reduce, against the technique itself in every world."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from reanon_core.adversary_knowledge import readings_of, with_algorithm
from reanon_core.attacks.algorithm import AlgorithmAttack
from reanon_core.catalog import own_checks
from reanon_core.model.background import Background
from reanon_core.model.errors import InvalidParameter, Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.reading import Reading
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.readers import js_reduce as limits
from reanon_core.replay import replay
from reanon_core.techniques.js_reduce.technique import JsReduce

SCHEMA = Schema(
    quasi_identifiers=(QuasiIdentifier(name="age", domain=(0, 31)),),
    sensitive=Sensitive(name="s", values=("a", "b", "c"), closed=True),
)
DECLARED = Background(
    prior=np.array([[0.5, 0.3, 0.2]]),
    following=np.tile(np.array([1, 2, 3], np.int32), (4, 1)),
    emission=np.array([[[0.0, 0.0, 0.0], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]]),
)
BLIND = {"cuts_by": "quasi-identifiers", "run": 3, "leftovers": "suppress"}


def series(seed: int, people: int = 8, views: int = 2, present: float = 1.0) -> list[Snapshot]:
    """Few people on a line, whose values change; each view has a share of them."""
    rng = np.random.default_rng(seed)
    ages = np.sort(rng.permutation(32)[:people])[None].astype(np.int32)
    values = [rng.integers(0, 3, people).astype(np.int32) for _ in range(views)]
    here = [np.flatnonzero(rng.random(people) < present) for _ in range(views)]
    return [Snapshot(SCHEMA, some, ages[:, some], one[some]) for some, one in zip(here, values, strict=True)]


def published(technique: JsReduce, snapshots: list[Snapshot], seed: int = 0) -> Ledger:
    return replay(technique, snapshots, np.random.default_rng(seed))


def seen(entry: Entry) -> object:
    """What an adversary sees who knows everyone's group: people, box and values of each group."""
    release, trace = entry.release, entry.trace
    return {
        (
            tuple(trace.persons[release.group[trace.rows] == own].tolist()),
            tuple(release.boxes.low[:, own].tolist() + release.boxes.high[:, own].tolist()),
            tuple(sorted(release.sensitive[release.group == own].tolist())),
        )
        for own in range(release.boxes.count)
    }


def publishes(technique: JsReduce, tables: list[Snapshot], truth: list[object], seed: int) -> bool:
    try:
        return [seen(entry) for entry in published(technique, tables, seed).entries] == truth
    except Unpublishable:
        return False


def time_of(reading: Reading, ledger: Ledger) -> int:
    """The release in which these people are one group and have these values."""
    for time, entry in enumerate(ledger.entries):
        group = entry.release.group[entry.trace.rows[np.isin(entry.trace.persons, reading.persons)]]
        members = int((entry.release.group == group[0]).sum()) if len(group) else 0
        values = entry.snapshot.sensitive[np.isin(entry.snapshot.persons, reading.persons)]
        together = len(set(group.tolist())) == 1 and members == len(reading.persons) == len(group)
        if together and np.array_equal(values, reading.values[0]):
            return time
    raise AssertionError


@pytest.mark.parametrize("knowledge", [DECLARED, None], ids=["declared", "counted"])
@pytest.mark.parametrize("options", [{}, {"leftovers": "suppress", "max_run": 4}, BLIND], ids=["merge", "few", "blind"])
def test_an_arrangement_is_possible_where_the_technique_itself_publishes_the_same(
    knowledge: Background | None, options: dict[str, object]
) -> None:
    """Every arrangement of every group, with the whole series published again under two seeds."""
    technique = JsReduce(k=2, t=0.6, j=1.0, **options).informed(knowledge)  # type: ignore[arg-type]
    compared = 0
    for seed in range(4):
        snapshots = series(seed, people=9, present=0.9)
        try:
            ledger = published(technique, snapshots)
        except Unpublishable:
            continue
        truth = [seen(entry) for entry in ledger.entries]
        for reading in readings_of(technique, ledger):
            time = time_of(reading, ledger)
            members = np.isin(snapshots[time].persons, reading.persons)
            assert reading.complete
            assert {tuple(values) for values in reading.values.tolist()} == set(
                permutations(reading.values[0].tolist())
            )
            for values, likelihood in zip(reading.values, reading.log_likelihood, strict=True):
                sensitive = snapshots[time].sensitive.copy()
                sensitive[members] = values
                tables = [*snapshots]
                tables[time] = replace(snapshots[time], sensitive=sensitive)
                for again in range(2):
                    assert publishes(technique, tables, truth, again) == (likelihood == 0)
                compared += 1
    assert compared > 20


def test_a_reader_knows_everyone_in_a_group_that_grew_until_it_was_diverse() -> None:
    """The first two share a value: otherwise they would be a group. All checks hold."""
    technique = JsReduce(k=2, t=1, j=2.0).informed(DECLARED)
    values = np.array([0, 0, 1, 2, 1], np.int32)
    ledger = published(technique, [Snapshot(SCHEMA, np.arange(5), np.array([[0, 1, 2, 20, 21]], np.int32), values)])
    for check in own_checks(technique):
        verdict, _ = check.examine(ledger.entries[0], check.initial_memory())
        assert verdict.holds
    grown, pair = sorted(readings_of(technique, ledger), key=lambda reading: reading.persons[0])
    assert grown.persons.tolist() == [0, 1, 2]
    assert grown.values[np.isfinite(grown.log_likelihood)].tolist() == [[0, 0, 1]]
    assert pair.log_likelihood.tolist() == [0, 0]
    attack = AlgorithmAttack().run(ledger.history(), with_algorithm(technique, ledger, ledger.knowledge()))
    assert dict(zip(attack.persons.tolist(), attack.inferred.tolist(), strict=True)) == {0: 0, 1: 0, 2: 1}


@pytest.mark.parametrize("seed", range(8))
def test_cuts_by_quasi_identifiers_rule_nothing_out_if_knowledge_is_declared(seed: int) -> None:
    technique = JsReduce(k=2, t=0.6, j=1.0, **BLIND).informed(DECLARED)  # type: ignore[arg-type]
    ledger = published(technique, series(seed, people=32, views=3, present=0.8))
    readings = list(readings_of(technique, ledger))
    assert len(readings) > 10
    assert all((reading.log_likelihood == 0).all() for reading in readings)


def test_counted_knowledge_lets_a_later_release_rule_an_arrangement_out() -> None:
    """Which value follows which is counted in the tables, and what is expected decides on groups."""
    technique = JsReduce(k=2, t=0.6, j=0.02, **BLIND)  # type: ignore[arg-type]
    ruled_out = [
        reading
        for seed in range(6)
        for reading in readings_of(technique, published(technique, series(seed, people=24, views=3, present=0.8)))
        if np.isinf(reading.log_likelihood).any()
    ]
    assert ruled_out


@pytest.mark.parametrize("seed", range(4))
def test_cuts_by_quasi_identifiers_are_the_same_whatever_the_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (snapshot,) = series(seed, people=31, views=1)
    technique = JsReduce(k=2, t=1, j=64, ell=1, cuts_by="quasi-identifiers", run=4, leftovers="suppress")
    other = replace(snapshot, sensitive=rng.integers(0, 3, 31).astype(np.int32))
    plans = [technique.decide(one, technique.initial_state()) for one in (snapshot, other)]
    assert plans[0].group.tolist() == plans[1].group.tolist()
    assert sorted(np.bincount(plans[0].group).tolist()) == [4, 4, 4, 4, 5, 5, 5]


@pytest.mark.parametrize("leftovers", ["suppress", "merge"])
def test_a_run_that_fails_is_withheld_as_a_whole_or_merged_with_the_next(leftovers: str) -> None:
    values = np.array([0, 0, 0, 0, 1, 2, 0, 1, 1, 1], np.int32)
    technique = JsReduce(k=2, t=1, j=64, cuts_by="quasi-identifiers", run=2, leftovers=leftovers)  # type: ignore[arg-type]
    snapshot = Snapshot(SCHEMA, np.arange(10), np.arange(10)[None].astype(np.int32), values)
    group = technique.decide(snapshot, technique.initial_state()).group
    parts = {tuple(np.flatnonzero(group == own).tolist()) for own in set(group.tolist()) - {-1}}
    if leftovers == "suppress":
        assert parts == {(4, 5), (6, 7)}
    else:
        assert parts == {(0, 1, 2, 3, 4, 5), (6, 7, 8, 9)}
    for check in own_checks(technique):
        verdict, _ = check.examine(published(technique, [snapshot]).entries[0], check.initial_memory())
        assert verdict.holds


def test_its_own_checks_hold_with_cuts_by_quasi_identifiers() -> None:
    technique = JsReduce(k=3, t=0.5, j=0.6, cuts_by="quasi-identifiers", run=8).informed(DECLARED)
    ledger = published(technique, series(1, people=32, views=4))
    for check in own_checks(technique):
        memory = check.initial_memory()
        for entry in ledger.entries:
            verdict, memory = check.examine(entry, memory)
            assert verdict.holds, verdict


def test_runs_must_hold_k_rows_and_nothing_is_relaxed() -> None:
    for wrong in ({"run": 9}, {**BLIND, "run": 1}, {**BLIND, "leftovers": "relax"}, {"cuts_by": "size"}):
        with pytest.raises(InvalidParameter):
            JsReduce(k=3, t=0.5, j=0.6, **wrong)  # type: ignore[arg-type]


def test_releases_that_other_parameters_made_are_left_out_and_counted() -> None:
    technique, snapshots = JsReduce(k=2, t=0.6, j=1.0).informed(DECLARED), series(2, people=20, views=2)
    first = published(technique, snapshots[:1]).entries
    second = published(JsReduce(k=5, t=0.9, j=2.0).informed(DECLARED), snapshots[1:]).entries
    readings = list(readings_of(technique, Ledger((*first, *second))))
    assert readings
    assert {reading.unread for reading in readings} == {1}


def test_what_is_not_computed_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    technique = JsReduce(k=2, t=0.6, j=1.0).informed(DECLARED)
    ledger = published(technique, series(2, people=20, views=1))
    assert not list(readings_of(JsReduce(k=5, t=0.6, j=1.0).informed(DECLARED), ledger))  # other parameters made it
    monkeypatch.setattr(limits, "ROWS", 2 * limits.LEAST_ROWS)
    readings = list(readings_of(technique, ledger))
    assert not readings[-1].complete
    assert len(readings[-1].values) == 1
    monkeypatch.setattr(limits, "ROWS", 0)
    assert not list(readings_of(technique, ledger))
    monkeypatch.undo()
    wide = JsReduce(k=10, t=1, j=64).informed(DECLARED)
    (exchanges, *_) = readings_of(wide, published(wide, series(3, people=10, views=1)))
    assert not exchanges.complete
