"""What a reader of the source learns from a release of Mondrian, against all worlds of tiny tables."""

from itertools import permutations, product

import numpy as np
import pytest
from builders.long_lists import sampled

from reanon_core.adversary_knowledge import readings_of
from reanon_core.catalog import own_checks
from reanon_core.model.errors import Unpublishable
from reanon_core.model.reading import Reading
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.readers import mondrian
from reanon_core.replay import replay
from reanon_core.techniques.mondrian.technique import Mondrian

COLUMNS = Schema(
    quasi_identifiers=(QuasiIdentifier(name="a", domain=(0, 9)), QuasiIdentifier(name="b", domain=(0, 9))),
    sensitive=Sensitive(name="s", values=("cold", "flu", "gastritis", "dyspepsia")),
)
SHARES = ((0.6, 0.2, 0.1, 0.1), (0.4, 0.4, 0.1, 0.1))
BLIND = {"cuts_by": "quasi-identifiers"}
COUNTS = {"cuts_by": "counts"}
APART, SHARED = (False,), (True,)
READ: list[tuple[dict[str, object], bool, tuple[bool, ...]]] = [
    ({"ell": 2}, True, APART),
    ({"ell": 2, "diversity": "frequency"}, True, SHARED),
    ({"t": 0.3}, True, APART),
    ({"ell": 2, "heuristic": "balance"}, True, APART),
    ({"ell": 2, "cuts": "relaxed"}, True, APART + SHARED),
    ({"ell": 1}, False, APART),
    ({"ell": 2, **BLIND}, True, APART),
    ({"ell": 2, "diversity": "frequency", **BLIND}, True, SHARED),
    ({"ell": 2, **BLIND, "failing": "withhold"}, False, APART),
    ({"ell": 2, **COUNTS}, False, APART),
    ({"ell": 2, **COUNTS, "failing": "withhold"}, False, ()),
    ({"ell": 2, "diversity": "frequency", **COUNTS}, False, SHARED),
]
"""Parameters, whether their releases tell a reader anything, and whether people share their places in every run."""
World = tuple[int, ...]
Partition = list[list[int]]


def table(places: np.ndarray, values: World) -> Snapshot:
    return Snapshot(COLUMNS, np.arange(len(values)), places.astype(np.int32), np.array(values, np.int32))


def places(rng: np.random.Generator, people: int, *, ties: bool) -> np.ndarray:
    if ties:
        return rng.integers(0, 4, (2, people))
    return np.stack([rng.permutation(10)[:people] for _ in range(2)])


def groups(technique: Mondrian, snapshot: Snapshot, seed: int = 0) -> Partition:
    """The groups that the technique itself makes; none if it refuses the table."""
    try:
        plan = technique.plan(snapshot, technique.initial_state(), np.random.default_rng(seed))
    except Unpublishable:
        return []
    return sorted(np.flatnonzero(plan.group == own).tolist() for own in range(plan.groups))


def readings(technique: Mondrian, snapshot: Snapshot) -> list[Reading]:
    return list(readings_of(technique, replay(technique, [snapshot], np.random.default_rng(1))))


def same_values(truth: World, partition: Partition) -> set[World]:
    """Every world that shows the values of the truth in every group."""
    worlds = set()
    for parts in product(*({*permutations([truth[i] for i in group])} for group in partition)):
        world = list(truth)
        for group, values in zip(partition, parts, strict=True):
            for i, value in zip(group, values, strict=True):
                world[i] = value
        worlds.add(tuple(world))
    return worlds


def certain(found: list[Reading]) -> set[int]:
    """Who has one value in all arrangements that are not ruled out."""
    return {
        int(person)
        for one in found
        for person, place in zip(one.persons, one.place, strict=True)
        if one.complete and len({*one.values[one.log_likelihood > -np.inf, place].tolist()}) == 1
    }


def assert_checks_hold(technique: Mondrian, snapshot: Snapshot) -> None:
    (entry,) = replay(technique, [snapshot], np.random.default_rng(0)).entries
    for check in own_checks(technique):
        assert check.examine(entry, check.initial_memory())[0].holds


@pytest.mark.parametrize(
    ("parameters", "leaks", "ties"),
    sampled(
        [(parameters, leaks, ties) for parameters, leaks, _ in READ for ties in (False, True)],
        [(parameters, leaks, ties) for parameters, leaks, every_run in READ for ties in every_run],
    ),
)
def test_a_reading_agrees_with_all_worlds(parameters: dict[str, object], leaks: bool, ties: bool) -> None:
    """The technique itself publishes every world that shows the same values, with several seeds."""
    technique, rng = Mondrian(k=2, **parameters), np.random.default_rng(5)
    ruled_out = decided = 0
    for turn in range(30):
        people = int(rng.integers(5, 8))
        where = places(rng, people, ties=ties)
        truth = tuple(rng.choice(4, people, p=SHARES[turn % 2]).tolist())
        partition = groups(technique, table(where, truth))
        if not partition:
            continue
        found = sorted(readings(technique, table(where, truth)), key=lambda one: one.persons.tolist())
        worlds = same_values(truth, partition)
        published = {world: groups(technique, table(where, world), people) == partition for world in worlds}
        for one in found:
            assert one.complete
            assert tuple(one.values[0]) == tuple(truth[i] for i in one.persons)
            seen = set()
            for values, log in zip(one.values, one.log_likelihood, strict=True):
                world = list(truth)
                for person, place in zip(one.persons.tolist(), one.place.tolist(), strict=True):
                    world[person] = int(values[place])
                assert log == (0 if published[tuple(world)] else -np.inf)
                seen.add(tuple(world))
                ruled_out += log < 0
            others = [i for i in range(people) if i not in one.persons]
            assert seen == {world for world in worlds if all(world[i] == truth[i] for i in others)}
            decided += 1
        if not (ties and technique.cuts == "relaxed"):
            assert [one.persons.tolist() for one in found] == [g for g in partition if len({truth[i] for i in g}) > 1]
    assert bool(decided) == (not ties or technique.cuts == "strict")
    assert bool(ruled_out) == (leaks and bool(decided))


def test_a_reader_of_the_source_is_certain_of_two_people_while_every_check_holds() -> None:
    """Five people in a row, cut into three and two. Only flu occurs twice.

    The cut was not made, so a side has one value. The three cannot, so the two have flu.
    """
    snapshot = table(np.array([[0, 1, 6, 7, 8], [0, 0, 0, 0, 0]]), (0, 2, 3, 1, 1))
    for technique in (Mondrian(k=2, ell=2), Mondrian(k=2, ell=2, cuts_by="quasi-identifiers")):
        assert_checks_hold(technique, snapshot)
        assert certain(readings(technique, snapshot)) == {3, 4}


def test_a_cut_that_was_not_made_ties_two_people_to_each_other() -> None:
    """Four people in a row, two values: the two on the left have the same one, whichever it is."""
    (one,) = readings(Mondrian(k=2, ell=2), table(np.array([[0, 1, 8, 9], [0, 0, 0, 0]]), (0, 0, 1, 1)))
    possible = one.values[one.log_likelihood > -np.inf].tolist()
    assert sorted(possible) == [[0, 0, 1, 1], [1, 1, 0, 0]]
    assert len(one.values) == 6


def test_a_cut_rejected_above_a_group_counts_too() -> None:
    """Arrangements are ruled out in groups of fewer than 2k people, which no cut of their own could divide."""
    technique, rng, found = Mondrian(k=2, ell=2), np.random.default_rng(3), 0
    for _ in range(60):
        snapshot = table(places(rng, 8, ties=False), tuple(rng.choice(4, 8, p=SHARES[0])))
        if groups(technique, snapshot):
            small = [one for one in readings(technique, snapshot) if len(one.persons) < 4]
            found += sum(bool((one.log_likelihood < 0).any()) for one in small)
    assert found


def test_a_release_that_other_parameters_made_is_not_read() -> None:
    snapshot = table(np.array([[0, 1, 8, 9], [0, 0, 0, 0]]), (0, 1, 0, 1))
    ledger = replay(Mondrian(k=2, ell=2), [snapshot], np.random.default_rng(0))
    assert list(readings_of(Mondrian(k=2, ell=2), ledger))
    assert not list(readings_of(Mondrian(k=4, ell=2), ledger))


def test_a_large_group_is_read_by_exchanges_and_a_large_table_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    technique, rng = Mondrian(k=10, ell=2), np.random.default_rng(0)
    snapshot = table(np.stack([rng.permutation(10), np.zeros(10)]), (0, 1, 2, 1, 2, 0, 0, 1, 2, 0))
    (one,) = readings(technique, snapshot)
    assert one.complete
    monkeypatch.setattr(mondrian, "MOST_ARRANGEMENTS", 100)
    (one,) = readings(technique, snapshot)
    assert not one.complete
    assert ((one.values != one.values[0]).sum(axis=1)[1:] == 2).all()
    monkeypatch.setattr(mondrian, "MOST_ROWS", 9)
    assert not readings(technique, snapshot)
