"""An attack that judges each person by themselves finds the same with some people at a time, bit for bit."""

import dataclasses

import numpy as np
import pytest
from builders.random_series import changing_series, small_series
from hypothesis import HealthCheck, given, settings
from oracles.attacks import candidates_left as literal_candidates

from conformance.population import series
from conformance.test_judges import ledger as lively_ledger
from conformance.test_judges import rows_of_people, rows_with_values
from reanon_core.attacks.intersection import IntersectionAttack
from reanon_core.catalog import ATTACKS, TECHNIQUES, WEAKEST, build_attack, build_technique
from reanon_core.finding_truth import with_truth
from reanon_core.inference.view import box_lookup
from reanon_core.model.errors import Unpublishable
from reanon_core.model.finding import Findings
from reanon_core.model.ledger import Ledger
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import PersonwiseAttack
from reanon_core.replay import replay

PERSONWISE = [name for name in ATTACKS if isinstance(build_attack(name), PersonwiseAttack)]
SIZES = (1, 7, 10**9)


def numbers(findings: Findings) -> dict[str, object]:
    """The findings, with arrays as their bytes and types."""
    listed = {one.name: getattr(findings, one.name) for one in dataclasses.fields(findings)}
    return {
        name: (value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else value
        for name, value in listed.items()
    }


def require_same(attack: str, ledger: Ledger) -> Findings:
    """What the attack finds at once, after it was compared with what it finds part by part."""
    judge = build_attack(attack)
    assert isinstance(judge, PersonwiseAttack)
    whole = judge.run(ledger.history(), ledger.knowledge())
    for size in SIZES:
        found = judge.run_in_parts(ledger.history(), ledger.knowledge_in_parts(size))
        assert numbers(found) == numbers(whole)
        assert numbers(with_truth(found, ledger, ledger.knowledge())) == numbers(
            with_truth(whole, ledger, ledger.knowledge())
        )
    return whole


def published(technique: str, snapshots: list[Snapshot], *, memory: bool = True) -> Ledger | None:
    """The series under the weakest form of a technique; None if it refuses a release."""
    try:
        made = build_technique(technique, WEAKEST[technique])
        return replay(made, snapshots, np.random.default_rng(1), memory=memory)
    except Unpublishable:
        return None


def test_the_intersection_works_in_parts() -> None:
    assert IntersectionAttack.name in PERSONWISE


@pytest.mark.parametrize("attack", PERSONWISE)
@pytest.mark.parametrize("technique", TECHNIQUES)
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(snapshots=series())
def test_the_findings_are_those_of_the_whole(technique: str, attack: str, snapshots: list[Snapshot]) -> None:
    for memory in (True, False):
        made = published(technique, snapshots, memory=memory)
        if made is not None:
            require_same(attack, made)


@pytest.mark.parametrize("attack", PERSONWISE)
@pytest.mark.parametrize("seed", range(6))
def test_people_who_return_or_change_their_values(attack: str, seed: int) -> None:
    m, returning = small_series(seed)
    technique = build_technique("m-invariance", {"m": m, "not_eligible": "pad"})
    for snapshots in (returning, changing_series(seed)):
        for memory in (True, False):
            try:
                made = replay(technique, snapshots, np.random.default_rng(seed), memory=memory)
            except Unpublishable:
                continue
            require_same(attack, made)


@pytest.mark.parametrize("attack", PERSONWISE)
def test_exposed_people_are_found_in_whichever_part_they_are(attack: str) -> None:
    assert require_same(attack, lively_ledger(memory=False)).exposed > 1
    assert require_same(attack, lively_ledger(memory=True)).exposed == 0
    require_same(attack, rows_of_people(memory=False))
    assert require_same(attack, rows_with_values()).exposed > 1


def test_the_exposed_are_those_of_the_definition() -> None:
    made = lively_ledger(memory=False)
    left = literal_candidates(made.history(), made.knowledge())
    found = IntersectionAttack().run_in_parts(made.history(), made.knowledge_in_parts(7))
    assert dict(zip(found.persons.tolist(), found.inferred.tolist(), strict=True)) == {
        person: next(iter(values)) for person, values in left.items() if len(values) == 1
    }


@pytest.mark.parametrize("most", [0, 5, 10**6])
def test_points_that_are_not_kept_are_looked_up_again(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    made = lively_ledger(memory=False)
    whole = IntersectionAttack().run(made.history(), made.knowledge())
    monkeypatch.setattr(box_lookup, "MOST_POINTS", most)
    found = IntersectionAttack().run_in_parts(made.history(), made.knowledge_in_parts(7))
    assert numbers(found) == numbers(whole)


@pytest.mark.parametrize("size", SIZES)
def test_every_person_is_in_one_part_and_the_parts_ascend(size: int) -> None:
    made = lively_ledger(memory=True)
    parts = list(made.knowledge_in_parts(size))
    whole = made.knowledge()
    for number, presence in enumerate(whole.presences):
        own = [part.presences[number] for part in parts]
        assert np.array_equal(np.concatenate([one.persons for one in own]), presence.persons)
        assert np.array_equal(np.concatenate([one.qi for one in own], axis=1), presence.qi)
        assert np.array_equal(np.concatenate([one.group for one in own]), presence.group)
    last = -1
    for part in parts:
        persons = np.unique(np.concatenate([presence.persons for presence in part.presences]))
        assert 0 < len(persons) <= max(size, len(made.entries))
        assert persons[0] > last
        last = int(persons[-1])
