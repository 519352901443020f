"""The adversary who knows the algorithm, in buckets with many people, who are counted and not listed."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builders.random_series import changing_series, published, schema, small_series
from core.attacks.test_algorithm import COLD, DYSPEPSIA, FLU, GASTRITIS, attacked, concluded
from oracles.bucket_rows import literal_rows

from reanon_core.adversary_knowledge import readings_of
from reanon_core.attacks import algorithm
from reanon_core.attacks.algorithm import AlgorithmAttack
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.model.reading import Places, Reading
from reanon_core.model.snapshot import Snapshot
from reanon_core.readers import bucket_history as histories
from reanon_core.replay import replay
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

LEAKING = [
    MInvariance(m=2, balancing="filled", on_sensitive_change="episode"),
    MInvariance(m=2, not_eligible="defer"),
    CorSplit(m=2, n=1, balancing="filled", max_lifespan=2, on_lifespan="withhold"),
]
FEWER, UNEVEN = "people left with fewer values", "people with an uneven posterior"


def answers(found: Findings) -> tuple[Any, ...]:
    """All that is found."""
    return found.exposed, found.persons.tolist(), found.inferred.tolist(), found.note, found.extra


def with_people_listed(readings: Iterator[Reading], ledger: Ledger, max_lifespan: int | None) -> Iterator[Reading]:
    """The same readings, with everyone in large buckets listed at the place of each of their values."""
    rows = literal_rows(ledger, max_lifespan=max_lifespan)
    for reading in readings:
        if reading.unlisted is None:
            yield reading
            continue
        signature = tuple(sorted(set(reading.values[0].tolist())))
        inside = sorted({(row.person, signature.index(row.value)) for row in rows if row.signature == signature})
        persons, place = np.array(inside).T
        yield replace(reading, persons=persons, place=place, unlisted=None)


@pytest.mark.parametrize("at_once", [1, 10**6])
@pytest.mark.parametrize("technique", LEAKING, ids=lambda one: f"{one.name}-{one.balancing}-{one.not_eligible}")
def test_people_who_are_counted_are_as_many_as_those_who_are_listed(
    technique: Any, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Buckets of more than eight people are large here, so that people are in large ones and in small ones."""
    monkeypatch.setattr(histories, "MOST_PEOPLE", 8)
    monkeypatch.setattr(histories, "ROWS_AT_ONCE", at_once)
    lifespan = getattr(technique, "max_lifespan", None)
    large, several, counted = 0, 0, np.zeros(2)
    for seed in range(14):
        snapshots = small_series(seed)[1]
        if technique.on_sensitive_change == "episode":
            rng = np.random.default_rng(seed)
            snapshots = [
                replace(one, sensitive=np.where(rng.random(one.size) < 0.1, 0, one.sensitive)) for one in snapshots
            ]
        ledger = published(technique, snapshots, seed)
        if ledger is None:
            continue
        readings = list(readings_of(technique, ledger))
        found = attacked(technique, ledger)
        known = replace(ledger.knowledge(), readings=lambda: with_people_listed(iter(readings), ledger, lifespan))  # noqa: B023
        assert answers(found) == answers(AlgorithmAttack().run(ledger.history(), known))
        is_large = [reading.unlisted is not None for reading in readings]
        large += sum(is_large)
        several += 0 < sum(is_large) < len(readings)
        counted += [found.extra[FEWER], found.extra[UNEVEN]]
    assert large > 5 < several
    assert counted.all() or technique.balancing == "blind"


def test_a_relabelling_of_a_large_bucket_is_as_likely_as_in_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    for technique in LEAKING:
        for seed in range(10):
            series = changing_series(seed) if technique.on_sensitive_change == "episode" else small_series(seed)[1]
            ledger = published(technique, series, seed)
            if ledger is None:
                continue
            monkeypatch.setattr(histories, "MOST_PEOPLE", 100)
            small = list(readings_of(technique, ledger))
            monkeypatch.setattr(histories, "MOST_PEOPLE", 0)
            large = list(readings_of(technique, ledger))
            for one, other in zip(small, large, strict=True):
                assert not other.complete
                assert not len(other.persons)
                for values, claimed in zip(other.values, other.log_likelihood, strict=True):
                    image = dict(zip(other.values[0].tolist(), values.tolist(), strict=True))
                    relabelled = [image[value] for value in one.values[0].tolist()]
                    same = (one.values == relabelled).all(axis=1)
                    assert one.log_likelihood[same].tolist() == [claimed]
                    compared += claimed != 0
    assert compared > 20


@pytest.mark.parametrize("at_once", [100, 10**6])
def test_two_people_who_are_certain_are_found_among_many(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest leak of `filled`, beside ten thousand people of two other values."""
    monkeypatch.setattr(histories, "ROWS_AT_ONCE", at_once)
    monkeypatch.setattr(algorithm, "PEOPLE_AT_ONCE", at_once)
    everyone = np.arange(10_005)
    a, b, c, d, e = few = (2_000, 4_001, 6_002, 8_003, 9_999)
    ages = np.random.default_rng(0).integers(0, 100, len(everyone)).astype(np.int32)
    values = np.zeros(len(everyone), dtype=np.int32)
    values[np.setdiff1d(everyone, few)] = np.tile([4, 5], 5_000)

    def table(present: dict[int, int]) -> Snapshot:
        here = np.setdiff1d(everyone, [one for one in few if one not in present])
        own = values.copy()
        for one, value in present.items():
            own[one] = value
        return Snapshot(schema(6), here, ages[None, here], own[here])

    technique = MInvariance(m=2, balancing="filled")
    series = [table({}), table({a: FLU, b: COLD}), table({a: FLU, c: FLU, d: GASTRITIS, e: DYSPEPSIA})]
    ledger = replay(technique, series, np.random.default_rng(1))
    found = attacked(technique, ledger)
    assert dict(zip(found.persons.tolist(), found.inferred.tolist(), strict=True)) == {a: FLU, b: COLD}
    assert found.of == found.extra["people read"] == len(everyone)
    assert found.extra["readings"] > found.extra["readings that are not complete"] > 0


def unlisted(*parts: tuple[list[int], list[int], list[int]]) -> Any:
    """People with their readings and places, part by part."""
    return lambda: (Places(*(np.array(one) for one in part)) for part in parts)


def test_a_person_in_listed_and_unlisted_readings_is_counted_once() -> None:
    values, even, ruled_out = np.array([[0, 1], [1, 0]]), np.zeros(2), np.array([0.0, -np.inf])
    one, two = np.array([7, 8]), np.arange(2)
    # 7 and 8 are listed; 8 and 9 are in reading 3, and 9 in reading 5 too, which is even; 6 is in no reading so far.
    places = unlisted(([6, 7], [9, 5], [0, 0]), ([8, 9, 9], [3, 3, 5], [0, 1, 1]))
    shared = {"values": values, "complete": False}
    none = np.empty(0, np.int64)
    readings = [
        Reading(persons=one, place=two, log_likelihood=ruled_out, **shared),  # type: ignore[arg-type]
        Reading(persons=none, place=none, log_likelihood=ruled_out, unlisted=places, number=3, **shared),  # type: ignore[arg-type]
        Reading(persons=none, place=none, log_likelihood=even, unlisted=places, number=5, **shared),  # type: ignore[arg-type]
    ]
    found = concluded(readings)
    assert found.extra["people read"] == found.extra[FEWER] == found.extra[UNEVEN] == 3
    found = concluded(readings[2:])
    assert found.extra["people read"] == 2
    assert found.extra[FEWER] == found.extra[UNEVEN] == 0


def test_people_of_several_releases_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for at_once in (1, 3, 100):
        monkeypatch.setattr(algorithm, "PEOPLE_AT_ONCE", at_once)
        lists = [np.flatnonzero(rng.random(50) < share).astype(np.int64) for share in (0.5, 0.1, 0.0, 0.9)]
        assert algorithm._people_of(lists) == len(set(np.concatenate(lists).tolist()))
    assert algorithm._people_of([]) == 0


def test_nothing_is_asked_of_the_people_but_who_they_are() -> None:
    technique = MInvariance(m=2, balancing="blind", not_eligible="refuse")
    ledger = published(technique, small_series(3)[1], 3) or published(technique, small_series(4)[1], 4)
    assert ledger is not None
    known = ledger.knowledge(people_only=True)
    assert [one.persons.tolist() for one in known.presences] == [
        one.persons.tolist() for one in ledger.knowledge().presences
    ]
    assert all(one.qi.size == 0 and one.group is None for one in known.presences)
    history = History(ledger.history().schema, ())
    alone = Knowledge(known.presences, readings=lambda: readings_of(technique, ledger))
    assert answers(AlgorithmAttack().run(history, alone)) == answers(attacked(technique, ledger))
