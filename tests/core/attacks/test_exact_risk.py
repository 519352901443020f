"""Exact risk: the count of reasonable surjections is the length of their list."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.attacks import reasonable_surjections
from oracles.builders import Member, entry_of, invariant_ledger, plain_schema, random_ledger

from reanon_core.attacks.exact_risk import ExactRisk, disclosure_risks
from reanon_core.inference.enumeration.surjections import count_surjections
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Ledger


def one_group(values: list[int], counterfeits: list[int]) -> Ledger:
    members = [Member(person, (0, 0), value, 0) for person, value in enumerate(values)]
    return Ledger((entry_of(plain_schema(), members, counterfeits=[(0, value) for value in counterfeits]),))


def test_the_orders_of_counterfeits_count() -> None:
    ledger = one_group([0], [1, 2])
    found = count_surjections(ledger.history(), ledger.knowledge())
    assert found.total == 6
    assert found.by_value == {0: {0: 2, 1: 2, 2: 2}}


def test_rows_that_are_alike_are_still_different_rows() -> None:
    ledger = one_group([0, 0, 1], [])
    found = count_surjections(ledger.history(), ledger.knowledge())
    assert found.total == 6
    assert found.share(2, 1) == Fraction(1, 3)


def test_a_principle_rules_out_worlds_in_which_a_person_changes_the_signature() -> None:
    schema = plain_schema()
    first = [Member(0, (0, 0), 0, 0), Member(1, (0, 0), 1, 0), Member(2, (0, 0), 0, 1), Member(3, (0, 0), 2, 1)]
    ledger = Ledger((entry_of(schema, first), entry_of(schema, first[:2])))
    free = count_surjections(ledger.history(), ledger.knowledge())
    bound = count_surjections(ledger.history(), ledger.knowledge(), principle="m-invariance")
    assert free.total > bound.total
    assert bound.share(3, 2) == Fraction(1, 2)


def test_a_history_that_is_too_large_is_refused_in_a_sentence() -> None:
    ledger = one_group([0, 1, 2, 3] * 5, [])
    with pytest.raises(InvalidParameter, match="the history must be small enough to count its surjections in 50 steps"):
        ExactRisk(limit=50).run(ledger.history(), ledger.knowledge())


def test_a_choice_takes_a_step_for_each_release_of_a_lifespan() -> None:
    one = one_group([0, 1], []).entries[0]
    short, long = (Ledger((one,) * releases) for releases in (2, 20))
    assert ExactRisk(limit=100).run(short.history(), short.knowledge()).exposed == 0
    with pytest.raises(InvalidParameter, match="in 100 steps"):
        ExactRisk(limit=100).run(long.history(), long.knowledge())


def test_knowledge_that_contradicts_the_releases_is_said_aloud() -> None:
    entry = one_group([0, 1], []).entries[0]
    ledger = Ledger((entry, replace(entry, release=replace(entry.release, sensitive=np.array([2, 3])))))
    findings = ExactRisk().run(ledger.history(), ledger.knowledge())
    assert (findings.exposed, findings.extra["surjections"]) == (0, 0.0)
    assert "no surjection is reasonable" in findings.note
    with pytest.raises(InvalidParameter, match="at least one reasonable surjection"):
        disclosure_risks(ledger.history(), ledger.knowledge(), {0: 0})


def test_an_empty_history_exposes_no_one() -> None:
    ledger = Ledger((entry_of(plain_schema(), []),))
    findings = ExactRisk().run(ledger.history(), ledger.knowledge())
    assert (findings.of, findings.exposed, findings.extra["surjections"]) == (0, 0, 1.0)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ExactRisk(principle="k-anonymity"), r"principle \(k-anonymity\) must be None or m-invariance"),
        (lambda: ExactRisk(limit=0), r"limit \(0\) must be at least 1"),
    ],
)
def test_a_parameter_out_of_range_is_refused_in_a_sentence(make, sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        make()


@settings(max_examples=share_of(60), deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_the_count_is_the_length_of_the_list(random: Random, principle: bool) -> None:
    ledger = random_ledger(random, releases=2, people=4)
    history, knowledge = ledger.history(), ledger.knowledge()
    total, by_value = reasonable_surjections(history, knowledge, one_signature=principle)
    found = count_surjections(history, knowledge, principle="m-invariance" if principle else None)
    assert found.total == total
    assert found.by_value == (
        {p: dict(counts) for p, counts in by_value.items()} if total else {p: {} for p in by_value}
    )


@settings(max_examples=share_of(60), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3))
def test_in_an_m_invariant_history_nobody_is_guessed_better_than_one_in_m(seed: int, m: int) -> None:
    ledger = invariant_ledger(Random(seed), m=m, releases=3, people=5)
    findings = ExactRisk(principle="m-invariance", limit=10**6).run(ledger.history(), ledger.knowledge())
    assert findings.exposed == 0
    assert findings.extra["largest share"] <= 1 / m + 1e-12
