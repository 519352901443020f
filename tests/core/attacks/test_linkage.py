"""Rows that are followed through a decoupled series, against loops over all rows and people; and what a reader sees."""

from itertools import pairwise

import numpy as np
import pytest
from builders.random_series import small_series

from reanon_core.attacks.intersection import candidates_left
from reanon_core.attacks.linkage import LinkageAttack
from reanon_core.catalog import build_technique
from reanon_core.inference.view.linkage import chains
from reanon_core.inference.view.traces import UNKNOWN, traces_of
from reanon_core.inference.view.value_sets import mask_sizes
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.release import PersonRows
from reanon_core.replay import replay
from reanon_core.techniques.decoupled import decouple

Row = tuple[int, int]  # a release and a row of it


def made(seed: int) -> Ledger:
    technique = decouple(build_technique("m-invariance", {"m": 2, "balancing": "blind", "not_eligible": "blocks"}), 2)
    return replay(technique, small_series(seed)[1], np.random.default_rng(seed))


def rows_of(entry: Entry) -> PersonRows:
    assert entry.release.person_rows is not None
    return entry.release.person_rows


def values_of(entry: Entry, row: int) -> frozenset[int]:
    group = rows_of(entry).group[row]
    return frozenset(entry.release.sensitive[entry.release.group == group].tolist())


def overlap(one: Entry, row: int, two: Entry, other: int) -> bool:
    a, b = rows_of(one), rows_of(two)
    first = np.maximum(a.boxes.low[:, a.box[row]], b.boxes.low[:, b.box[other]])
    return bool((first <= np.minimum(a.boxes.high[:, a.box[row]], b.boxes.high[:, b.box[other]])).all())


def followed(entries: tuple[Entry, ...]) -> list[list[Row]]:
    """All chains, by their definition."""
    listed: list[list[Row]] = [[(0, row)] for row in range(len(rows_of(entries[0]).box))]
    for time, (one, two) in enumerate(pairwise(entries)):
        later = range(len(rows_of(two).box))
        only = {}
        for row in range(len(rows_of(one).box)):
            next_rows = [
                other
                for other in later
                if values_of(one, row) == values_of(two, other) and overlap(one, row, two, other)
            ]
            if len(next_rows) == 1:
                only[row] = next_rows[0]
        reached = list(only.values())
        linked = {row: other for row, other in only.items() if reached.count(other) == 1}
        for chain in listed:
            if chain[-1][0] == time and chain[-1][1] in linked:
                chain.append((time + 1, linked[chain[-1][1]]))
        listed += [[(time + 1, row)] for row in later if row not in linked.values()]
    return listed


def holds(entry: Entry, row: int, person: int) -> bool:
    """Whether the person is in the release, inside the box of the row."""
    at = np.flatnonzero(entry.snapshot.persons == person)
    rows = rows_of(entry)
    return len(at) == 1 and rows.boxes.contains(int(rows.box[row]), entry.snapshot.qi[:, at[0]])


@pytest.mark.parametrize("seed", range(5))
def test_chains_candidates_and_values_are_those_of_loops_over_rows_and_people(seed: int) -> None:
    ledger = made(seed)
    expected = followed(ledger.entries)
    found = chains([entry.release for entry in ledger.entries])
    listed = [[(time, row) for time, row in enumerate(chain) if row >= 0] for chain in found.tolist()]
    assert sorted(listed) == sorted(expected)
    long = [chain for chain in expected if len(chain) > 1]
    everyone = sorted({int(person) for entry in ledger.entries for person in entry.snapshot.persons})
    people = [
        sum(all(holds(ledger.entries[time], row, person) for time, row in chain) for person in everyone)
        for chain in long
    ]
    values = [frozenset.intersection(*(values_of(ledger.entries[time], row) for time, row in chain)) for chain in long]
    smallest = min(int(np.bincount(rows_of(entry).box).min()) for entry in ledger.entries)
    result = LinkageAttack().run(ledger.history(), ledger.knowledge(groups_known=False))
    assert result.exposed == 0
    assert result.of == len(everyone)
    assert result.extra["rows in chains"] == sum(map(len, long))
    assert result.extra["chains that leave fewer people than the smallest box"] == sum(n < smallest for n in people)
    assert result.extra["chains that leave one person"] == people.count(1)
    assert result.extra["chains that no person fits"] == people.count(0)
    assert result.extra["fewest values of a chain"] == min(map(len, values), default=0)
    assert not values or min(map(len, values)) >= 2  # m


def test_the_attack_does_not_apply_to_boxes_of_groups() -> None:
    ledger = replay(build_technique("m-invariance", {"m": 2}), small_series(0)[1][:1], np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="the attack linkage must be given decoupled releases"):
        LinkageAttack().run(ledger.history(), ledger.knowledge())


@pytest.mark.parametrize("seed", range(4))
def test_without_known_groups_a_reader_sees_the_box_of_each_row(seed: int) -> None:
    """A person may be in the groups of the rows whose box holds them, and in no other group of the same hull."""
    ledger = made(seed)
    knowledge = ledger.knowledge(groups_known=False)
    traces = traces_of(ledger.history(), knowledge)
    persons, candidates = candidates_left(ledger.history(), knowledge)
    left = dict(zip(persons.tolist(), mask_sizes(candidates).tolist(), strict=True))
    possible: dict[int, list[set[int]]] = {person: [] for person in left}
    narrower = 0
    for time, entry in enumerate(ledger.entries):
        for at, person in enumerate(entry.snapshot.persons.tolist()):
            rows = [row for row in range(len(rows_of(entry).box)) if holds(entry, row, person)]
            groups = {int(rows_of(entry).group[row]) for row in rows}
            hulls = {
                g for g in range(entry.release.boxes.count) if entry.release.boxes.contains(g, entry.snapshot.qi[:, at])
            }
            assert groups <= hulls
            narrower += groups < hulls
            certain = traces.group[time, traces.persons.searchsorted(person)]
            assert certain == (groups.pop() if len(groups) == 1 else UNKNOWN)
            possible[person].append(set().union(*(values_of(entry, row) for row in rows)))
    assert narrower
    assert left == {person: len(set.intersection(*sets)) for person, sets in possible.items()}
