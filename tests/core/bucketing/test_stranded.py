"""People whose new value no signature can hide: what their absence tells, and what a later release must not add."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builders.random_series import schema

from reanon_core.adversary_knowledge import readings_of
from reanon_core.model.ledger import Ledger
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

EPISODES = [
    MInvariance(m=2, on_sensitive_change="episode", balancing="blind", not_eligible="refuse"),
    CorSplit(m=2, n=1, on_sensitive_change="episode", balancing="blind", not_eligible="refuse"),
]
PERSON, UNKNOWN = 1, 4
NEIGHBOURS = {2: 1, 3: 2, 4: 3}
NEWCOMERS = {5: UNKNOWN, 6: 2, 7: UNKNOWN, 8: 3}


def snapshot(values: dict[int, int], *, declared: bool = False) -> Snapshot:
    persons, columns = sorted(values), schema(5)
    return Snapshot(
        replace(columns, sensitive=replace(columns.sensitive, closed=declared)),
        np.array(persons),
        np.array([[10 * person for person in persons]], np.int32),
        np.array([values[person] for person in persons], np.int32),
    )


def replayed(technique: Any, later: list[int], seed: int, *, declared: bool = False) -> Ledger:
    """The person has the value 0 first, and then these; the value that is not known comes with the third release."""
    releases = [{PERSON: 0, **NEIGHBOURS}]
    releases += [{PERSON: value, **NEIGHBOURS, **(NEWCOMERS if at else {})} for at, value in enumerate(later)]
    snapshots = [snapshot(values, declared=declared) for values in releases]
    return replay(technique, snapshots, np.random.default_rng(seed))


def shown(ledger: Ledger) -> list[bool]:
    """Whether each release shows the person."""
    return [PERSON in entry.trace.persons for entry in ledger.entries]


@pytest.mark.parametrize("technique", EPISODES, ids=lambda one: one.name)
def test_a_person_who_was_stranded_begins_no_further_episode(technique: Any) -> None:
    """Lemma 1: with another value of the new signature the person would not have been withheld, so it would be told."""
    seeds = range(40)
    assert all(shown(replayed(technique, [UNKNOWN, UNKNOWN], seed)) == [True, False, False] for seed in seeds)
    assert all(shown(replayed(technique, [2, 2], seed)) == [True] * 3 for seed in seeds)


@pytest.mark.parametrize("technique", EPISODES, ids=lambda one: one.name)
def test_a_person_who_was_stranded_returns_with_a_value_of_an_earlier_signature(technique: Any) -> None:
    ledger = replayed(technique, [UNKNOWN, 1, UNKNOWN, 0], seed=0)
    assert shown(ledger) == [True, False, True, False, True]


@pytest.mark.parametrize("technique", EPISODES, ids=lambda one: one.name)
def test_the_attack_algorithm_explains_releases_without_a_person_who_was_stranded(technique: Any) -> None:
    readings = list(readings_of(technique, replayed(technique, [UNKNOWN, UNKNOWN, 1, 3], seed=0)))
    assert readings
    assert all(reading.unread == 0 and not reading.log_likelihood.any() for reading in readings)


@pytest.mark.parametrize("technique", EPISODES, ids=lambda one: one.name)
def test_no_one_is_stranded_by_a_declared_value_that_no_release_has_shown(technique: Any) -> None:
    """Their absence would tell the value: the others could have been hidden."""
    for seed in range(10):
        ledgers = [replayed(technique, [value, value], seed, declared=True) for value in (2, 3, UNKNOWN)]
        assert all(shown(ledger) == [True] * 3 for ledger in ledgers)
        readings = [reading for ledger in ledgers for reading in readings_of(technique, ledger)]
        assert all(reading.unread == 0 and not reading.log_likelihood.any() for reading in readings)


@pytest.mark.parametrize("name", ["m-invariance", "cor-split"])
def test_blocks_may_show_a_declared_value_that_no_release_has_shown(name: str) -> None:
    technique = next(replace(one, not_eligible="blocks") for one in EPISODES if one.name == name)
    releases = [snapshot(dict.fromkeys((1, 2), 0), declared=True) for _ in range(2)]
    ledger = replay(technique, releases, np.random.default_rng(0))
    assert [len(np.unique(entry.release.sensitive)) for entry in ledger.entries] == [2, 2]
    assert all(reading.unread == 0 for reading in readings_of(technique, ledger))
