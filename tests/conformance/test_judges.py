"""What every check, attack and metric owes. Each joins with its line in the catalog, a check also with one here."""

import math
from dataclasses import replace

import numpy as np
import pytest

from conformance.population import PEOPLE, VALUES, schema
from reanon_core.adversary_knowledge import with_algorithm
from reanon_core.catalog import (
    ATTACKS,
    CHECKS,
    METRICS,
    build_attack,
    build_check,
    build_technique,
)
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.model.packing import pack, unpack
from reanon_core.model.release import Auxiliary, Boxes, PersonRows, Release
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay
from reanon_core.techniques.decoupled import decouple

WEAKEST: dict[str, dict[str, object]] = {
    "well-formedness": {},
    "k-anonymity": {"k": 2},
    "k-over-history": {"k": 2},
    "shared-boxes": {"k": 2},
    "l-diversity": {"ell": 2},
    "t-closeness": {"t": 0.9},
    "m-uniqueness": {"m": 2},
    "m-invariance": {"m": 2},
    "atoms": {"k": 2, "ell": 2},
    "weak-m-invariance": {"m": 2},
    "hc-safety": {"n": 1},
    "js-divergence": {"j": 2.0},
    "possible-worlds": {"ell": 2},
}
"""The weakest parameters of each check."""


def snapshots(people: int, releases: int, *, stay: float = 0.8) -> list[Snapshot]:
    """A lively series whose new rows are always eligible for m = 2: values come in equal numbers."""
    rng = np.random.default_rng(3)
    size = people * (releases + 1)
    qi = np.stack([rng.integers(0, 20, size), rng.integers(100, 140, size)]).astype(np.int32)
    sensitive = (np.arange(size) % VALUES).astype(np.int32)
    here = np.arange(people)
    listed, fresh = [], people
    for _ in range(releases):
        listed.append(Snapshot(schema(), here, qi[:, here], sensitive[here]))
        kept = here[rng.random(len(here)) < stay]
        more = (people - len(kept)) // VALUES * VALUES
        here = np.concatenate([kept, np.arange(fresh, fresh + more)])
        fresh += more
    return listed


def ledger(*, memory: bool, people: int = PEOPLE * 5, releases: int = 4) -> Ledger:
    technique = build_technique("m-invariance", {"m": 2})
    return replay(technique, snapshots(people, releases), np.random.default_rng(0), memory=memory)


def promised(check: str) -> Ledger:
    """A release of a technique that keeps what the check asks for."""
    if check == "possible-worlds":
        technique = build_technique("sequential", {"ell": 2})
        return replay(technique, snapshots(PEOPLE * 5, 1), np.random.default_rng(0))
    return ledger(memory=True)


def battlefield(attack: str) -> tuple[tuple[Ledger, Knowledge], tuple[Ledger, Knowledge]]:
    """Where an attack is strong: a naive series, and the same people under a defence, with what an adversary knows."""
    if attack == "algorithm":
        return read("filled"), read("blind")
    if attack in {"linkage", "location"}:
        return tuple((one, one.knowledge(groups_known=False)) for one in (rows_with_values(), rows_of_people()))
    if attack == "insider":  # one release hides everyone among three values, of which one person tells one
        three = replay(build_technique("m-invariance", {"m": 3}), snapshots(60, 1), np.random.default_rng(0))
        return tuple((one, one.knowledge()) for one in (ledger(memory=False), three))
    naive, defended = ledgers_for(attack)
    return (naive, naive.knowledge()), (defended, defended.knowledge())


def read(balancing: str) -> tuple[Ledger, Knowledge]:
    """A series of few people, whose technique the adversary has read."""
    technique = build_technique("m-invariance", {"m": 2, "balancing": balancing, "not_eligible": "refuse"})
    made = replay(technique, snapshots(20, 4, stay=0.6), np.random.default_rng(0))
    return made, with_algorithm(technique, made, made.knowledge())


def rows_of_people(*, memory: bool = True) -> Ledger:
    """A decoupled series of few people."""
    technique = decouple(build_technique("m-invariance", {"m": 2}), 2)
    return replay(technique, snapshots(60, 8, stay=0.85), np.random.default_rng(0), memory=memory)


def rows_with_values() -> Ledger:
    """The same people in boxes that are cut anew, each with their own value: a group for each person."""
    entries = []
    for entry in rows_of_people(memory=False).entries:
        rows, shown = entry.release.person_rows, entry.trace.person_rows
        assert rows is not None
        assert shown is not None
        values = np.empty(len(shown), np.int32)
        values[shown] = entry.snapshot.sensitive
        sides = (ends[:, rows.box] for ends in (rows.boxes.low, rows.boxes.high, rows.boxes.missing))
        everyone = np.arange(len(shown), dtype=np.int32)
        release = Release(everyone, values, Boxes(*sides), person_rows=PersonRows(everyone, rows.box, rows.boxes))
        entries.append(
            replace(entry, release=release, auxiliary=Auxiliary.none(), trace=replace(entry.trace, rows=shown))
        )
    return Ledger(tuple(entries))


def ledgers_for(attack: str) -> tuple[Ledger, Ledger]:
    """A naive series, and the same people under a defence."""
    if attack in {"difference", "subsets"}:
        # They subtract groups whose people are certain, as Mondrian's are; where boxes overlap, difference is blind.
        techniques = (build_technique(name, {"k": 2, "ell": 2}) for name in ("mondrian", "bpg"))
        naive, defended = (replay(one, snapshots(PEOPLE * 5, 4), np.random.default_rng(0)) for one in techniques)
        return naive, defended
    if attack == "background":
        return drifting("mondrian", {"k": 2, "ell": 2}), drifting("js-reduce", {"k": 10, "t": 0.3, "j": 0.3})
    if attack == "worlds":  # every world is looked at, so people are few, and nobody is invented
        one_bucket = {"ell": 2, "buckets": "blind", "bucket_size": 8}
        technique, few = build_technique("sequential", one_bucket), snapshots(8, 1) * 4
        return tuple(replay(technique, few, np.random.default_rng(1), memory=memory) for memory in (False, True))
    tiny = {"people": 10, "releases": 2} if attack == "risk" else {}
    return ledger(memory=False, **tiny), ledger(memory=True, **tiny)


def drifting(technique: str, parameters: dict[str, object]) -> Ledger:
    """Values that seldom step on, among people who come and go: the past says much of the present."""
    rng = np.random.default_rng(5)
    people = 400
    qi = np.stack([rng.integers(0, 20, people), rng.integers(100, 140, people)]).astype(np.int32)
    start = rng.integers(0, VALUES, people)
    listed = []
    for step in range(8):
        here = np.flatnonzero(rng.random(people) < 0.7)
        listed.append(Snapshot(schema(), here, qi[:, here], (start[here] + step // 4) % VALUES))
    return replay(build_technique(technique, parameters), listed, np.random.default_rng(0))


def empty() -> Ledger:
    none = Snapshot(schema(), np.empty(0, np.int64), np.empty((2, 0), np.int32), np.empty(0, np.int32))
    return replay(build_technique("m-invariance", {"m": 2}), [none], np.random.default_rng(0))


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_is_called_as_the_catalog_says_and_gives_aggregates_only(name: str) -> None:
    check = build_check(name, WEAKEST[name])
    verdict, memory = check.examine(promised(name).entries[0], check.initial_memory())
    assert check.name == verdict.check == name
    assert hasattr(check, "informed") == check.needs_knowledge
    assert verdict.holds
    assert verdict.violations == 0
    assert verdict.sentence
    assert all(isinstance(value, int | float) for value in verdict.observed.values())
    assert pack(unpack(pack(memory))) == pack(memory)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_holds_on_an_empty_release(name: str) -> None:
    check = build_check(name, WEAKEST[name])
    verdict, _ = check.examine(empty().entries[0], check.initial_memory())
    assert verdict.holds


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_gives_the_same_verdict_whether_its_memory_was_packed_or_not(name: str) -> None:
    check = build_check(name, WEAKEST[name])
    plain = stored = check.initial_memory()
    for entry in ledger(memory=False).entries:
        one, plain = check.examine(entry, plain)
        two, stored = check.examine(entry, unpack(pack(stored)))
        assert one == two


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_says_what_it_knows_and_what_it_cannot_see(name: str) -> None:
    for told in (ATTACKS[name].knows, ATTACKS[name].blind_to):
        assert told[0].islower()
        assert not told.endswith(".")


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_wins_against_naive_republication_and_not_against_the_defence(name: str) -> None:
    attack = build_attack(name)
    (naive, known), (defended, defended_known) = battlefield(name)
    found = attack.run(naive.history(), known)
    assert attack.name == found.attack == name
    assert hasattr(attack, "beliefs") == attack.has_posteriors
    assert found.exposed > 0
    truth = {
        int(p): int(s) for e in naive.entries for p, s in zip(e.snapshot.persons, e.snapshot.sensitive, strict=True)
    }
    certain = found.confidence == 1
    assert all(truth[int(p)] == v for p, v in zip(found.persons[certain], found.inferred[certain], strict=True))
    assert attack.run(defended.history(), defended_known).exposed == 0


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_gives_a_finite_number_also_on_an_empty_release_unless_there_is_nothing_to_measure(name: str) -> None:
    metric = METRICS[name]()
    assert metric.name == name
    for entry in (ledger(memory=True).entries[-1], empty().entries[0]):
        number = metric.measure(entry, np.random.default_rng(0))
        assert math.isnan(number) if name == "relations" else math.isfinite(number)
