"""The equations that sums of groups give hold in every world, also where the values of the groups do not cancel."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from oracles.any_histories import foreign_ledger
from oracles.correlations import Group, groups_of, null_space, possible, worlds
from oracles.histories import ledger_of

from reanon_core.attacks.linear import LinearAttack
from reanon_core.inference.linear.components import Incidence
from reanon_core.inference.linear.equations import Equation, Side, _all_sums, _of_sums, find_equations, first_rows
from reanon_core.inference.view.known_groups import known_groups
from reanon_core.inference.view.membership import Membership
from reanon_core.model.arrays import Int32
from reanon_core.model.ledger import Ledger

LETTERS = {letter: at for at, letter in enumerate("abcdefgh")}


def equations(ledger: Ledger, smaller_than: int = 3) -> list[Equation]:
    """The equations, with the ids of people instead of their numbers."""
    known = known_groups(ledger.history(), ledger.knowledge())
    found = find_equations(known, smaller_than, 4)
    return [
        Equation(*(tuple(known.persons[list(side)].tolist()) for side in one.sides), *list(vars(one).values())[2:])
        for one in found
    ]


def holds(equation: Equation, world: dict[int, int], values: int) -> bool:
    """Whether the people have that many of each value more; unidentified rows can have any values."""
    difference, (added, subtracted) = dict(equation.difference), equation.unidentified
    for value in range(values):
        more = sum(weight * (world[person] == value) for person, weight in equation.weights)
        if not -added <= more - difference.get(value, 0) <= subtracted:
            return False
    return True


@pytest.mark.parametrize("seed", range(150))
def test_every_equation_holds_in_every_world(seed: int) -> None:
    ledger = foreign_ledger(Random(seed), people=7)
    values = len(ledger.history().schema.sensitive.values)
    found = equations(ledger)
    for world in worlds(groups_of(ledger.entries)):
        assert all(holds(equation, world, values) for equation in found)


@pytest.mark.parametrize("seed", range(12))
def test_each_equation_of_a_sum_is_found_once_and_none_is_lost(seed: int) -> None:
    ledger = foreign_ledger(Random(seed), people=7)
    known = known_groups(ledger.history(), ledger.knowledge())
    membership = known.membership.writable()
    sums = _all_sums(membership, 2, 4, 4096)
    everyone = {
        _key(membership, dict(zip(groups, signs, strict=True)))
        for groups, signs in zip(sums.group.tolist(), sums.sign.tolist(), strict=True)
    }
    found = [(one.added, one.subtracted, any(one.unidentified)) for one in _of_sums(known, 2, 4)]
    assert len(found) == len(set(found))
    assert set(found) == everyone


@settings(deadline=None)
@given(arrays(np.int32, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=12), elements=st.integers(-1, 2)))
def test_the_first_of_equal_rows_is_found(table: Int32) -> None:
    rows = list(map(tuple, table.tolist()))
    assert first_rows(table).tolist() == sorted({rows.index(row) for row in rows})


def _key(membership: Membership, signs: dict[int, int]) -> tuple[Side, Side, bool]:
    """The people on both sides of a sum, the lowest first, and whether rows of no one are left."""
    weight: Counter[int] = Counter()
    others = 0
    for group, sign in signs.items():
        if group >= 0:
            people = membership.members(group)
            others += int(membership.size[group]) - len(people)
            weight.update(dict.fromkeys(people, sign))
    added, subtracted = (tuple(sorted(of.elements())) for of in (+weight, -weight))
    return *(
        (subtracted, added) if subtracted and (not added or subtracted < added) else (added, subtracted)
    ), others > 0


def determined(groups: list[Group]) -> set[int]:
    """The people whom every vector of the null space leaves alone."""
    tokens, basis = null_space(groups)
    return {
        token for at, token in enumerate(tokens) if isinstance(token, int) and not any(vector[at] for vector in basis)
    }


@pytest.mark.parametrize("seed", range(150))
def test_whoever_the_linear_system_determines_is_exposed(seed: int) -> None:
    ledger = foreign_ledger(Random(seed), people=7)
    groups = groups_of(ledger.entries)
    certain, found = possible(worlds(groups)), LinearAttack().run(ledger.history(), ledger.knowledge())
    exposed = dict(zip(found.persons.tolist(), found.inferred.tolist(), strict=True))
    assert {person: {value} for person, value in exposed.items()}.items() <= certain.items()
    assert determined(groups) <= set(exposed)
    assert found.extra["contradictions"] == 0


def test_sets_whose_groups_do_not_cancel_differ_by_what_is_left() -> None:
    """c and d share a and b with each other, but not their value: the difference says which values they have."""
    ledger = ledger_of([["abc"], ["abd"]], {"a": 0, "b": 1, "c": 2, "d": 0}, LETTERS)
    (one,) = [equation for equation in equations(ledger) if equation.sides == ((2,), (3,))]
    assert one.difference == ((0, -1), (2, 1))
    found = LinearAttack().run(ledger.history(), ledger.knowledge())
    assert dict(zip(found.persons.tolist(), found.inferred.tolist(), strict=True)) == {2: 2, 3: 0}
    assert found.extra["correlations"] == 0


def test_a_sum_whose_groups_cancel_is_a_correlation() -> None:
    ledger = ledger_of([["abc"], ["abd"]], {"a": 0, "b": 1, "c": 2, "d": 2}, LETTERS)
    (one,) = equations(ledger, smaller_than=2)
    assert (one.sides, one.difference) == (((2,), (3,)), ())
    assert LinearAttack(smaller_than=2).run(ledger.history(), ledger.knowledge()).extra["correlations"] == 1


def test_groups_without_a_common_solution_state_no_equation() -> None:
    """The same people with other values: someone's value changed."""
    both = Incidence([[0, 1], [0, 1]], [0, 0])
    assert list(both.equations(np.array([[1, 1, 0], [1, 0, 1]]), 2)) == []
    assert list(both.equations(np.array([[1, 1, 0], [1, 1, 0]]), 2)) != []


def test_another_knowledge_of_the_same_history_gives_other_known_groups() -> None:
    ledger = foreign_ledger(Random(1), people=7)
    history, one, other = ledger.history(), ledger.knowledge(), ledger.knowledge()
    first = known_groups(history, one)
    assert known_groups(history, one) is first
    assert known_groups(history, other) is not first
    assert known_groups(ledger.history(), one) is not first
