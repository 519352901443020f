"""Subsets: an adversary who knows everyone's group and compares any releases."""

from collections import Counter
from dataclasses import replace
from itertools import chain, combinations, product
from random import Random

import numpy as np
import pytest
from builders.bpg import entries, histories, published, table
from builders.examples import share_of
from builders.long_lists import sampled
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.atoms import candidates, shown
from oracles.builders import Member, entry_of, plain_schema
from oracles.differences import banded_ledger

from reanon_core.attacks.difference import DifferenceAttack
from reanon_core.attacks.subsets import SubsetsAttack
from reanon_core.model.finding import Findings
from reanon_core.model.knowledge import Knowledge, Presence
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.publishing import publish
from reanon_core.techniques.bpg.technique import Bpg


def attacked(*history: Entry, constant_values: bool = True) -> Findings:
    ledger = Ledger(history)
    return SubsetsAttack(constant_values=constant_values).run(ledger.history(), ledger.knowledge())


def exposed(findings: Findings) -> dict[int, int]:
    return dict(zip(findings.persons.tolist(), findings.inferred.tolist(), strict=True))


def fewest(history: list[Entry]) -> dict[int, int]:
    """The smallest candidate set of each person over every subset of the releases, one by one."""
    releases = [shown(entry) for entry in history]
    found: dict[int, int] = {}
    for subset in chain.from_iterable(combinations(releases, n) for n in range(1, len(releases) + 1)):
        for people in candidates(subset).values():
            for person in people:
                found[person] = min(found.get(person, len(people)), len(people))
    return found


def certain(history: list[Entry]) -> dict[int, int]:
    """Everyone who has one value in all worlds where no value changes, by listing the worlds."""
    people = sorted(set().union(*(entry.presence().persons.tolist() for entry in history)))
    values = len(history[0].snapshot.schema.sensitive.values)
    worlds = [world for world in product(range(values), repeat=len(people)) if _explains(world, people, history)]
    assert worlds
    return {p: worlds[0][i] for i, p in enumerate(people) if all(world[i] == worlds[0][i] for world in worlds)}


def _explains(world: tuple[int, ...], people: list[int], history: list[Entry]) -> bool:
    value = dict(zip(people, world, strict=True))
    for entry in history:
        presence = entry.presence()
        assert presence.group is not None
        rows: dict[int, Counter[int]] = {}
        for group, shown_value in zip(entry.release.group.tolist(), entry.release.sensitive.tolist(), strict=True):
            rows.setdefault(group, Counter())[shown_value] += 1
        for person, group in zip(presence.persons.tolist(), presence.group.tolist(), strict=True):
            rows[group][value[person]] -= 1
            if rows[group][value[person]] < 0:
                return False
    return True


def overlapping() -> list[Entry]:
    """Two groups in one box: boxes alone do not tell them apart."""
    one = [Member(p, (p,), p % 2, p // 2) for p in range(4)]
    two = [Member(p, (p,), p % 2, 0) for p in range(3)]
    box = {0: [(0, 3)], 1: [(0, 3)]}
    schema = plain_schema(columns=1)
    return [entry_of(schema, one, boxes=box), entry_of(schema, two, boxes={0: [(0, 3)]})]


def test_who_knows_the_groups_sees_what_boxes_hide() -> None:
    ledger = Ledger(tuple(overlapping()))
    assert DifferenceAttack().run(ledger.history(), ledger.knowledge()).exposed == 0
    found = attacked(*overlapping())
    assert exposed(found) == {2: 0, 3: 1}
    assert (found.extra["singled out"], found.extra["smallest candidate set"]) == (2, 1)
    assert "2 people are singled out, the smallest candidate set has 1" in found.note


def test_where_groups_are_not_known_the_boxes_tell_what_they_can() -> None:
    ledger = Ledger(tuple(overlapping()))
    blind = Knowledge(tuple(Presence(p.persons, p.qi) for p in ledger.knowledge().presences))
    found = SubsetsAttack().run(ledger.history(), blind)
    assert found.exposed == 0
    assert "4 memberships are neither known" in found.note


def test_whose_row_has_a_box_of_its_own_is_not_given_to_the_adversary() -> None:
    own = [Member(p, (p,), p % 2, p) for p in range(4)]
    entry = entry_of(plain_schema(columns=1), own, boxes={p: [(0, 3)] for p in range(4)})
    assert attacked(entry).exposed == 4
    found = attacked(replace(entry, release=replace(entry.release, grouped=False)))
    assert found.exposed == 0
    assert "4 memberships are neither known" in found.note


@settings(deadline=None, max_examples=share_of(150))
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_the_smallest_candidate_sets_are_those_of_all_subsets_of_the_releases(random: Random, releases: int) -> None:
    history = list(banded_ledger(random, people=9, releases=releases, overlap=0.5).entries)
    found, expected = attacked(*history), fewest(history)
    if found.extra["ambiguous memberships"] == 0:  # a group of one row is left to the boxes
        assert found.extra["smallest candidate set"] == min(expected.values(), default=0)
        assert found.extra["singled out"] == sum(size == 1 for size in expected.values())
    assert found.extra["singled out"] <= sum(size == 1 for size in expected.values())


@settings(deadline=None, max_examples=share_of(100))
@given(st.randoms(use_true_random=False), st.integers(1, 3), st.booleans())
def test_an_exposed_person_has_that_value_in_every_world(random: Random, releases: int, constant: bool) -> None:
    history = list(banded_ledger(random, people=5, releases=releases, overlap=0.5).entries)
    assert exposed(attacked(*history, constant_values=constant)).items() <= certain(history).items()


@pytest.mark.parametrize("seeds", sampled([24, 60], [24]))
@pytest.mark.parametrize("pool", sampled(["alive", "stored"], ["stored"]))
@pytest.mark.parametrize(("ask", "together"), [(None, 0), pytest.param(0.6, 0, marks=pytest.mark.slow), (None, 0.5)])
def test_no_world_is_the_only_one_for_anybody_whom_bpg_publishes(
    pool: str, ask: float | None, together: float, seeds: int
) -> None:
    """Exhaustive: all worlds of tiny histories, for the adversary who knows all groups."""
    releases = 0
    for seed in range(seeds):
        snapshots = histories(seed, change=0.0, subset=0.9, leave=0.15, people=8, ask=ask)
        technique = Bpg(k=2, ell=2, reserve=1, pool=pool, max_dirty=1, together=together)
        history = entries(published(technique, snapshots[:3]))
        if history and len(set().union(*(e.trace.persons.tolist() for e in history))) <= 6:
            assert certain(history) == {}
            assert attacked(*history).exposed == 0
            assert attacked(*history).extra["smallest candidate set"] >= 2 * bool(sum(e.release.size for e in history))
            releases += len(history)
    assert releases > seeds // 3


def test_an_adversary_who_knows_who_left_sees_through_a_ghost_and_not_through_a_stored_record() -> None:
    """What docs/guarantees.md warns of: a ghost does not have the value of the person whom it replaces."""
    first, left = table([1, 2, 3], [0, 1, 2]), table([1, 2], [0, 1])

    def known(seed: int, **options: str) -> dict[int, int]:
        technique, rng = Bpg(k=2, ell=2, reserve=1, **options), np.random.default_rng(seed)
        one = publish(technique, first, technique.initial_state(), rng)
        return certain([one.entry(first), publish(technique, left, one.state, rng).entry(left)])

    assert {3: 2} in [known(seed, variant="ghost") for seed in range(20)]
    assert all(known(seed, pool="stored") == {} for seed in range(20))
