"""k-anonymity, l-diversity and m-uniqueness: the principles of a single release."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.builders import Member, entry_of, plain_schema, random_entry
from oracles.checks import (
    groups_that_are_not_k_anonymous,
    groups_that_are_not_m_unique,
    groups_with_a_too_frequent_value,
    groups_with_too_few_values,
)

from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.checks.l_diversity import LDiversity
from reanon_core.checks.m_invariance import MInvariance
from reanon_core.checks.m_uniqueness import MUniqueness
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Check


def judged(check: Check, entry: Entry) -> Verdict:
    verdict, memory = check.examine(entry, check.initial_memory())
    if check.name != "m-invariance":
        assert memory == {}
    return verdict


def groups(*values: tuple[int, ...]) -> Entry:
    """A release whose groups hold these sensitive values, all of real people."""
    pairs = [(group, value) for group, row in enumerate(values) for value in row]
    members = [Member(person, (0, 0), value, group) for person, (group, value) in enumerate(pairs)]
    return entry_of(plain_schema(values=200), members, random=Random(0))


def test_k_anonymity_fails_on_a_group_of_fewer_than_k_rows() -> None:
    assert judged(KAnonymity(k=2), groups((0, 0), (1, 2, 3))).holds
    verdict = judged(KAnonymity(k=3), groups((0, 0), (1, 2, 3)))
    assert not verdict.holds
    assert verdict.violations == 1
    assert verdict.observed["smallest group"] == 2


def test_distinct_l_diversity_counts_values_and_frequency_l_diversity_their_share() -> None:
    entry = groups((0, 0, 0, 1), (2, 3))
    assert judged(LDiversity(ell=2), entry).holds
    assert judged(LDiversity(ell=2, form="frequency"), entry).violations == 1
    assert judged(LDiversity(ell=2, form="frequency"), entry).observed["largest share"] == 0.75
    assert judged(LDiversity(ell=3), entry).violations == 2


def test_frequency_l_diversity_is_exact_at_the_bound() -> None:
    assert judged(LDiversity(ell=3, form="frequency"), groups((0, 1, 2))).holds
    assert not judged(LDiversity(ell=3, form="frequency"), groups((0, 1, 2, 0))).holds


def test_m_uniqueness_fails_on_a_small_group_and_on_a_repeated_value() -> None:
    verdict = judged(MUniqueness(m=3), groups((0, 1, 2), (0, 1), (0, 1, 1, 2), (5, 5)))
    assert verdict.violations == 3
    assert verdict.observed["groups too small"] == 2
    assert verdict.observed["groups that repeat a value"] == 2
    assert judged(MUniqueness(m=3), groups((0, 64, 128), (1, 65, 199))).holds


@pytest.mark.parametrize(
    "check",
    [KAnonymity(k=2), LDiversity(ell=2), LDiversity(ell=2, form="frequency"), MUniqueness(m=2), MInvariance(m=2)],
    ids=lambda check: check.name,
)
class TestEveryCheck:
    def test_holds_on_an_empty_release(self, check: Check) -> None:
        assert judged(check, entry_of(plain_schema(), [])).holds

    def test_fails_on_a_group_without_rows(self, check: Check) -> None:
        entry = groups((0, 1), (0, 1))
        emptied = replace(entry.release, group=np.zeros_like(entry.release.group), sensitive=np.arange(4))
        assert judged(check, replace(entry, release=emptied)).violations == 1

    @pytest.mark.parametrize(("column", "value"), [("group", 9), ("group", -1), ("sensitive", 200), ("sensitive", -1)])
    def test_fails_where_it_cannot_read_a_row(self, check: Check, column: str, value: int) -> None:
        entry = groups((0, 1), (0, 1))
        array = getattr(entry.release, column).copy()
        array[0] = value
        verdict = judged(check, replace(entry, release=replace(entry.release, **{column: array})))
        assert not verdict.holds
        assert verdict.observed == {"unreadable": 1}

    def test_fails_where_a_person_is_traced_twice(self, check: Check) -> None:
        entry = groups((0, 1), (0, 1))
        twice = replace(entry.trace, persons=np.array([0, 1, 1, 3]))
        assert judged(check, replace(entry, trace=twice)).observed == {"unreadable": 1}


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 4), st.sampled_from([3, 70]))
def test_each_check_agrees_with_its_definition(random: Random, parameter: int, values: int) -> None:
    entry = random_entry(random, plain_schema(values=values))
    expected = {
        KAnonymity(k=parameter): groups_that_are_not_k_anonymous(entry, parameter),
        LDiversity(ell=parameter): groups_with_too_few_values(entry, parameter),
        LDiversity(ell=parameter, form="frequency"): groups_with_a_too_frequent_value(entry, parameter),
        MUniqueness(m=parameter): groups_that_are_not_m_unique(entry, parameter),
    }
    for check, violations in expected.items():
        verdict = judged(check, entry)
        assert verdict.violations == violations
        assert verdict.holds == (violations == 0)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: KAnonymity(k=1), r"^k \(1\) must be at least 2$"),
        (lambda: LDiversity(ell=0), r"^ell \(0\) must be at least 2$"),
        (lambda: LDiversity(ell=2, form="entropy"), r"^form \(entropy\) must be one of distinct, frequency$"),
        (lambda: MUniqueness(m=1), r"^m \(1\) must be at least 2$"),
        (lambda: MInvariance(m=1), r"^m \(1\) must be at least 2$"),
    ],
)
def test_a_parameter_out_of_range_is_refused_in_a_sentence(make, sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        make()
