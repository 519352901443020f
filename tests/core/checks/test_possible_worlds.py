"""The judge of worlds finds every planted violation, and agrees with brute force."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from builders.worlds import part, table
from oracles.worlds import Row, matches

from reanon_core.checks.matchings import unmatched_components
from reanon_core.checks.possible_worlds import PossibleWorlds
from reanon_core.model.ledger import Entry
from reanon_core.model.release import Boxes
from reanon_core.model.trace import Trace, Witness
from reanon_core.replay import replay
from reanon_core.techniques.sequential.technique import Sequential

CHECK = PossibleWorlds(ell=3)


def entries() -> tuple[Entry, Entry]:
    snapshot = table(Random(1), 30)
    snapshots = [replace(snapshot, columns=columns) for columns in (("age", "disease"), ("city", "disease", "blood"))]
    first, second = replay(Sequential(ell=3), snapshots, np.random.default_rng(0)).entries
    return first, second


def witnessed(entry: Entry, change: Callable[[np.ndarray], None]) -> Entry:
    assert entry.witness is not None
    rows = entry.witness.rows.copy()
    change(rows)
    return replace(entry, witness=Witness(rows))


def test_it_holds_and_counts_what_it_matched_without_the_witness() -> None:
    memory = CHECK.initial_memory()
    for entry in entries():
        verdict, memory = CHECK.examine(entry, memory)
        assert verdict.holds
        assert verdict.observed["components matched without the witness"] > 0


def swap_worlds(rows: np.ndarray) -> None:
    rows[[0, 1]] = rows[[1, 0]]


def repeat_a_world(rows: np.ndarray) -> None:
    rows[0] = rows[1]


def share_a_row(rows: np.ndarray) -> None:
    rows[0, 0] = rows[0, 1]


def point_nowhere(rows: np.ndarray) -> None:
    rows[1, 2] = 30


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        (repeat_a_world, "people to whom two worlds give the same value"),
        (share_a_row, "rows that a world gives to two people"),
        (point_nowhere, "rows that do not exist"),
    ],
)
def test_a_witness_that_is_wrong_in_itself_is_found(change: Callable[[np.ndarray], None], flaw: str) -> None:
    verdict, _ = CHECK.examine(witnessed(entries()[0], change), CHECK.initial_memory())
    assert not verdict.holds
    assert verdict.observed[flaw] > 0


def test_worlds_that_say_something_else_than_before_are_found() -> None:
    first, second = entries()
    _, memory = CHECK.examine(first, CHECK.initial_memory())
    verdict, _ = CHECK.examine(witnessed(second, swap_worlds), memory)
    assert not verdict.holds
    assert verdict.observed["values that a world gives and gave otherwise before"] > 0


def test_two_people_exchanged_within_a_world_are_found() -> None:
    first, second = entries()
    _, memory = CHECK.examine(first, CHECK.initial_memory())
    assert second.witness is not None
    values = second.release.sensitive[second.witness.rows[0]]
    other = int(np.flatnonzero(values != values[0])[0])

    def exchange(rows: np.ndarray) -> None:
        rows[0, [0, other]] = rows[0, [other, 0]]

    assert not CHECK.examine(witnessed(second, exchange), memory)[0].holds


def test_a_release_without_a_witness_does_not_hold() -> None:
    verdict, _ = CHECK.examine(replace(entries()[0], witness=None), CHECK.initial_memory())
    assert not verdict.holds
    assert verdict.observed["worlds without rows"] == 3


def test_fewer_worlds_than_promised_are_found() -> None:
    entry = entries()[0]
    assert entry.witness is not None
    verdict, _ = CHECK.examine(replace(entry, witness=Witness(entry.witness.rows[:2])), CHECK.initial_memory())
    assert not verdict.holds


def test_worlds_of_which_none_is_the_truth_are_found() -> None:
    entry = entries()[0]
    rotated = replace(entry.snapshot, sensitive=np.roll(entry.snapshot.sensitive, 1))
    verdict, _ = CHECK.examine(replace(entry, snapshot=rotated), CHECK.initial_memory())
    assert not verdict.holds
    assert verdict.observed["worlds of which none is the truth"] == 3


def test_a_row_made_narrower_is_found_by_the_witness_and_by_matching() -> None:
    entry = entries()[0]
    low, high = entry.release.boxes.low.copy(), entry.release.boxes.high.copy()
    widest = int((high[0] - low[0]).argmax())
    high[0, widest] = low[0, widest]
    narrow = replace(entry, release=replace(entry.release, boxes=Boxes(low, high, entry.release.boxes.missing)))
    verdict, _ = CHECK.examine(narrow, CHECK.initial_memory())
    assert not verdict.holds
    assert verdict.observed["people outside the row a world gives them"] > 0


def test_a_traced_person_who_is_not_in_the_snapshot_is_found() -> None:
    entry = entries()[0]
    persons = entry.trace.persons.copy()
    persons[-1] += 1
    verdict, _ = CHECK.examine(replace(entry, trace=Trace(persons, entry.trace.rows)), CHECK.initial_memory())
    assert not verdict.holds


@pytest.mark.parametrize("seed", range(30))
def test_matching_from_the_file_alone_agrees_with_trying_every_order(seed: int) -> None:
    random = Random(seed)
    snapshot = table(random, 6, values=3, columns=("age", "disease"))
    entry = replay(Sequential(ell=2), [snapshot], np.random.default_rng(seed)).entries[0]
    boxes, group = entry.release.boxes, entry.release.group
    low, high = boxes.low.copy(), boxes.high.copy()
    if random.random() < 0.5:
        at = random.randrange(boxes.count)
        high[0, at] = low[0, at]
    entry = replace(entry, release=replace(entry.release, boxes=Boxes(low, high, boxes.missing)))
    worlds = [[random.choice([0, 1, 2]) for _ in range(6)] if random.random() < 0.3 else None for _ in range(3)]
    said = [
        entry.snapshot.sensitive.tolist() if world is None else random.sample(entry.snapshot.sensitive.tolist(), 6)
        for world in worlds
    ]
    suffix = np.full((3, 2, 6), -1, np.int32)
    suffix[:, 0] = said
    rows: list[Row] = [
        ((frozenset(range(low[0, g], high[0, g] + 1)),), int(value))
        for g, value in zip(group.tolist(), entry.release.sensitive.tolist(), strict=True)
    ]
    points = [(code,) for code in entry.snapshot.qi[0].tolist()]
    expected = all(matches(points, tuple(world), rows) for world in said)
    assert (unmatched_components(entry, suffix, 2000, 0)[0] == 0) == expected


def test_in_a_large_release_some_components_are_matched_and_others_in_the_next() -> None:
    snapshot = table(Random(2), 400, values=8, columns=("age", "disease", "blood"))
    entry = replay(Sequential(ell=3), [snapshot], np.random.default_rng(0)).entries[0]
    check = PossibleWorlds(ell=3, people_matched=60)
    verdict, memory = check.examine(entry, check.initial_memory())
    assert verdict.holds
    assert 1 <= verdict.observed["components matched without the witness"] <= 3
    assert check.examine(entry, memory)[0].holds


def test_a_part_of_the_people_is_judged_too() -> None:
    snapshot = table(Random(3), 30)
    technique = Sequential(ell=3, on_delete="defer")
    kept = np.arange(30) % 7 != 0
    ledger = replay(technique, [snapshot, part(snapshot, kept)], np.random.default_rng(0))
    memory = CHECK.initial_memory()
    for entry in ledger.entries:
        verdict, memory = CHECK.examine(entry, memory)
        assert verdict.holds


def test_people_whose_pseudonyms_are_far_apart_are_in_order_all_the_same() -> None:
    snapshot = table(Random(1), 30)
    far = snapshot.persons.copy()
    far[0], far[-1] = -(2**63), 2**63 - 1
    (entry,) = replay(Sequential(ell=3), [replace(snapshot, persons=far)], np.random.default_rng(0)).entries
    verdict, _ = CHECK.examine(entry, CHECK.initial_memory())
    assert verdict.holds, verdict
