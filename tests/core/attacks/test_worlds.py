"""The attack that looks at every world, against trying every order of the values."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from builders.worlds import table
from oracles.worlds import greatest_linkage, worlds_of

from reanon_core.attacks.worlds import WorldsAttack
from reanon_core.catalog import build_technique
from reanon_core.inference.enumeration.worlds import possible_worlds
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Ledger
from reanon_core.replay import replay
from reanon_core.techniques.sequential.technique import Sequential

COLUMNS = (("age", "disease"), ("city", "rank", "disease"))


def ledger(seed: int, *, memory: bool, people: int = 6) -> Ledger:
    snapshot = table(Random(seed), people, values=3)
    snapshots = [replace(snapshot, columns=columns) for columns in COLUMNS]
    technique = Sequential(ell=2, bucket_size=people)
    return replay(technique, snapshots, np.random.default_rng(seed), memory=memory)


@pytest.mark.parametrize("seed", range(15))
def test_it_finds_the_worlds_that_brute_force_finds(seed: int) -> None:
    made = ledger(seed, memory=bool(seed % 2))
    found = possible_worlds(made.history(), made.knowledge(), people=6, limit=10**6)
    releases = []
    for entry, columns in zip(made.entries, COLUMNS, strict=True):
        shown = [entry.snapshot.schema.names.index(name) for name in columns if name != "disease"]
        boxes = entry.release.boxes
        rows = [
            (tuple(frozenset(range(boxes.low[a, g], boxes.high[a, g] + 1)) for a in shown), int(value))
            for g, value in zip(entry.release.group.tolist(), entry.release.sensitive.tolist(), strict=True)
        ]
        releases.append(([tuple(point) for point in entry.snapshot.qi[shown].T.tolist()], rows))
    expected = worlds_of(releases)
    assert {tuple(suffix[0] for suffix in world) for world in found.worlds} == expected
    extra = WorldsAttack().run(made.history(), made.knowledge()).extra
    assert extra["worlds"] == len(expected)
    assert extra["greatest linkage"] == pytest.approx(float(greatest_linkage(expected)))


@pytest.mark.parametrize("seed", range(10))
def test_the_stored_worlds_are_among_them_and_each_person_keeps_ell_values(seed: int) -> None:
    made = ledger(seed, memory=True, people=7)
    found = possible_worlds(made.history(), made.knowledge(), people=9, limit=10**6)
    worlds = {tuple(suffix[0] for suffix in world) for world in found.worlds}
    for entry in made.entries:
        assert entry.witness is not None
        for rows in entry.witness.rows:
            assert tuple(entry.release.sensitive[rows].tolist()) in worlds
    assert WorldsAttack().run(made.history(), made.knowledge()).extra["fewest values"] >= 2


def test_non_identifiers_that_link_releases_leave_fewer_worlds() -> None:
    snapshot = table(Random(1), 6, values=3)
    plain = [replace(snapshot, columns=c) for c in (("age", "disease"), ("city", "disease"))]
    linked = [replace(snapshot, columns=c) for c in (("age", "disease", "blood"), ("city", "disease", "blood"))]
    counts = []
    for snapshots in (plain, linked):
        made = replay(Sequential(ell=2, approach="homogeneous"), snapshots, np.random.default_rng(0))
        counts.append(len(possible_worlds(made.history(), made.knowledge(), people=9, limit=10**6).worlds))
    assert counts[0] >= 2
    assert counts[1] >= 2


def test_a_history_that_is_too_large_or_has_counterfeits_is_refused_with_a_sentence() -> None:
    made = ledger(0, memory=True, people=12)
    with pytest.raises(InvalidParameter, match=r"the history \(12\) must have at most 9 people"):
        WorldsAttack().run(made.history(), made.knowledge())
    with pytest.raises(InvalidParameter, match="explored in 10 steps"):
        WorldsAttack(people=12, limit=10).run(made.history(), made.knowledge())
    with pytest.raises(InvalidParameter, match="people"):
        WorldsAttack(people=0)


def test_it_attacks_other_techniques_too() -> None:
    snapshot = replace(table(Random(3), 8, values=4), columns=None)
    snapshot = replace(snapshot, schema=replace(snapshot.schema, other=(), other_values=()))
    made = replay(build_technique("mondrian", {"k": 2, "ell": 2}), [snapshot], np.random.default_rng(0))
    found = WorldsAttack().run(made.history(), made.knowledge())
    assert found.of == 8
    assert found.extra["worlds"] >= 16
