"""What a reader of the source computes from sequential releases, against the technique itself in every world."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from random import Random

import numpy as np
import pytest
from builders.worlds import part, table
from oracles.worlds import World, ring_chances, symmetric_chances

from reanon_core.adversary_knowledge import readings_of, with_algorithm
from reanon_core.attacks.algorithm import AlgorithmAttack
from reanon_core.catalog import own_checks
from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.reading import Reading
from reanon_core.model.schema import Ends, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.readers.sequential import PEOPLE, draws_of, value_order_count
from reanon_core.replay import replay
from reanon_core.techniques.sequential.batches import Batch
from reanon_core.techniques.sequential.buckets import space_of
from reanon_core.techniques.sequential.technique import Sequential

TRIES = 60
LINE = Schema(
    quasi_identifiers=(QuasiIdentifier(name="age", domain=(0, 12)),),
    sensitive=Sensitive(name="disease", values=("a", "b", "c")),
)


def on_a_line(ages: list[int], values: str) -> Snapshot:
    codes = np.array(["abc".index(value) for value in values], np.int32)
    return Snapshot(LINE, np.arange(len(ages)), np.array([ages], np.int32), codes)


def published(technique: Sequential, snapshots: list[Snapshot], seed: int = 0) -> Ledger:
    return replay(technique, snapshots, np.random.default_rng(seed))


def greatest_posterior(reading: Reading) -> np.ndarray:
    """The posterior of the likeliest value of each person."""
    weight = np.exp(reading.log_likelihood)
    return np.array(
        [max(weight[column == value].sum() for value in set(column)) / weight.sum() for column in reading.values.T]
    )


def seen(entry: Entry) -> object:
    """What an adversary sees who knows whom a release shows: people, and rows in no order."""
    release, where = entry.release, entry.release.group
    rows = np.vstack([release.boxes.low[:, where], release.boxes.high[:, where], release.sensitive, release.other])
    return tuple(entry.trace.persons.tolist()), tuple(sorted(map(tuple, rows.T.tolist())))


def batch(values: World, points: list[int]) -> Batch:
    space = space_of(LINE.quasi_identifiers, np.array([points], np.int32), np.array([[0], [12]]))
    everyone = np.arange(len(values))
    return Batch(everyone, np.array(values, np.int32), space, np.zeros(len(values), np.int32))


@pytest.mark.parametrize(
    ("values", "ell", "ring"),
    [
        ((0, 1, 2, 3), 2, False),
        ((0, 0, 1, 2, 3), 2, False),
        ((0, 1, 2, 0, 1, 2), 3, False),
        ((0, 0, 1, 1, 2), 2, True),
        ((0, 1, 0, 1), 2, True),
    ],
)
def test_the_draws_are_those_of_the_oracle(values: World, ell: int, ring: bool) -> None:
    points = [0, 1, 3, 7, 12, 5][: len(values)]
    found: dict[frozenset[World], Fraction] = defaultdict(Fraction)
    for worlds, chance in draws_of(batch(values, points), ell, ring=ring):
        found[frozenset([values, *(tuple(values[other] for other in image) for image in worlds.images)])] += chance
    assert found == (ring_chances(values, points, ell) if ring else symmetric_chances(values, ell))


def test_as_many_orders_are_counted_as_there_are() -> None:
    assert value_order_count([0, 0, 1, 1, 2]) == 2 * 2 * 2
    assert value_order_count([0, 1, 2, 3]) == 24


def arrangements(ledger: Ledger, persons: np.ndarray) -> dict[tuple[tuple[int, ...], ...], list[Snapshot]]:
    """The tables of every world: the suffixes of these people in every order."""
    full = {
        int(person): (int(value), *other.tolist())
        for entry in ledger.entries
        for person, value, other in zip(
            entry.snapshot.persons, entry.snapshot.sensitive, entry.snapshot.other.T, strict=True
        )
    }
    worlds = {}
    for suffixes in set(permutations([full[person] for person in persons.tolist()])):
        now = full | dict(zip(persons.tolist(), suffixes, strict=True))
        worlds[suffixes] = [
            replace(
                one,
                sensitive=np.array([now[person][0] for person in one.persons.tolist()], np.int32),
                other=np.array([now[person][1:] for person in one.persons.tolist()], np.int32).T,
            )
            for one in (entry.snapshot.in_table() for entry in ledger.entries)
        ]
    return worlds


def tiny(kind: str) -> tuple[Sequential, list[Snapshot]]:
    """Few people in one or two releases."""
    whole = table(Random(5), 4, values=3, columns=("age", "disease"))
    joint = replace(table(Random(6), 6, values=2), sensitive=np.array([0, 1, 0, 0, 1, 1], np.int32))
    everyone, pair, waiting = np.ones(6, np.bool_), np.arange(6) < 2, np.isin(np.arange(6), (2, 3))
    later = replace(whole, columns=("city", "disease", "blood"))
    both = [whole, later]
    growing = table(Random(3), 6, values=3, columns=("age", "disease"))
    four = np.array([True, True, False, True, True, False])
    on_a_grid = replace(whole, schema=whole.schema.with_ends(Ends.GRID))
    three = table(Random(2), 3, values=3)
    same = replace(whole, sensitive=np.array([0, 0, 1, 1], np.int32))
    return {
        "least-loss": (Sequential(ell=2, buckets="least-loss"), [on_a_line([1, 2, 5, 8, 9], "caabb")]),
        "blind": (Sequential(ell=2), both),
        "grid": (Sequential(ell=2), [replace(on_a_grid, columns=("age", "disease"))]),
        "ring": (Sequential(ell=2, worlds="ring"), [on_a_line([0, 1, 3, 7, 12], "aabbc")]),
        "ell": (Sequential(ell=3), [replace(three, columns=("age", "disease")), three]),
        "batches": (Sequential(ell=2), [part(growing, four, ("age", "disease")), growing]),
        "waiting": (
            Sequential(ell=2, on_batch="wait"),
            [part(joint, members, ("age", "disease")) for members in (pair, pair | waiting, everyone)],
        ),
        "leaving": (
            Sequential(ell=2, on_delete="defer"),
            [replace(same, columns=("age", "disease")), part(same, np.array([True, False, True, True]), None)],
        ),
        "homogeneous": (Sequential(ell=2, approach="homogeneous"), both),
        "non-sequential": (Sequential(ell=2, approach="non-sequential", loss="em"), both),
    }[kind]


SLOW = ("blind", "batches", "leaving", "homogeneous", "non-sequential")


@pytest.mark.parametrize(
    "kind", ["least-loss", "grid", "ring", "ell", *(pytest.param(kind, marks=pytest.mark.slow) for kind in SLOW)]
)
def test_likelihoods_are_how_often_the_technique_itself_publishes_the_same(kind: str) -> None:
    """Every world is published under many seeds; an order of people that mattered would show here too."""
    technique, snapshots = tiny(kind)
    ledger = published(technique, snapshots)
    truth = [seen(entry) for entry in ledger.entries]
    for reading in readings_of(technique, ledger):
        assert reading.complete
        said = dict(zip(map(tuple, reading.values.tolist()), np.exp(reading.log_likelihood).tolist(), strict=True))
        often: dict[tuple[int, ...], list[float]] = defaultdict(list)
        for suffixes, tables in arrangements(ledger, reading.persons).items():
            values = tuple(suffix[0] for suffix in suffixes)
            often[values].append(rate_of(technique, tables, truth, TRIES if said[values] else TRIES // 5))
        assert set(said) == set(often)
        rate = {values: float(np.mean(rates)) for values, rates in often.items()}
        scale = sum(rate.values()) / sum(said.values())
        for values, likelihood in said.items():
            expected = min(1.0, likelihood * scale)
            if likelihood == 0:
                assert rate[values] == 0
            else:
                assert abs(rate[values] - expected) <= 5 * (expected * (1 - expected) / TRIES) ** 0.5 + 2 / TRIES


def rate_of(technique: Sequential, tables: list[Snapshot], truth: list[object], tries: int) -> float:
    """How often the technique publishes the same from these tables."""
    try:
        return (
            sum([seen(entry) for entry in published(technique, tables, seed).entries] == truth for seed in range(tries))
            / tries
        )
    except Unpublishable:
        return 0.0


def test_a_reader_knows_everyone_where_a_cut_was_not_made() -> None:
    """The two eldest share a value: otherwise they would be a bucket of their own. All checks hold."""
    technique = Sequential(ell=2, buckets="least-loss")
    ledger = published(technique, [on_a_line([1, 2, 5, 8, 9], "caabb")], seed=1)
    for check in own_checks(technique):
        verdict, _ = check.examine(ledger.entries[0], check.initial_memory())
        assert verdict.holds
    (reading,) = readings_of(technique, ledger)
    assert greatest_posterior(reading).tolist() == [1.0] * 5
    assert reading.values[0].tolist() == [2, 0, 0, 1, 1]
    attack = AlgorithmAttack().run(ledger.history(), with_algorithm(technique, ledger, ledger.knowledge()))
    assert attack.inferred.tolist() == [2, 0, 0, 1, 1]


def test_a_reader_of_blind_buckets_considers_no_value_likelier_than_one_in_ell() -> None:
    technique = Sequential(ell=2)
    (reading,) = readings_of(technique, published(technique, [on_a_line([1, 2, 5, 8, 9], "caabb")], seed=1))
    assert greatest_posterior(reading).max() == pytest.approx(0.5)


def test_ring_worlds_are_caught_where_symmetric_ones_are_not() -> None:
    snapshot = on_a_line([0, 3, 4, 6, 8], "cabab")
    greatest = {}
    for worlds in ("ring", "symmetric"):
        technique = Sequential(ell=2, worlds=worlds)  # type: ignore[arg-type]
        greatest[worlds] = [
            greatest_posterior(reading).max()
            for seed in range(2)
            for reading in readings_of(technique, published(technique, [snapshot], seed))
        ]
    assert max(greatest["ring"]) == 1.0
    assert max(greatest["symmetric"]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("ell", "options"), [(2, {}), (3, {}), (2, {"bucket_size": 2}), (2, {"approach": "homogeneous"})], ids=str
)
def test_no_posterior_passes_one_in_ell_with_blind_buckets_and_symmetric_worlds(
    ell: int, options: dict[str, object]
) -> None:
    technique, decided = Sequential(ell=ell, **options), 0  # type: ignore[arg-type]
    for seed in range(12):
        people, values = (5, 3) if ell == 2 else (4, 4)
        whole = table(Random(seed), people, values=values, columns=("age", "disease"))
        try:
            ledger = published(technique, [whole, replace(whole, columns=("city", "rank", "disease"))], seed)
        except Unpublishable:
            continue
        (reading,) = readings_of(technique, ledger)
        assert reading.complete
        assert greatest_posterior(reading).max() <= 1 / ell + 1e-12
        decided += 1
        if decided == 3:
            return
    raise AssertionError(decided)


def test_people_who_waited_give_away_that_they_were_not_diverse() -> None:
    """a, a waited for b, b: had they differed, they would have been published at once."""
    technique, snapshots = tiny("waiting")
    ledger = published(technique, snapshots)
    assert ledger.entries[1].withheld == 2
    late = list(readings_of(technique, ledger))[-1]
    assert late.complete
    waited = np.isin(late.persons, snapshots[1].persons)
    for values, likelihood in zip(late.values[:, waited].tolist(), late.log_likelihood, strict=True):
        assert values[0] == values[1] or likelihood == -np.inf


def test_what_is_not_computed_is_not_claimed() -> None:
    technique = Sequential(ell=2)
    whole = table(Random(1), PEOPLE + 1)
    (large,) = readings_of(technique, published(technique, [whole]))
    changed = published(Sequential(ell=2, approach="homogeneous"), [on_a_line([1, 2, 5, 8, 9], "caabb")])
    (other,) = readings_of(technique, changed)
    three = Sequential(ell=3, worlds="ring")
    (walks,) = readings_of(three, published(three, [table(Random(1), 6, values=3)]))
    for reading in (large, other, walks):
        assert not reading.complete
        assert len(reading.values) == 1
