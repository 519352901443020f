"""Intersection: candidate sets over a lifespan, and who has one candidate left."""

from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.attacks import candidates_left as literal_candidates
from oracles.builders import Member, entry_of, invariant_ledger, plain_schema, random_entry, random_ledger

from reanon_core.attacks.intersection import IntersectionAttack, candidates_left
from reanon_core.model.arrays import MISSING
from reanon_core.model.finding import Findings
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Entry, Ledger


def attacked(*entries: Entry) -> Findings:
    ledger = Ledger(entries)
    return IntersectionAttack().run(ledger.history(), ledger.knowledge())


def as_sets(ledger: Ledger) -> dict[int, set[int]]:
    persons, masks = candidates_left(ledger.history(), ledger.knowledge())
    return {
        person: {64 * word + bit for word, mask in enumerate(row) for bit in range(64) if mask >> bit & 1}
        for person, row in zip(persons.tolist(), masks.tolist(), strict=True)
    }


def couple(values: tuple[int, int], *, others: int, schema_values: int = 4) -> Entry:
    """Person 0 with another person in one group."""
    members = [Member(0, (1, 1), values[0], 0), Member(others, (2, 2), values[1], 0)]
    return entry_of(plain_schema(values=schema_values), members)


def test_a_value_that_is_alone_in_all_releases_is_inferred() -> None:
    findings = attacked(couple((0, 1), others=1), couple((0, 2), others=2))
    assert (findings.persons.tolist(), findings.inferred.tolist()) == ([0], [0])
    assert findings.confidence.tolist() == [1.0]
    assert findings.of == 3
    assert findings.extra == {"mean candidates": 5 / 3, "fewest candidates": 1.0, "without candidates": 0.0}


def test_every_group_whose_box_contains_the_person_adds_candidates() -> None:
    first = couple((0, 1), others=1)
    members = [Member(0, (1, 1), 0, 0), Member(2, (2, 2), 2, 0), Member(3, (0, 0), 1, 1), Member(4, (3, 3), 3, 1)]
    assert attacked(first, entry_of(plain_schema(), members)).exposed == 0


def test_values_beyond_the_first_64_are_distinguished() -> None:
    findings = attacked(couple((100, 1), others=1, schema_values=130), couple((100, 36), others=2, schema_values=130))
    assert (findings.persons.tolist(), findings.inferred.tolist()) == ([0], [100])


def test_a_missing_value_is_hidden_among_groups_that_say_so() -> None:
    members = [Member(0, (1, MISSING), 0, 0), Member(1, (2, 2), 1, 0), Member(2, (1, 2), 2, 1), Member(3, (2, 1), 3, 1)]
    ledger = Ledger((entry_of(plain_schema(), members),))
    assert as_sets(ledger) == {0: {0, 1}, 1: {0, 1, 2, 3}, 2: {0, 1, 2, 3}, 3: {2, 3}}


def test_a_person_whose_value_changed_is_counted_apart() -> None:
    findings = attacked(couple((0, 1), others=1), couple((2, 3), others=2))
    assert findings.exposed == 0
    assert findings.extra["without candidates"] == 1.0


def test_a_history_without_people_exposes_no_one() -> None:
    empty = entry_of(plain_schema(), [])
    assert attacked(empty, empty).of == 0
    no_releases = IntersectionAttack().run(History(plain_schema(), ()), Knowledge(()))
    assert (no_releases.of, no_releases.exposed) == (0, 0)


def test_the_attack_reads_nothing_but_what_is_public() -> None:
    entry = couple((0, 1), others=1)
    history = History(plain_schema(), (Published(entry.release, entry.auxiliary),))
    knowledge = Knowledge((replace(entry.presence(), persons=np.array([70, 71])),))
    assert IntersectionAttack().run(history, knowledge).of == 2


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([3, 70]))
def test_the_candidates_are_those_of_the_definition(random: Random, values: int) -> None:
    schema = plain_schema(values=values)
    ledger = Ledger(tuple(random_entry(random, schema, people=8, missing=True) for _ in range(3)))
    assert as_sets(ledger) == literal_candidates(ledger.history(), ledger.knowledge())


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_exactly_the_people_with_one_candidate_are_exposed(random: Random) -> None:
    ledger = random_ledger(random)
    findings = attacked(*ledger.entries)
    left = literal_candidates(ledger.history(), ledger.knowledge())
    found = dict(zip(findings.persons.tolist(), findings.inferred.tolist(), strict=True))
    assert found == {person: next(iter(values)) for person, values in left.items() if len(values) == 1}


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 3))
def test_an_m_invariant_history_leaves_everybody_m_candidates(random: Random, m: int) -> None:
    findings = attacked(*invariant_ledger(random, m=m, releases=3, people=12).entries)
    assert findings.exposed == 0
    assert findings.of == 0 or findings.extra["fewest candidates"] >= m
