"""What a reader of the source learns from releases of BPG, against all worlds and orders of tiny series."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from builders.bpg import COLUMNS, entries, published, table
from builders.long_lists import sampled

from reanon_core.adversary_knowledge import readings_of
from reanon_core.catalog import own_checks
from reanon_core.judgement import history_verdicts
from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Ledger
from reanon_core.model.reading import Reading
from reanon_core.model.snapshot import Snapshot
from reanon_core.readers import bpg
from reanon_core.techniques.bpg.technique import Bpg

Order = dict[int, int]
Shown = list[list[tuple[list[int], list[int]]]]
"""For each release the people of each group, and the values that it shows."""


def publication(technique: Bpg, snapshots: list[Snapshot], order: Order, seed: int = 0) -> Shown | None:
    """What the technique itself publishes if pseudonyms are exchanged like this; None if it refuses."""
    back = {new: old for old, new in order.items()}
    state, rng, found = technique.initial_state(), np.random.default_rng(seed), []
    for snapshot in snapshots:
        persons = np.array([order[person] for person in snapshot.persons.tolist()])
        rows = np.argsort(persons)
        snapshot = replace(  # noqa: PLW2901
            snapshot, persons=persons[rows], qi=snapshot.qi[:, rows], sensitive=snapshot.sensitive[rows]
        )
        try:
            plan = technique.plan(snapshot, state, rng)
        except Unpublishable:
            return None
        state, table = technique.advance(state, snapshot, plan), plan.record_pool
        assert table is not None
        groups = []
        for own in range(plan.groups):
            members = np.flatnonzero(plan.group == own)
            people = sorted(back[person] for person in table.persons[members].tolist())
            groups.append((people, sorted(table.sensitive[members].tolist())))
        found.append(sorted(groups))
    return found


def in_world(snapshots: list[Snapshot], values: dict[int, int]) -> list[Snapshot]:
    return [
        replace(
            s, sensitive=np.array([values.get(p, v) for p, v in zip(s.persons, s.sensitive, strict=True)], np.int32)
        )
        for s in snapshots
    ]


def chance(technique: Bpg, snapshots: list[Snapshot], shown: Shown, orders: list[Order]) -> Fraction:
    """The share of these orders of pseudonyms that publish this."""
    same = sum(publication(technique, snapshots, order, seed) == shown for seed, order in enumerate(orders))
    return Fraction(same, len(orders))


def all_orders(snapshots: list[Snapshot]) -> list[Order]:
    people = sorted({person for snapshot in snapshots for person in snapshot.persons.tolist()})
    return [dict(zip(people, order, strict=True)) for order in permutations(people)]


def some_orders(snapshots: list[Snapshot], rng: np.random.Generator) -> list[Order]:
    people = sorted({person for snapshot in snapshots for person in snapshot.persons.tolist()})
    orders = [people, people[::-1], rng.permutation(people).tolist()]
    return [dict(zip(people, order, strict=True)) for order in orders]


def read(technique: Bpg, snapshots: list[Snapshot]) -> tuple[list[Reading], list[Snapshot], Shown]:
    """The readings, the tables that could be published, and what was."""
    found = published(technique, snapshots)
    kept = [snapshot for snapshot, _ in found]
    identity = {person: person for snapshot in kept for person in snapshot.persons.tolist()}
    shown = publication(technique, kept, identity)
    assert shown is not None
    return list(readings_of(technique, Ledger(tuple(entries(found))))), kept, shown


def assert_all_worlds_agree(
    technique: Bpg, one: Reading, snapshots: list[Snapshot], shown: Shown, orders: list[Order]
) -> None:
    """Every arrangement is as likely as the technique publishes it; and no other arrangement shows the same."""
    people = one.persons.tolist()
    truth = [int(value) for value in one.values[0]]
    likely = chance(technique, snapshots, shown, orders)
    expected = {*permutations(truth)}
    for values, log in zip(one.values[:, one.place].tolist(), one.log_likelihood.tolist(), strict=True):
        world = in_world(snapshots, dict(zip(people, values, strict=True)))
        is_truth = all(np.array_equal(w.sensitive, s.sensitive) for w, s in zip(world, snapshots, strict=True))
        as_likely = likely if is_truth else chance(technique, world, shown, orders)
        assert np.exp(log) == pytest.approx(float(as_likely / likely))
        expected.remove(tuple(values))
    assert not (one.complete and expected)


def certain(found: list[Reading]) -> set[int]:
    return {
        int(person)
        for one in found
        for person, place in zip(one.persons, one.place, strict=True)
        if one.complete and len({*one.values[one.log_likelihood > -np.inf, place].tolist()}) == 1
    }


def series(rng: np.random.Generator, people: int, releases: int) -> list[Snapshot]:
    """Tables that some people leave and re-enter; no two people share a quasi-identifier."""
    qi = np.stack([rng.permutation(10)[:people] for _ in range(2)]).astype(np.int32)
    value = rng.choice(4, people, p=[0.5, 0.3, 0.1, 0.1]).astype(np.int32)
    found = []
    for number in range(releases):
        here = np.sort(rng.permutation(people)[: people - (rng.integers(0, 3) if number else 0)])
        found.append(Snapshot(COLUMNS, here, qi[:, here], value[here]))
    return found


OPTIONS = [
    {"reserve": 1},
    {"reserve": 1, "groups": "classes", "variant": "union", "pool": "stored", "max_dirty": 1},
    {"reserve": 2},
    {"reserve": 1, "cuts_by": "quasi-identifiers"},
    {"reserve": 1, "cuts": "relaxed", "reject": "class"},
    {"reserve": 1, "cuts_by": "counts"},
]
FEW_SERIES = [(options, 5) for options in (OPTIONS[1], OPTIONS[3], OPTIONS[5])]
"""Every way to cut."""


@pytest.mark.parametrize(
    ("options", "turns"), sampled([*FEW_SERIES, *((options, 8) for options in OPTIONS)], FEW_SERIES)
)
def test_readings_agree_with_all_worlds(options: dict[str, object], turns: int) -> None:
    """Where the plans say that no order decided, neither the order of pseudonyms nor the seed does."""
    technique, rng, numbers = Bpg(k=2, ell=2, **options), np.random.default_rng(2), np.zeros(2, int)
    for turn in range(turns):
        found, snapshots, shown = read(technique, series(rng, 6 + turn % 3, 1 + turn % 3))
        for one in found:
            if len(one.values) <= 24 and (one.log_likelihood[one.log_likelihood > -np.inf] == 0).all():
                orders = some_orders(snapshots, rng)
                if chance(technique, snapshots, shown, orders) == 1:
                    assert_all_worlds_agree(technique, one, snapshots, shown, orders)
                    numbers += 1, (one.log_likelihood < 0).sum()
    assert numbers[0] > 1
    assert numbers[1] > 0 or options != OPTIONS[0]


@pytest.mark.parametrize("held_back", sampled([False, True], [True]))
@pytest.mark.parametrize("values", sampled([[0, 1, 0, 1, 2], [0, 0, 1, 1, 1]], [[0, 0, 1, 1, 1]]))
def test_where_pseudonyms_decide_all_their_orders_are_weighed(values: list[int], held_back: bool) -> None:
    """Five alike people, one of whom leaves: another one is held back. All orders of five are tried by brute force.

    What is read of these two, and of the three who are published again.
    """
    technique = Bpg(k=2, ell=2, reserve=1)
    tables = [table([1, 2, 3, 4, 5], values), table([1, 2, 3, 4], values[:4])]
    found, snapshots, shown = read(technique, tables)
    assert len(found) == 2
    (one,) = (one for one in found if (5 in one.persons) == held_back)
    assert_all_worlds_agree(technique, one, snapshots, shown, all_orders(snapshots))


@pytest.mark.slow
def test_the_order_of_other_atoms_has_the_same_part_in_every_likelihood() -> None:
    """Two atoms of four people each lose one member, and hold another back: by brute force all orders within both."""
    technique, values = Bpg(k=2, ell=2, reserve=1), [0, 1, 1, 0, 2, 3, 3, 3]
    place = [0, 0, 0, 0, 9, 9, 9, 9]
    stay = [0, 1, 2, 4, 5, 6]
    tables = [
        table(list(range(8)), values, place),
        table(stay, [values[i] for i in stay], [place[i] for i in stay]),
    ]
    found, snapshots, shown = read(technique, tables)
    assert [one.persons.tolist() for one in found if len(one.persons) > 1]
    orders = [
        {3: 3, 7: 7} | dict(zip(stay, [*left, *right], strict=True))
        for left in permutations(stay[:3])
        for right in permutations(stay[3:])
    ]
    for one in found:
        assert_all_worlds_agree(technique, one, snapshots, shown, orders)
    assert 0 < chance(technique, snapshots, shown, orders) < 1


def test_an_arrangement_can_be_possible_and_less_likely_than_the_truth() -> None:
    technique, logs = Bpg(k=2, ell=2, reserve=1), set()
    for values in ([0, 0, 1, 1, 1], [0, 1, 1, 2, 0]):
        found, _, _ = read(technique, [table([1, 2, 3, 4, 5], values), table([1, 2, 3, 4], values[:4])])
        logs |= {float(log) for one in found for log in one.log_likelihood}
    assert any(log not in (0.0, -np.inf) for log in logs), logs


def test_a_reader_of_the_source_is_certain_of_two_people_while_every_check_holds() -> None:
    """Five people in a row, as with Mondrian: a cut that was not made says that the two on the right are alike."""
    technique = Bpg(k=2, ell=2, reserve=1)
    first = table([1, 2, 3, 4, 5], [0, 2, 3, 1, 1], [0, 1, 6, 7, 8])
    ledger = Ledger(tuple(entries(published(technique, [first, first]))))
    for check in own_checks(technique):
        assert all(verdict.holds for verdict in history_verdicts(check, ledger.entries))
    assert certain(list(readings_of(technique, ledger))) == {4, 5}


def test_an_atom_that_was_not_divided_later_tells_as_much() -> None:
    """Four people stay together though the second table puts them far apart: a half would have had one value."""
    technique = Bpg(k=2, ell=2, reserve=1)
    near, far = [5, 5, 5, 5], [0, 1, 8, 9]
    ledger = Ledger(
        tuple(entries(published(technique, [table([1, 2, 3, 4], [0, 0, 1, 1], place) for place in (near, far)])))
    )
    (one,) = readings_of(technique, ledger)
    assert sorted(one.values[one.log_likelihood > -np.inf].tolist()) == [[0, 0, 1, 1], [1, 1, 0, 0]]


def test_with_cuts_by_counts_all_arrangements_are_equally_likely_where_no_piece_is_corrected() -> None:
    """Nobody leaves, people arrive: the paper's cuts tell something in these series, and cuts by counts nothing."""
    ruled_out = dict.fromkeys(("principle", "counts"), 0)
    for cuts_by in ruled_out:
        technique, rng, groups = Bpg(k=2, ell=2, reserve=1, cuts_by=cuts_by), np.random.default_rng(6), 0
        for _ in range(5):
            qi = np.stack([rng.permutation(20)[:12] for _ in range(2)]).astype(np.int32) // 2
            value = rng.choice(4, 12, p=[0.4, 0.3, 0.2, 0.1]).astype(np.int32)
            tables = [Snapshot(COLUMNS, np.arange(size), qi[:, :size], value[:size]) for size in (7, 11)]
            found, _, shown = read(technique, tables)
            groups += len(shown[0])
            ruled_out[cuts_by] += sum(bool((one.log_likelihood != 0).any()) for one in found)
        assert groups > 4
    assert ruled_out["principle"] > 0
    assert ruled_out["counts"] == 0


def test_one_release_that_is_read_by_its_cuts_is_read_alike_by_publishing_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    technique, rng, found = Bpg(k=2, ell=2, reserve=1), np.random.default_rng(9), []
    ledgers = [Ledger(tuple(entries(published(technique, series(rng, 8, 1))))) for _ in range(6)]
    for _ in range(2):
        numbers = {}
        for turn, ledger in enumerate(ledgers):
            for one in readings_of(technique, ledger):
                worlds = zip(map(tuple, one.values.tolist()), one.log_likelihood.tolist(), strict=True)
                numbers[turn, tuple(one.persons)] = dict(worlds)
        found.append(numbers)
        monkeypatch.setattr(bpg, "_first_release_readings", lambda *_: iter(()))
    assert found[0] == found[1]
    assert any(log < 0 for logs in found[0].values() for log in logs.values())


def test_what_cannot_be_read_is_left_out() -> None:
    tables = [table([1, 2, 3, 4], [0, 0, 1, 1], [0, 1, 8, 8])]
    read_by = {
        "itself": Bpg(k=2, ell=2, reserve=1),
        "invented rows": Bpg(k=2, ell=2, reserve=1, variant="ghost"),
        "relaxed cuts of equals": Bpg(k=2, ell=2, reserve=1, cuts="relaxed"),
        "a partitioner": Bpg(k=2, ell=2, reserve=1, over=lambda snapshot, _: np.zeros(snapshot.size, np.int32)),
        "another k": Bpg(k=4, ell=2, reserve=1),
    }
    ledger = Ledger(tuple(entries(published(read_by["itself"], [table([1, 2, 3, 4], [0, 1, 0, 1], [0, 1, 8, 8])]))))
    assert {name for name, technique in read_by.items() if list(readings_of(technique, ledger))} == {"itself"}
    changed = [tables[0], table([1, 2, 3, 4], [1, 0, 1, 1], [0, 1, 8, 8])]
    assert not list(readings_of(read_by["itself"], Ledger(tuple(entries(published(read_by["itself"], changed))))))


@pytest.mark.parametrize("cuts_by", ["principle", "quasi-identifiers", "counts"])
def test_a_large_history_is_read_as_far_as_its_first_release(monkeypatch: pytest.MonkeyPatch, cuts_by: str) -> None:
    technique, rng = Bpg(k=2, ell=2, reserve=1, cuts_by=cuts_by), np.random.default_rng(4)
    tables = [series(rng, 8, 1)[0] for _ in range(2)]
    ledgers = [Ledger(tuple(entries(published(technique, [one])))) for one in tables]
    expected = [list(readings_of(technique, ledger)) for ledger in ledgers]
    monkeypatch.setattr(bpg, "MOST_ROWS", 7)
    for ledger, whole in zip(ledgers, expected, strict=True):
        twice = Ledger(ledger.entries * 2)
        alone = {tuple(one.persons): one for one in readings_of(technique, twice)}
        assert alone.keys() == {tuple(one.persons) for one in whole}
        for one in whole:
            same = alone[tuple(one.persons)]
            assert np.array_equal(one.values, same.values)
            assert np.array_equal(one.log_likelihood, same.log_likelihood)
    monkeypatch.setattr(bpg, "MOST_ROWS_OF_FIRST", 7)
    assert not list(readings_of(technique, ledgers[0]))


def test_the_work_on_a_history_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    technique = Bpg(k=2, ell=2, reserve=1)
    ledger = Ledger(tuple(entries(published(technique, [table([1, 2, 3, 4], [0, 1, 2, 3])] * 2))))
    (whole,) = readings_of(technique, ledger)
    assert (len(whole.values), whole.complete) == (24, True)
    monkeypatch.setattr(bpg, "MOST_PLANS", 24)
    (some,) = readings_of(technique, ledger)
    assert (len(some.values), some.complete) == (7, False)
    monkeypatch.setattr(bpg, "MOST_PLANS", 3)
    assert not list(readings_of(technique, ledger))
