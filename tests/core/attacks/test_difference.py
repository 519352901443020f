"""Difference: what remains of a group when whole groups are subtracted from it."""

from random import Random

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.attacks import reasonable_surjections
from oracles.builders import Member, entry_of, invariant_ledger, plain_schema, random_ledger
from oracles.difference_search import PlainSearch
from oracles.differences import banded_ledger, pairwise_exposed

from reanon_core.attacks.difference import DifferenceAttack
from reanon_core.inference.enumeration.surjections import count_surjections
from reanon_core.inference.subtraction import CONFLICT, NO_VALUE, search_differences
from reanon_core.inference.view.traces import traces_of
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Entry, Ledger

Groups = list[list[tuple[int, int]]]


def release(groups: Groups, *, counterfeits: tuple[tuple[int, int], ...] = ()) -> Entry:
    """Groups of (person, value), one of the person's bands each, so that boxes say who is where."""
    members = [Member(p, (10 * g + n,), v, g) for g, group in enumerate(groups) for n, (p, v) in enumerate(group)]
    return entry_of(plain_schema(columns=1), members, counterfeits=counterfeits)


def attacked(*entries: Entry, constant_values: bool = True) -> Findings:
    ledger = Ledger(entries)
    return DifferenceAttack(constant_values=constant_values).run(ledger.history(), ledger.knowledge())


def exposed(findings: Findings) -> dict[int, int]:
    return dict(zip(findings.persons.tolist(), findings.inferred.tolist(), strict=True))


FOUR = [[(0, 0), (1, 1), (2, 2), (3, 2)]]


def test_who_left_is_the_difference() -> None:
    found = attacked(release(FOUR), release([[(0, 0), (1, 1), (2, 2)]]))
    assert exposed(found) == {3: 2}
    assert found.of == 4
    assert found.extra["smallest candidate set"] == 1
    assert found.note == "certain if no one's value changes; more people may be exposed"


def test_who_came_is_the_difference() -> None:
    assert exposed(attacked(release([[(0, 0), (1, 1)]]), release(FOUR))) == {2: 2, 3: 2}


def test_several_whole_groups_are_taken_out_together() -> None:
    two = release([[(0, 0), (4, 1)], [(1, 1), (5, 3)]])
    assert exposed(attacked(release([[(0, 0), (4, 1), (1, 1), (5, 3), (2, 2)]]), two)) == {2: 2}


def test_groups_of_different_releases_are_taken_out_in_turn() -> None:
    whole = release([[(0, 0), (1, 1), (2, 2), (3, 3), (4, 0), (5, 0)]])
    one, two = release([[(0, 0), (1, 1)]]), release([[(2, 2), (3, 3)]])
    assert exposed(attacked(whole, one)) == exposed(attacked(whole, two)) == {}
    assert exposed(attacked(whole, one, two)) == exposed(attacked(one, whole, two)) == {4: 0, 5: 0}


def test_a_rest_is_taken_out_as_well() -> None:
    first = release([[(0, 0), (1, 1), (2, 2)]])
    second = release([[(0, 0), (1, 1), (3, 2), (4, 3)]])
    third = release([[(3, 2), (4, 3)]])
    assert exposed(attacked(first, second)) == {}
    assert exposed(attacked(first, second, third)) == {2: 2}


def test_what_is_found_leads_to_more() -> None:
    first, second = release(FOUR), release([[(0, 0), (1, 1), (2, 2)], [(3, 2), (4, 0)]])
    assert exposed(attacked(first, second)) == {3: 2, 4: 0}


def test_what_is_found_beside_counterfeits_leads_to_more() -> None:
    first = release(FOUR, counterfeits=((0, 2),))
    second = release([[(0, 0), (1, 1), (2, 2)], [(3, 2), (4, 0)]])
    assert exposed(attacked(first, second)) == {3: 2, 4: 0}


def test_counterfeits_in_what_is_taken_out_protect_and_in_what_remains_may_not() -> None:
    stay = [[(0, 0), (1, 1), (2, 2)]]
    assert exposed(attacked(release(FOUR), release(stay, counterfeits=((0, 3),)))) == {}
    assert exposed(attacked(release(FOUR, counterfeits=((0, 3),)), release(stay))) == {}
    assert exposed(attacked(release(FOUR, counterfeits=((0, 2),)), release(stay))) == {3: 2}


def test_overlapping_boxes_protect_and_the_note_says_how_many_are_hidden() -> None:
    stay = [Member(0, (0,), 0, 0), Member(1, (1,), 1, 0), Member(2, (2,), 2, 0), Member(9, (1,), 3, 1)]
    hidden = entry_of(plain_schema(columns=1), stay, boxes={0: [(0, 2)], 1: [(1, 4)]})
    found = attacked(release(FOUR), hidden)
    assert exposed(found) == {}
    assert found.note.endswith("3 of 8 memberships were not used, because the boxes leave them open")
    assert found.extra["ambiguous memberships"] == 3


def test_releases_are_not_subtracted_where_values_may_change() -> None:
    entries = release(FOUR), release([[(0, 0), (1, 1), (2, 2)], [(7, 1), (8, 1)]])
    found = attacked(*entries, constant_values=False)
    assert exposed(found) == {7: 1, 8: 1}
    assert found.note == "certain within one release; more people may be exposed"


def test_a_value_that_changed_is_noticed_where_rows_do_not_add_up() -> None:
    found = attacked(release(FOUR), release([[(0, 0), (1, 1), (2, 3)]]))
    assert exposed(found) == {}
    assert found.extra["contradictions"] > 0
    assert "are inconsistent" in found.note


def test_more_known_people_than_rows_expose_no_one() -> None:
    ledger = Ledger((release([[(0, 1), (1, 1)]]),))
    crowd = Ledger((release([[(0, 1), (1, 1), (2, 1)]]),)).knowledge()
    crowd.presences[0].qi.flags.writeable = True
    crowd.presences[0].qi[0, 2] = 1
    assert DifferenceAttack().run(ledger.history(), crowd).exposed == 0


def test_the_numbers_of_the_specification_are_reported() -> None:
    first = release([[(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)], [(5, 0), (6, 1), (7, 2)]])
    found = attacked(first, release([[(0, 0), (1, 1)], [(5, 0), (6, 1), (7, 2)]]))
    assert found.exposed == 0
    assert (found.extra["smallest candidate set"], found.extra["fewest values of a rest"]) == (2, 2)
    assert found.extra["atoms"] == 3


def test_a_history_without_people_exposes_no_one() -> None:
    empty = entry_of(plain_schema(), [])
    assert attacked(empty, empty).of == 0
    nothing = DifferenceAttack().run(History(plain_schema(), ()), Knowledge(()))
    assert (nothing.of, nothing.exposed) == (0, 0)


@settings(deadline=None, max_examples=share_of(300))
@given(st.randoms(use_true_random=False), st.sampled_from([0.0, 0.3]), st.integers(1, 4))
def test_an_exposed_person_has_that_value_in_every_world(random: Random, overlap: float, releases: int) -> None:
    ledger = banded_ledger(random, overlap=overlap, releases=releases, values=random.choice([2, 3, 4]))
    found = exposed(attacked(*ledger.entries))
    worlds = count_surjections(ledger.history(), ledger.knowledge(), principle=None, limit=10**6).by_value
    for person, value in found.items():
        assert list(worlds[person]) == [value]


@settings(deadline=None, max_examples=share_of(40))
@given(st.randoms(use_true_random=False), st.booleans())
def test_an_exposed_person_has_that_value_when_all_worlds_are_listed(random: Random, banded: bool) -> None:
    ledger = banded_ledger(random, people=4, releases=2) if banded else random_ledger(random, people=4, releases=2)
    found = exposed(attacked(*ledger.entries))
    total, worlds = reasonable_surjections(ledger.history(), ledger.knowledge(), one_signature=False)
    assert total
    for person, value in found.items():
        assert list(worlds[person]) == [value]


@settings(deadline=None, max_examples=share_of(200))
@given(st.randoms(use_true_random=False), st.sampled_from([0.0, 0.3]))
def test_everyone_whom_two_releases_expose_is_found(random: Random, overlap: float) -> None:
    ledger = banded_ledger(random, people=10, overlap=overlap, values=3)
    expected = pairwise_exposed(ledger.history(), ledger.knowledge())
    found = exposed(attacked(*ledger.entries))
    assert expected.items() <= found.items()


@settings(deadline=None, max_examples=share_of(200))
@given(st.randoms(use_true_random=False), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.3]))
def test_the_compiled_search_is_the_search_step_by_step(random: Random, overlap: float, change: float) -> None:
    ledger = banded_ledger(random, people=10, releases=5, overlap=overlap, change=change, values=random.choice([2, 4]))
    history, traces = ledger.history(), traces_of(ledger.history(), ledger.knowledge(), tracked=random.random() < 0.5)
    plain, found = PlainSearch(history, traces), search_differences(history, traces, across_releases=True)
    plain.run()
    known = {person: value for person, value in enumerate(found.known.tolist()) if value != NO_VALUE}
    assert known == {person: CONFLICT if value is None else value for person, value in plain.known.items()}
    assert (found.fewest, found.contradictions) == (plain.fewest, plain.contradictions)


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_changing_values_and_a_false_assumption_raise_no_error(random: Random, constant: bool) -> None:
    ledger = banded_ledger(random, people=10, change=0.3)
    found = attacked(*ledger.entries, constant_values=constant)
    assert found.exposed <= found.of


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_an_m_invariant_history_exposes_no_one(random: Random) -> None:
    assert attacked(*invariant_ledger(random, m=2, releases=3, people=12).entries).exposed == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_people_changes_nothing(seed: int) -> None:
    ledger = banded_ledger(Random(seed), people=12)
    history, knowledge = ledger.history(), ledger.knowledge()
    assert np.all(np.diff(DifferenceAttack().run(history, knowledge).persons) > 0)
