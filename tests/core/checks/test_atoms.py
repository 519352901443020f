"""Atoms: people whom all releases together do not tell apart."""

from random import Random

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.atoms import atoms_breached, subsets_breached
from oracles.builders import Member, compact_entry, entry_of, plain_schema

from reanon_core.checks.atoms import Atoms
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import pack, unpack
from reanon_core.model.release import Release
from reanon_core.model.verdict import Verdict


def verdicts(check: Atoms, *entries: Entry) -> list[Verdict]:
    """The verdict on each release in order; memory goes through bytes, as in a store."""
    memory, found = check.initial_memory(), []
    for entry in entries:
        verdict, memory = check.examine(entry, unpack(pack(memory)))
        found.append(verdict)
    return found


def release(*groups: dict[str, int], counterfeits: list[tuple[int, int]] | None = None) -> Entry:
    """Groups of named people with the values that are published of them."""
    members = [
        Member(ord(name), (0, 0), value, number) for number, group in enumerate(groups) for name, value in group.items()
    ]
    return entry_of(plain_schema(values=6), members, counterfeits=counterfeits or [], random=Random(1))


FOUR = release({"a": 0, "b": 1, "c": 0, "d": 1})


def test_a_group_published_again_as_it_was_holds() -> None:
    assert all(verdict.holds for verdict in verdicts(Atoms(k=2, ell=2), FOUR, FOUR, FOUR))


def test_a_difference_that_leaves_one_person_alone_is_a_violation() -> None:
    verdict = verdicts(Atoms(k=2, ell=2), FOUR, release({"a": 0, "b": 1, "c": 0}))[-1]
    assert (verdict.holds, verdict.violations) == (False, 1)
    assert verdict.observed["atoms too small"] == 1
    assert verdict.observed["people in such atoms"] == 1


def test_an_intersection_of_groups_that_share_one_value_is_a_violation() -> None:
    verdict = verdicts(Atoms(k=2, ell=2), FOUR, release({"a": 0, "c": 0, "e": 1}, {"b": 1, "d": 1, "f": 0}))[-1]
    assert verdict.observed["atoms too small"] == 2  # the newcomers e and f
    assert verdict.observed["atoms not diverse"] == 4
    assert verdict.violations == 4


def test_a_division_into_two_good_parts_holds() -> None:
    assert verdicts(Atoms(k=2, ell=2), FOUR, release({"a": 0, "b": 1}, {"c": 0, "d": 1}))[-1].holds


def test_few_newcomers_in_a_group_of_known_people_are_a_violation() -> None:
    assert verdicts(Atoms(k=2, ell=2), FOUR, release({"a": 0, "b": 1, "c": 0, "d": 1, "e": 2}))[-1].violations == 1


def test_an_old_column_is_judged_though_the_latest_is_diverse() -> None:
    """Release 2 shows a and c, who had the same value in release 1, with different ones."""
    second = release({"a": 0, "c": 1}, {"b": 0, "d": 1})
    verdict = verdicts(Atoms(k=2, ell=2), FOUR, second)[-1]
    assert verdict.observed["atoms not diverse"] == 2


def test_a_column_in_the_middle_is_judged_after_a_division_later_on() -> None:
    changed = release({"a": 2, "b": 2, "c": 3, "d": 3})
    split = release({"a": 0, "b": 1}, {"c": 0, "d": 1})
    assert verdicts(Atoms(k=2, ell=2), FOUR, FOUR, split)[-1].holds
    assert verdicts(Atoms(k=2, ell=2), FOUR, changed, FOUR, split)[-1].observed["atoms not diverse"] == 2


def test_an_atom_that_broke_the_rule_stays_a_violation() -> None:
    found = verdicts(Atoms(k=2, ell=2), FOUR, release({"a": 0, "b": 1, "c": 0}), release({"a": 0, "b": 1, "c": 0}))
    assert [verdict.violations for verdict in found] == [0, 1, 1]


def test_counterfeits_hide_no_one_whose_trace_is_known() -> None:
    assert verdicts(Atoms(k=2, ell=2), release({"a": 0}, counterfeits=[(0, 1)]))[-1].violations == 1


def test_a_release_that_cannot_be_read_does_not_hold() -> None:
    broken = Release(FOUR.release.group + 7, FOUR.release.sensitive, FOUR.release.boxes)
    entry = Entry(FOUR.snapshot, broken, FOUR.auxiliary, FOUR.trace)
    assert not verdicts(Atoms(k=2, ell=2), entry)[-1].holds


def test_the_memory_of_a_series_without_changes_has_one_column() -> None:
    check = Atoms(k=2, ell=2)
    memory = check.initial_memory()
    for _ in range(6):
        _, memory = check.examine(FOUR, memory)
    assert np.shape(memory["columns"]) == (1, 4)


def test_all_wrong_parameters_are_named_at_once() -> None:
    with pytest.raises(InvalidParameter) as caught:
        Atoms(k=1, ell=0)
    assert len(caught.value.problems) == 2


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    """People in few groups, mostly together with whom they were before; values may change."""
    random = Random(draw(st.integers(0, 2**32 - 1)))
    schema, people = plain_schema(values=3), 12
    home = [random.randrange(3) for _ in range(people)]
    value = [random.randrange(3) for _ in range(people)]
    move, leave, change = (draw(st.sampled_from([0.0, 0.05, 0.3])) for _ in range(3))
    entries = []
    for _ in range(draw(st.integers(1, 4))):
        away = {group for group in range(3) if random.random() < 0.2}
        members = []
        for person in range(people):
            value[person] = random.randrange(3) if random.random() < change else value[person]
            group = random.randrange(3) if random.random() < move else home[person]
            if home[person] not in away and random.random() >= leave:
                members.append(Member(person, (0, 0), value[person], group))
        entries.append(compact_entry(random, schema, members, counterfeits=random.randint(0, 1)))
    return entries


@given(history=histories(), k=st.integers(2, 4), ell=st.integers(1, 3))
@settings(max_examples=share_of(400), deadline=None)
def test_the_fold_counts_the_atoms_of_the_definition_after_every_release(
    history: list[Entry], k: int, ell: int
) -> None:
    found = verdicts(Atoms(k=k, ell=ell), *history)
    for end, verdict in enumerate(found, start=1):
        assert verdict.violations == atoms_breached(history[:end], k, ell)


@given(history=histories(), k=st.integers(2, 4), ell=st.integers(1, 3))
@settings(max_examples=share_of(400), deadline=None)
def test_the_atoms_hold_exactly_if_no_subset_of_the_releases_exposes_anyone(
    history: list[Entry], k: int, ell: int
) -> None:
    assert verdicts(Atoms(k=k, ell=ell), *history)[-1].holds == (subsets_breached(history, k, ell) == 0)
