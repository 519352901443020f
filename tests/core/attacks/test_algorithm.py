"""The adversary who knows the algorithm: the smallest cases, the paper's own example, and what may be concluded."""

from collections.abc import Iterable
from dataclasses import replace
from math import inf, log
from typing import Any

import numpy as np
import pytest
from builders.random_series import schema, tiny_ledgers
from oracles.algorithm import Likelihoods, true_world
from oracles.builders import Member, entry_of
from papers.XT07.example import FIRST, GROUPS_1B, PERSON, SCHEMA, SECOND, snapshot, state_after_table_1b
from papers.XT07.tables import naive_history

from reanon_core.adversary_knowledge import readings_of, with_algorithm
from reanon_core.attacks.algorithm import AlgorithmAttack
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.model.reading import Reading
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.replay import replay
from reanon_core.techniques.m_invariance.technique import MInvariance

COLD, FLU, GASTRITIS, DYSPEPSIA = range(4)
A, B, C, D, E = range(5)


def attacked(technique: Any, ledger: Ledger) -> Findings:
    return AlgorithmAttack().run(ledger.history(), with_algorithm(technique, ledger, ledger.knowledge()))


def concluded(readings: Iterable[Reading]) -> Findings:
    """What the attack concludes from these readings."""
    listed = list(readings)
    return AlgorithmAttack().run(History(schema(3), ()), Knowledge((), readings=lambda: iter(listed)))


def table(people: dict[int, tuple[int, int]]) -> Snapshot:
    """People with their age and value."""
    age, value = np.array(list(people.values()), dtype=np.int32).T
    return Snapshot(schema(4), np.array(list(people)), age[None], value)


def smallest(technique: MInvariance) -> Ledger:
    """B leaves; C, D and E come."""
    first = table({A: (10, FLU), B: (20, COLD)})
    second = table({A: (10, FLU), C: (30, FLU), D: (40, GASTRITIS), E: (50, DYSPEPSIA)})
    return replay(technique, [first, second], np.random.default_rng(0))


def test_a_counterfeit_beside_newcomers_with_flu_says_that_the_missing_value_was_not_flu() -> None:
    technique = MInvariance(m=2, balancing="filled")
    found = attacked(technique, smallest(technique))
    assert dict(zip(found.persons.tolist(), found.inferred.tolist(), strict=True)) == {A: FLU, B: COLD}
    assert found.confidence.tolist() == [1.0, 1.0]
    assert found.of == 5
    assert found.extra["relabellings ruled out"] == 1
    assert found.extra["greatest posterior"] == 1.0


def test_blind_balancing_says_nothing_in_that_case() -> None:
    technique = MInvariance(m=2, balancing="blind", not_eligible="refuse")
    found = attacked(technique, smallest(technique))
    assert found.exposed == 0
    assert found.extra["arrangements"] > found.extra["readings"] > 0
    assert found.extra["readings with unequal relabellings"] == found.extra["people with an uneven posterior"] == 0
    assert found.extra["releases left out"] == 0
    assert found.extra["greatest posterior"] == 0.5


def test_ray_and_steve_are_certain_in_the_papers_own_table_3a() -> None:
    """Steve was alone in his bucket. Had he dyspepsia, Ray had gastritis, and balancing would have left Ray out."""
    technique = MInvariance(m=2, balancing="filled")
    group = {name: number for number, names in enumerate(GROUPS_1B) for name in names}
    members = [Member(PERSON[name], people[:2], people[2], group[name]) for name, people in FIRST.items()]
    second = publish(technique, snapshot(SECOND), state_after_table_1b(), np.random.default_rng(0))
    ledger = Ledger((entry_of(SCHEMA, members), second.entry(snapshot(SECOND))))
    found = attacked(technique, ledger)
    truth = {PERSON[name]: (FIRST | SECOND)[name][2] for name in ("Ray", "Steve", "Paul")}  # Paul was with Steve in 1b
    assert dict(zip(found.persons.tolist(), found.inferred.tolist(), strict=True)) == truth
    assert found.extra["releases left out"] == 1  # the paper does not say how Table 1b was made
    assert "1 releases cannot be read with these parameters" in found.note


def test_whoever_is_exposed_has_that_value_in_every_world_with_the_same_people_outside_their_bucket() -> None:
    technique, exposed = MInvariance(m=2, balancing="filled"), 0
    for ledger in tiny_ledgers(technique, 25, start=50):
        truth, found = true_world(ledger), attacked(technique, ledger)
        likelihoods = Likelihoods(technique, ledger)
        signature = likelihoods.signatures()
        exposed += found.exposed
        for person, value in zip(found.persons.tolist(), found.inferred.tolist(), strict=True):
            together = {one for one in truth if signature[one] == signature[person]}
            for world in likelihoods.worlds():
                if all(world[one] == truth[one] for one in truth if one not in together) and likelihoods.of(world):
                    assert world[person] == value
    assert exposed > 0


def test_files_of_others_are_not_read() -> None:
    ledger = naive_history()
    with pytest.raises(InvalidParameter, match="releases of a technique whose source it can read"):
        AlgorithmAttack().run(ledger.history(), ledger.knowledge())


def reading(*chances: float, complete: bool = True, values: Any = ((0, 1), (1, 0)), unread: int = 0) -> Reading:
    """Two people, the arrangements of their values, and how likely each is."""
    weights = [log(chance) if chance else -inf for chance in chances]
    return Reading(
        persons=np.array([7, 8]),
        place=np.array([0, 1]),
        values=np.array(values),
        log_likelihood=np.array(weights),
        complete=complete,
        unread=unread,
    )


def test_a_ruled_out_arrangement_exposes_only_if_all_were_looked_at() -> None:
    assert concluded([reading(1, 0)]).persons.tolist() == [7, 8]
    incomplete = concluded([reading(1, 0, complete=False)])
    assert incomplete.exposed == 0
    assert incomplete.extra["people left with fewer values"] == 2
    assert incomplete.extra["greatest posterior"] == 0
    assert incomplete.extra["greatest posterior if it is known who shares a value"] == 1
    assert "in 1 not every arrangement was looked at, so no person is exposed there" in incomplete.note


def test_arrangements_that_are_not_as_likely_make_posteriors_uneven() -> None:
    found = concluded([reading(1, 0.25)])
    assert found.exposed == 0
    assert found.extra["greatest posterior"] == pytest.approx(0.8)
    assert found.extra["people with an uneven posterior"] == 2
    assert found.extra["people left with fewer values"] == 0
    assert found.extra["relabellings possible but not as likely as the truth"] == 1


def test_an_arrangement_that_is_hardly_possible_is_not_ruled_out() -> None:
    hardly = Reading(
        persons=np.array([7]),
        place=np.array([0]),
        values=np.array([[0], [1]]),
        log_likelihood=np.array([0.0, -5000.0]),
        complete=True,
    )
    found = concluded([hardly])
    assert found.exposed == 0
    assert found.extra["arrangements ruled out"] == 0


def test_a_ruled_out_arrangement_that_leaves_posteriors_even_counts_as_one_and_no_more() -> None:
    """Two groups of two: that the first and the third person differ says nothing of either."""
    values = ((0, 1, 0, 1), (1, 0, 1, 0), (0, 1, 1, 0), (1, 0, 0, 1))
    even = Reading(
        persons=np.arange(4),
        place=np.arange(4),
        values=np.array(values),
        log_likelihood=np.array([0.0, 0.0, -inf, -inf]),
        complete=True,
    )
    found = concluded([even])
    assert found.exposed == 0
    assert found.extra["arrangements ruled out"] == 2
    assert found.extra["relabellings"] == 2
    assert found.extra["relabellings ruled out"] == found.extra["people with an uneven posterior"] == 0


def test_a_person_in_several_readings_is_exposed_once() -> None:
    assert concluded([reading(1, 0), reading(1, 0), reading(1, 1)]).persons.tolist() == [7, 8]


def test_without_readings_every_number_is_there_and_zero() -> None:
    assert set(concluded([]).extra.values()) == {0.0}


def test_people_whom_no_reading_holds_are_counted_and_no_reading_at_all_is_an_error() -> None:
    technique = MInvariance(m=2, balancing="blind", not_eligible="refuse")
    ledger = smallest(technique)
    known = with_algorithm(technique, ledger, ledger.knowledge())
    first = next(readings_of(technique, ledger))
    found = AlgorithmAttack().run(ledger.history(), replace(known, readings=lambda: iter([first])))
    assert found.extra["people read"] == 2
    assert "they hold 2 of 5 people, and nothing is said of the others" in found.note
    with pytest.raises(InvalidParameter, match="too large for it, or were made with other parameters"):
        AlgorithmAttack().run(ledger.history(), replace(known, readings=lambda: iter([])))
