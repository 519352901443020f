"""m-invariance: the same signature for life, gaps and growth included."""

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.builders import Member, entry_of, invariant_ledger, plain_schema, random_ledger
from oracles.checks import groups_that_are_not_m_unique, people_with_another_signature

from reanon_core.checks.m_invariance import MInvariance
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.packing import pack, unpack
from reanon_core.model.verdict import Verdict


def verdicts(check: MInvariance, *entries: Entry) -> list[Verdict]:
    """The verdict on each release in order; memory goes through bytes, as in a store."""
    memory, found = check.initial_memory(), []
    for entry in entries:
        verdict, memory = check.examine(entry, unpack(pack(memory)))
        found.append(verdict)
    return found


def release(*groups: dict[str, int], values: int = 4) -> Entry:
    """Groups of named people with their values; a name that begins with c is a counterfeit."""
    members, counterfeits = [], []
    for number, group in enumerate(groups):
        for name, value in group.items():
            if name.startswith("c"):
                counterfeits.append((number, value))
            else:
                members.append(Member(ord(name), (0, 0), value, number))
    return entry_of(plain_schema(values=values), members, counterfeits=counterfeits, random=Random(1))


def test_a_person_keeps_the_signature() -> None:
    first = release({"a": 0, "b": 1})
    assert all(v.holds for v in verdicts(MInvariance(m=2), first, release({"a": 0, "c1": 1}, {"d": 0, "b": 1})))
    changed = verdicts(MInvariance(m=2), first, release({"a": 0, "d": 2}, {"e": 0, "b": 1}))[-1]
    assert not changed.holds
    assert changed.violations == changed.observed["people with another signature"] == 1
    assert changed.observed["people compared"] == 2


def test_a_person_who_returns_keeps_the_signature() -> None:
    first, gap = release({"a": 0, "b": 1}), release({"d": 0, "e": 2})
    assert verdicts(MInvariance(m=2), first, gap, gap, release({"a": 0, "f": 1}))[-1].holds
    assert verdicts(MInvariance(m=2), first, gap, gap, release({"a": 0, "f": 2}))[-1].violations == 1


def test_a_release_that_is_not_m_unique_fails_whatever_the_past() -> None:
    repeated, small = release({"a": 0, "b": 1, "d": 1}), release({"a": 0, "b": 1}, {"d": 1})
    assert verdicts(MInvariance(m=2), repeated)[0].observed["groups that repeat a value"] == 1
    assert verdicts(MInvariance(m=2), small)[0].observed["groups too small"] == 1


def test_a_subset_of_the_signature_is_another_signature() -> None:
    assert verdicts(MInvariance(m=2), release({"a": 0, "b": 1, "d": 2}), release({"a": 0, "b": 1}))[-1].violations == 2


def test_a_new_sensitive_value_changes_no_one_who_never_had_it() -> None:
    first = release({"a": 0, "b": 1}, values=2)
    grown = release({"a": 0, "b": 1}, {"d": 64, "e": 129}, values=130)
    assert all(verdict.holds for verdict in verdicts(MInvariance(m=2), first, grown, grown))
    swapped = release({"a": 64, "b": 129}, values=130)  # the same bits of other words
    assert verdicts(MInvariance(m=2), first, swapped)[-1].violations == 2


def test_a_changed_value_may_take_a_disjoint_signature_only_where_episodes_are_allowed() -> None:
    first, disjoint, overlapping = release({"a": 0, "b": 1}), release({"a": 2, "d": 3}), release({"a": 2, "d": 1})
    assert verdicts(MInvariance(m=2, episodes=True), first, disjoint)[-1].holds
    assert verdicts(MInvariance(m=2), first, disjoint)[-1].violations == 1
    assert verdicts(MInvariance(m=2, episodes=True), first, overlapping)[-1].violations == 1


def test_a_changed_value_inside_the_signature_keeps_it() -> None:
    assert verdicts(MInvariance(m=2, episodes=True), release({"a": 0, "b": 1}), release({"a": 1, "d": 0}))[-1].holds


def test_every_earlier_episode_is_remembered() -> None:
    episodes = release({"a": 0, "b": 1}), release({"a": 2, "d": 3}), release({"a": 2, "e": 1})
    assert verdicts(MInvariance(m=2, episodes=True), *episodes)[-1].violations == 1
    back = release({"a": 0, "b": 1}), release({"a": 2, "d": 3}), release({"a": 0, "e": 1})
    assert verdicts(MInvariance(m=2, episodes=True), *back)[-1].holds


def test_the_memory_holds_everyone_once_and_in_order() -> None:
    check, memory = MInvariance(m=2), MInvariance(m=2).initial_memory()
    for entry in (release({"q": 0, "b": 1}), release({"a": 0, "z": 1}), release({"q": 0, "b": 1}, {"d": 2, "k": 3})):
        verdict, memory = check.examine(entry, memory)
        assert verdict.holds
    assert np.asarray(memory["persons"]).tolist() == sorted(map(ord, "qbazdk"))


def test_an_empty_release_forgets_no_one() -> None:
    first, empty = release({"a": 0, "b": 1}), release()
    assert verdicts(MInvariance(m=2), first, empty, release({"a": 0, "d": 2}))[-1].violations == 1


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.booleans(), st.sampled_from([3, 70]))
def test_the_fold_agrees_with_the_definition_on_the_whole_history(random: Random, episodes: bool, values: int) -> None:
    entries = random_ledger(random, releases=4, people=6, groups=3, values=values).entries
    for n, verdict in enumerate(verdicts(MInvariance(m=2, episodes=episodes), *entries)):
        moved = people_with_another_signature(entries[: n + 1], episodes=episodes)
        assert verdict.observed["people with another signature"] == len(moved)
        assert verdict.violations == len(moved) + groups_that_are_not_m_unique(entries[n], 2)
        assert verdict.holds == (verdict.violations == 0)


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 4))
def test_a_history_in_which_everyone_has_one_signature_is_m_invariant(random: Random, m: int) -> None:
    ledger: Ledger = invariant_ledger(random, m=m, releases=4, people=12)
    assert all(verdict.holds for verdict in verdicts(MInvariance(m=m), *ledger.entries))
    assert all(verdict.holds for verdict in verdicts(MInvariance(m=m, episodes=True), *ledger.entries))
