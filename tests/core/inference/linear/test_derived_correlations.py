"""The searches for derived correlations against every signed sum and every vector of the row space."""

from random import Random

import numpy as np
import pytest
from oracles.correlations import (
    components,
    derived_correlations,
    groups_of,
    smallest_signed_sum,
)
from oracles.histories import ledger_of, weak_ledger

from reanon_core.checks.hc_safety import HcSafety
from reanon_core.checks.membership_table import MembershipTable
from reanon_core.checks.signed_sums import smallest_sums
from reanon_core.inference.linear.components import Incidence, small_components
from reanon_core.inference.linear.equations import find_equations
from reanon_core.inference.view.known_groups import KnownGroups, known_groups
from reanon_core.inference.view.membership import Membership
from reanon_core.model.ledger import Ledger


def known(ledger: Ledger) -> KnownGroups:
    return known_groups(ledger.history(), ledger.knowledge(groups_known=True))


def drawn(seed: int) -> tuple[Ledger, int, int]:
    random = Random(seed)
    m = random.choice([3, 4])
    return weak_ledger(random, m=m, people=3 * m, releases=3, stay=0.85), random.randint(2, m), random.choice([3, 4])


@pytest.mark.parametrize("seed", range(40))
def test_the_judge_finds_a_small_sum_of_a_release_exactly_where_there_is_one(seed: int) -> None:
    ledger, n, most = drawn(seed)
    table = MembershipTable.empty()
    for at, entry in enumerate(ledger.entries):
        table = table.extended(entry)
        groups = groups_of(ledger.entries[: at + 1])
        found = smallest_sums(table, table.groups - entry.release.boxes.count, n - 1, most)
        expected = [smallest_signed_sum(groups, group, n - 1, most) for group in groups if group.release == at]
        # A sum whose first groups cancel completely belongs to the other groups, so all groups are compared together.
        assert bool((found > 0).any()) == any(expected)


@pytest.mark.parametrize("seed", range(40))
def test_the_attack_finds_only_true_correlations_and_all_between_two_people_of_a_small_component(
    seed: int,
) -> None:
    ledger, n, most = drawn(seed)
    groups = known(ledger)
    parts = components(groups_of(ledger.entries))
    expected = {frozenset((frozenset(a), frozenset(b))) for part in parts for a, b in derived_correlations(part, n)}
    pairs = [
        tuple(tuple(groups.persons[list(side)].tolist()) for side in equation.sides)
        for equation in find_equations(groups, n, most)
        if not equation.difference and not any(equation.unidentified)
    ]
    whole = {frozenset((frozenset(a), frozenset(b))) for a, b in pairs}
    # A pair with common people is a correlation too; a pair without them is among the expected.
    for a, b in pairs:
        if not set(a) & set(b) and max(len(a), len(b)) < n:
            assert frozenset((frozenset(a), frozenset(b))) in expected
    single = {pair for pair in expected if all(len(side) == 1 for side in pair)}
    assert _closure(single) == _closure({pair for pair in whole if all(len(side) == 1 for side in pair)})


def _closure(pairs: set[frozenset[frozenset[int]]]) -> set[frozenset[int]]:
    """The classes of people who are correlated one to one."""
    classes: list[set[int]] = []
    for pair in pairs:
        people = {person for side in pair for person in side}
        near = [one for one in classes if one & people]
        classes = [one for one in classes if one not in near] + [people.union(*near)]
    return {frozenset(one) for one in classes}


@pytest.mark.parametrize("seed", range(20))
def test_small_components_are_the_connected_groups(seed: int) -> None:
    random = Random(seed)
    ledger = weak_ledger(random, m=3, people=14, releases=3, stay=0.5, signatures=2)
    membership = known(ledger).membership.writable()
    alive = np.ones(membership.groups, np.bool_)
    found = small_components(membership, 0, membership.groups, alive, 48)
    listed = {frozenset(part[part >= 0].tolist()) for part in np.split(found, np.flatnonzero(found < 0) + 1)} - {
        frozenset()
    }
    groups = groups_of(ledger.entries)
    assert listed == {frozenset(groups.index(group) for group in part) for part in components(groups)}
    few = small_components(membership, 0, membership.groups, alive, 2)
    kept = {frozenset(part[part >= 0].tolist()) for part in np.split(few, np.flatnonzero(few < 0) + 1)} - {frozenset()}
    assert kept == {part for part in listed if len(part) <= 2}


def test_a_small_component_shows_what_no_sum_of_four_groups_does() -> None:
    """x - l = cdkx - ijkl - (abcd - abef + efgh - ghij): it takes all six groups."""
    letters = {letter: at for at, letter in enumerate("abcdefghijklx")}
    values = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 2, "f": 3, "g": 0, "h": 1, "i": 2, "j": 3, "k": 0, "l": 1, "x": 1}
    ledger = ledger_of([["abcd"], ["abef"], ["efgh"], ["ghij"], ["ijkl"], ["cdkx"]], values, letters)
    groups = groups_of(ledger.entries)
    assert smallest_signed_sum(groups, groups[-1], 1, 4) == 0
    assert smallest_signed_sum(groups, groups[-1], 1, 6) == 1
    incidence = Incidence([sorted(group.people) for group in groups], [0] * len(groups))
    assert incidence.correlations(list(range(6)), 1) == [((letters["l"],), (letters["x"],))]
    assert incidence.correlations(list(range(5)), 1) == []
    check = HcSafety(n=2, strict=True)
    memory, answers = check.initial_memory(), []
    for entry in ledger.entries:
        verdict, memory = check.examine(entry, memory)
        answers.append(verdict.holds)
    assert answers == [True] * 5 + [False]


def test_a_membership_grows_by_a_release_and_survives_packing() -> None:
    letters = {letter: at for at, letter in enumerate("abcd")}
    ledger = ledger_of([["ab", "cd"], ["ac*"]], {"a": 0, "b": 1, "c": 1, "d": 0}, letters)
    membership = known(ledger).membership
    assert membership.groups == 3
    assert membership.size.tolist() == [2, 2, 3]
    assert list(membership.packed()) == [f"web_{name}" for name in Membership._fields]  # the names in the store
    again = Membership.restored(membership.packed())
    assert all(np.array_equal(one, other) for one, other in zip(again, membership, strict=True))
    assert not any(part.flags.writeable for part in again)
    assert membership.previous[membership.latest[0]] == 0


def test_a_group_without_identified_people_correlates_no_one() -> None:
    pair, unidentified = [0, 1], []
    assert Incidence([pair, unidentified], [0, 2]).correlations([0, 1], 1) == []
    assert Incidence([[0, 1], [0, 2], unidentified], [0, 0, 2]).correlations([0, 1, 2], 1) == [((1,), (2,))]
