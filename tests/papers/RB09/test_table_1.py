"""Table 1 and Example 1: who is exposed once Carl is known, and which groups are unsafe."""

import numpy as np
import pytest
from oracles.correlations import correlated_sizes, derived_correlations, groups_of, possible, worlds

from papers.RB09.tables import AIDS, BRONCHITIS, CANCER, NUMBER, carl_is_known, ledger
from reanon_core.attacks.compromised import CompromisedAttack
from reanon_core.attacks.linear import LinearAttack
from reanon_core.attacks.propagation import PropagationAttack
from reanon_core.checks.hc_safety import HcSafety
from reanon_core.checks.weak_m_invariance import WeakMInvariance
from reanon_core.inference.elimination.problem import enqueue_all, value_problem
from reanon_core.inference.elimination.propagation import UNBOUNDED, propagate
from reanon_core.inference.view.known_groups import known_groups
from reanon_core.protocols import Attack, Check

ATTACKS = [
    CompromisedAttack(),
    PropagationAttack(),
    PropagationAttack(shaving=False, correlations=False),
    LinearAttack(),
]


def unsafe(check: Check) -> list[int]:
    memory, found = check.initial_memory(), []
    for entry in ledger().entries:
        verdict, memory = check.examine(entry, memory)
        found.append(verdict.violations)
    return found


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.name}")
def test_erica_is_exposed_once_carl_is_known(attack: Attack) -> None:
    """Example 1, Example 4."""
    one = ledger()
    found = attack.run(one.history(), one.knowledge(compromised=carl_is_known(), groups_known=True))
    assert found.persons.tolist() == [NUMBER["Erica"]]
    assert found.inferred.tolist() == [AIDS]
    assert found.of == 7


@pytest.mark.parametrize("matching", [False, True])
def test_the_other_six_keep_two_values(matching: bool) -> None:
    """Example 2, and the fixpoint of both functions."""
    one = ledger()
    known = known_groups(one.history(), one.knowledge(compromised=carl_is_known(), groups_known=True))
    problem = value_problem(known, matching=matching, correlations=True)
    enqueue_all(problem)
    propagate(problem, UNBOUNDED)
    for name in ("Alice", "Betty", "Doris", "Fiona", "Grace", "Hanna"):
        assert int(problem.domain[NUMBER[name], 0]) == (1 << BRONCHITIS) | (1 << CANCER)


def test_the_boxes_alone_reveal_the_groups_of_table_1_and_expose_erica_too() -> None:
    one = ledger()
    found = CompromisedAttack().run(one.history(), one.knowledge(compromised=carl_is_known()))
    assert found.persons.tolist() == [NUMBER["Erica"]]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.name}")
def test_no_one_is_exposed_while_no_one_is_compromised(attack: Attack) -> None:
    one = ledger()
    assert attack.run(one.history(), one.knowledge(groups_known=True)).exposed == 0


def test_the_worlds_are_24_and_8_once_carl_is_known() -> None:
    groups = groups_of(ledger().entries)
    assert len(worlds(groups)) == 24
    left = worlds(groups, {NUMBER["Carl"]: AIDS})
    assert len(left) == 8
    assert {NUMBER["Erica"]} == {person for person, values in possible(left).items() if len(values) == 1} - {
        NUMBER["Carl"]
    }


def test_the_historical_correlations_are_those_of_the_paper() -> None:
    """Section 2.3: {Erica} ~ {Carl}, {Alice, Betty} ~ {Doris, Fiona}, {Doris, Fiona} ~ {Grace, Hanna}."""
    groups = groups_of(ledger().entries)
    sizes = {(a.number, b.number): correlated_sizes(a, b) for a in groups[2:] for b in groups[:2]}
    assert min(sizes[0, 1]) == 1  # group 3 with group 2
    assert min(sizes[0, 0]) == 2  # group 3 with group 1
    assert min(sizes[1, 1]) == 2  # group 4 with group 2
    assert sizes[1, 0] == set()
    pairs = {frozenset((frozenset(a), frozenset(b))) for a, b in derived_correlations(groups, 2)}
    assert frozenset((frozenset({NUMBER["Erica"]}), frozenset({NUMBER["Carl"]}))) in pairs


@pytest.mark.parametrize(("n", "expected"), [(1, 0), (2, 1), (3, 2)])
def test_group_3_is_unsafe_for_n_2_and_group_4_for_n_3(n: int, expected: int) -> None:
    """Definition 7."""
    assert unsafe(HcSafety(n=n)) == [0, expected]
    assert unsafe(HcSafety(m=3, n=n)) == [0, expected]


def test_table_1_is_weakly_3_invariant() -> None:
    """Definitions 5 and 6."""
    assert unsafe(WeakMInvariance(m=3)) == [0, 0]
    assert np.all(np.array(unsafe(WeakMInvariance(m=4))) > 0)
