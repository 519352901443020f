"""What every technique owes. A technique joins by its line in the catalog."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from conformance.population import schema, series
from reanon_core.catalog import CHECKS, TECHNIQUES, build_technique, own_checks
from reanon_core.model.errors import Unpublishable
from reanon_core.model.packing import pack, unpack
from reanon_core.model.publication import Publication
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Technique
from reanon_core.publishing import publish

pytestmark = pytest.mark.parametrize("name", TECHNIQUES)
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def packed(publication: Publication) -> bytes:
    release, trace = publication.release, publication.trace
    arrays = {
        "group": release.group,
        "sensitive": release.sensitive,
        "low": release.boxes.low,
        "high": release.boxes.high,
    }
    arrays |= {"fakes": publication.auxiliary.group, "persons": trace.persons, "rows": trace.rows}
    return pack(arrays) + pack(publication.state.packed())


def weakest(name: str) -> Technique:
    return build_technique(name, TECHNIQUES[name].declaration.weakest)


def run(name: str, snapshots: list[Snapshot], seed: int = 1) -> list[tuple[Snapshot, Publication]]:
    """Publish what can be published; a snapshot that cannot changes nothing."""
    technique = weakest(name)
    state, rng, done = technique.initial_state(), np.random.default_rng(seed), []
    for snapshot in snapshots:
        before = pack(state.packed())
        try:
            publication = publish(technique, snapshot, state, rng)
        except Unpublishable:
            assert pack(state.packed()) == before
            continue
        state = publication.state
        done.append((snapshot, publication))
    return done


@given(snapshots=series())
@few
def test_the_same_seed_gives_the_same_bytes(name: str, snapshots: list[Snapshot]) -> None:
    first, second = run(name, snapshots), run(name, snapshots)
    assert [packed(publication) for _, publication in first] == [packed(publication) for _, publication in second]


@given(snapshots=series())
@few
def test_the_input_is_left_untouched(name: str, snapshots: list[Snapshot]) -> None:
    before = [(s.persons.copy(), s.qi.copy(), s.sensitive.copy()) for s in snapshots]
    run(name, snapshots)
    for snapshot, (persons, qi, sensitive) in zip(snapshots, before, strict=True):
        assert np.array_equal(snapshot.persons, persons)
        assert np.array_equal(snapshot.qi, qi)
        assert np.array_equal(snapshot.sensitive, sensitive)


@given(snapshots=series())
@few
def test_every_row_is_published_or_withheld_exactly_once(name: str, snapshots: list[Snapshot]) -> None:
    for snapshot, publication in run(name, snapshots):
        withheld = sum(publication.withheld.values())
        assert len(publication.trace.persons) + withheld == snapshot.size
        assert len(np.unique(publication.trace.rows)) == len(publication.trace.rows)
        assert np.isin(publication.trace.persons, snapshot.persons).all()
        fakes = publication.release.size - len(publication.trace.persons)
        assert fakes == publication.auxiliary.total


@given(snapshots=series())
@few
def test_its_own_checks_hold_after_inserts_deletes_and_returns(name: str, snapshots: list[Snapshot]) -> None:
    checks = own_checks(weakest(name))
    memories = [check.initial_memory() for check in checks]
    for snapshot, publication in run(name, snapshots):
        entry = publication.entry(snapshot)
        for i, check in enumerate(checks):
            verdict, memories[i] = check.examine(entry, memories[i])
            assert verdict.holds, verdict


@given(snapshots=series())
@few
def test_the_state_survives_packing(name: str, snapshots: list[Snapshot]) -> None:
    technique = weakest(name)
    for _, publication in run(name, snapshots):
        stored = pack(publication.state.packed())
        assert pack(technique.restored(unpack(stored)).packed()) == stored


def test_it_declares_what_is_true_of_it(name: str) -> None:
    technique = weakest(name)
    parameters = {field.name for field in fields(technique) if field.init}
    assert technique.name == name
    assert technique.changeable <= parameters
    assert technique.declaration.function_parameters <= parameters
    assert hasattr(technique, "informed") == technique.declaration.needs_knowledge
    assert {promise.check for promise in technique.promises()} <= set(CHECKS)
    assert technique.promises()
    persons = np.arange(20, dtype=np.int64)
    snapshot = Snapshot(schema(), persons, np.stack([persons, persons]).astype(np.int32), persons % 5)
    ((_, publication),) = run(name, [snapshot])
    assert (publication.witness is not None) == technique.declaration.has_worlds


def test_the_order_of_the_source_does_not_reach_the_release(name: str) -> None:
    rng = np.random.default_rng(5)
    persons = np.arange(20, dtype=np.int64)
    qi, sensitive = rng.integers(0, 9, (2, 20)).astype(np.int32), (persons % 5).astype(np.int32)
    order = rng.permutation(20)
    one = Snapshot.sort(schema(), persons, qi, sensitive)
    two = Snapshot.sort(schema(), persons[order], qi[:, order], sensitive[order])
    (_, first), (_, second) = run(name, [one])[0], run(name, [two])[0]
    assert packed(first) == packed(second)


def test_an_empty_snapshot_gives_an_empty_release(name: str) -> None:
    none = Snapshot(schema(), np.empty(0, np.int64), np.empty((2, 0), np.int32), np.empty(0, np.int32))
    ((_, publication),) = run(name, [none])
    assert publication.release.size == 0
    assert publication.release.boxes.count == 0


def test_an_impossible_goal_is_refused_and_changes_nothing(name: str) -> None:
    alike = Snapshot(schema(), np.arange(6), np.zeros((2, 6), np.int32), np.zeros(6, np.int32))
    technique = weakest(name)
    state = technique.initial_state()
    before = pack(state.packed())
    with pytest.raises(Unpublishable):
        publish(technique, alike, state, np.random.default_rng(0))
    assert pack(state.packed()) == before
