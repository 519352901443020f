"""Atoms: whose group the boxes make certain, and who shares a whole trace."""

from collections import Counter
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.attacks import inside
from oracles.builders import Member, box_arrays, entry_of, plain_schema, random_ledger
from oracles.differences import banded_ledger, traces

from reanon_core.inference.view.traces import ABSENT, UNKNOWN, atoms_of, certain_groups, real_rows, traces_of
from reanon_core.model.arrays import MISSING
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.model.release import Boxes, Release

WORDS = {ABSENT: "absent", UNKNOWN: "unknown"}


def without_rows(boxes: Boxes) -> Release:
    return Release(np.empty(0, np.int32), np.empty(0, np.int32), boxes)


def test_a_group_is_certain_where_exactly_one_box_contains_the_person() -> None:
    boxes = box_arrays([[(0, 4)], [(4, 6)], [(9, 9)]])
    points = np.array([[0, 4, 5, 7, 9, MISSING]], np.int32)
    assert certain_groups(points, without_rows(boxes)).tolist() == [0, UNKNOWN, 1, UNKNOWN, 2, UNKNOWN]


def test_without_boxes_nothing_is_certain() -> None:
    empty = Boxes(np.empty((1, 0), np.int32), np.empty((1, 0), np.int32), np.empty((1, 0), np.int8))
    assert certain_groups(np.zeros((1, 2), np.int32), without_rows(empty)).tolist() == [UNKNOWN, UNKNOWN]


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 200))
def test_the_certain_group_is_that_of_the_definition(random: Random, count: int) -> None:
    sides = [[tuple(sorted(random.randint(0, 30) for _ in range(2))) for _ in range(2)] for _ in range(count)]
    boxes = box_arrays(sides)
    points = np.array([[random.randint(0, 30) for _ in range(20)] for _ in range(2)], np.int32)
    for point, group in zip(points.T.tolist(), certain_groups(points, without_rows(boxes)).tolist(), strict=True):
        hosts = [g for g in range(count) if inside(boxes, g, tuple(point))]
        assert group == (hosts[0] if len(hosts) == 1 else UNKNOWN)


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_traces_are_those_of_the_definition_and_true_where_certain(random: Random, banded: bool) -> None:
    ledger = banded_ledger(random, people=9) if banded else random_ledger(random)
    found = traces_of(ledger.history(), ledger.knowledge())
    said = {
        person: tuple(WORDS.get(group, group) for group in trace)
        for person, trace in zip(found.persons.tolist(), found.group.T.tolist(), strict=True)
    }
    assert said == traces(ledger.history(), ledger.knowledge())
    for time, entry in enumerate(ledger.entries):
        truth = dict(zip(entry.trace.persons.tolist(), entry.release.group[entry.trace.rows].tolist(), strict=True))
        assert all(trace[time] in ("unknown", truth.get(person, "absent")) for person, trace in said.items())


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([0.0, 0.3]))
def test_an_atom_is_everyone_with_one_trace_and_never_larger_than_its_bound(random: Random, overlap: float) -> None:
    ledger = banded_ledger(random, people=9, overlap=overlap)
    history, knowledge = ledger.history(), ledger.knowledge()
    trace = traces(history, knowledge)
    atoms = atoms_of(traces_of(history, knowledge), history)
    shared = Counter(t for t in trace.values() if "unknown" not in t)
    truth: dict[int, tuple[int | None, ...]] = {}
    for person in trace:
        hosts = (
            dict(zip(e.trace.persons.tolist(), e.release.group[e.trace.rows], strict=True)) for e in ledger.entries
        )
        truth[person] = tuple(None if person not in host else int(host[person]) for host in hosts)
    really = Counter(truth.values())
    for (person, mine), atom in zip(sorted(trace.items()), atoms.atom.tolist(), strict=True):
        if "unknown" in mine:
            assert atom == -1
        else:
            assert atoms.size[atom] == shared[mine]
            assert atoms.size[atom] <= really[truth[person]] <= atoms.most[atom]
            assert overlap or atoms.most[atom] == atoms.size[atom]


def test_counterfeits_are_not_people() -> None:
    members = [Member(0, (0,), 0, 0), Member(1, (1,), 1, 0), Member(2, (5,), 1, 1)]
    ledger = Ledger((entry_of(plain_schema(columns=1), members, counterfeits=[(1, 2), (1, 3)]),))
    assert real_rows(ledger.history().releases[0]).tolist() == [2, 1]
    atoms = atoms_of(traces_of(ledger.history(), ledger.knowledge()), ledger.history())
    assert (atoms.atom.tolist(), atoms.most.tolist()) == ([0, 0, 1], [2, 1])


def test_a_history_without_releases_has_no_atoms() -> None:
    history = History(plain_schema(), ())
    assert len(atoms_of(traces_of(history, Knowledge(())), history).size) == 0
