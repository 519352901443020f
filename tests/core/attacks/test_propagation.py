"""The adversaries with compromised people against every world, on small random histories."""

from random import Random

import numpy as np
import pytest
from builders.long_lists import sampled
from oracles.correlations import groups_of, possible, worlds
from oracles.histories import ledger_of, weak_ledger

from reanon_core.attacks.compromised import CompromisedAttack
from reanon_core.attacks.intersection import IntersectionAttack
from reanon_core.attacks.linear import LinearAttack
from reanon_core.attacks.propagation import PropagationAttack
from reanon_core.inference.elimination.problem import enqueue_all, value_problem
from reanon_core.inference.elimination.propagation import EFFORT, UNBOUNDED, propagate, shave
from reanon_core.inference.view.known_groups import known_groups
from reanon_core.model.finding import Findings
from reanon_core.model.knowledge import Compromised
from reanon_core.model.ledger import Ledger
from reanon_core.protocols import Attack

PAPER = CompromisedAttack()
GAC = PropagationAttack(shaving=False, correlations=False)
GAC_HC = PropagationAttack(shaving=False)
SHAVING = PropagationAttack()
LINEAR = LinearAttack()
LETTERS = {letter: at for at, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}


def exposed(found: Findings) -> dict[int, int]:
    return dict(zip(found.persons.tolist(), found.inferred.tolist(), strict=True))


def truth(ledger: Ledger) -> dict[int, int]:
    return {
        p: v
        for entry in ledger.entries
        for p, v in zip(entry.snapshot.persons.tolist(), entry.snapshot.sensitive.tolist(), strict=True)
    }


def drawn(random: Random) -> tuple[Ledger, Compromised]:
    m = random.choice([2, 3, 4])
    ledger = weak_ledger(random, m=m, people=random.randint(2 * m, 3 * m), releases=random.choice([2, 3, 4]), stay=0.8)
    compromised = ledger.sampled(random.choice([0.1, 0.2, 0.3]), np.random.default_rng(random.randrange(2**32)))
    return ledger, compromised


@pytest.mark.parametrize("seed", sampled(range(120), range(0, 120, 2)))
@pytest.mark.parametrize("groups_known", [True, False])
def test_whoever_is_reported_has_that_value_in_every_world(seed: int, groups_known: bool) -> None:
    ledger, compromised = drawn(Random(seed))
    known = dict(zip(compromised.persons.tolist(), compromised.values.tolist(), strict=True))
    knowledge = ledger.knowledge(compromised=compromised, groups_known=groups_known)
    certain = {p: v for p, v in possible(worlds(groups_of(ledger.entries), known)).items() if p not in known}
    found = {
        attack: exposed(attack.run(ledger.history(), knowledge)) for attack in (PAPER, GAC, GAC_HC, SHAVING, LINEAR)
    }
    for attack, people in found.items():
        for person, value in people.items():
            assert certain[person] == {value}, attack  # the groups are part of the truth, known or not
    assert found[PAPER].items() <= found[GAC_HC].items()
    assert found[GAC].items() <= found[GAC_HC].items()
    assert found[GAC_HC].items() <= found[SHAVING].items()
    assert found[GAC_HC].items() <= found[LINEAR].items()
    if groups_known:
        weaker = exposed(IntersectionAttack().run(ledger.history(), knowledge))
        assert {p: v for p, v in weaker.items() if p not in known}.items() <= found[GAC].items()


def attacked(attack: Attack, releases: list[list[str]], values: dict[str, int], known: str) -> dict[str, int]:
    ledger = ledger_of(releases, values, LETTERS)
    people = sorted(LETTERS[letter] for letter in known)
    letter_of = {at: letter for letter, at in LETTERS.items()}
    compromised = Compromised(people, [values[letter_of[p]] for p in people])
    found = attack.run(ledger.history(), ledger.knowledge(compromised=compromised, groups_known=True))
    return {letter_of[person]: value for person, value in exposed(found).items()}


def test_correlations_and_matching_are_incomparable() -> None:
    """Specification, C13: pqx, rsz | pqy, rsx | yku, zlw with k = 3 and l = 2 known."""
    releases = [["pqx", "rsz"], ["pqy", "rsx"], ["yku", "zlw"]]
    values = {"x": 1, "p": 2, "q": 3, "y": 1, "r": 2, "s": 3, "z": 1, "k": 3, "l": 2, "u": 2, "w": 3}
    assert attacked(PAPER, releases, values, "kl")["x"] == 1
    assert "x" not in attacked(GAC, releases, values, "kl")
    assert attacked(GAC_HC, releases, values, "kl")["x"] == 1


def test_a_merge_undone_needs_shaving_or_sums() -> None:
    """Specification, C3 (a) and C13: d known gives c."""
    values = {"a": 0, "b": 1, "c": 2, "d": 2, "e": 0, "f": 1, "g": 2}
    releases = [["abc", "efg"], ["abdefg"]]
    assert "c" not in attacked(GAC_HC, releases, values, "d")
    assert attacked(SHAVING, releases, values, "d")["c"] == 2
    assert attacked(LINEAR, releases, values, "d")["c"] == 2


def test_a_transitive_chain_needs_correlations() -> None:
    """Specification, C3 (b) and C13: h and i have the same value."""
    values = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 2, "f": 3, "g": 0, "h": 1, "i": 1}
    releases = [["abcd"], ["abef"], ["efgh"], ["cdgi"]]
    for attack in (LINEAR, SHAVING):
        assert attacked(attack, releases, values, "i")["h"] == 1


def test_only_shaving_finds_the_partner_in_a_larger_group() -> None:
    """Specification, C13: {x, y}, then {p, q, x, y} with q known."""
    values = {"x": 0, "y": 1, "p": 0, "q": 1}
    releases = [["xy"], ["pqxy"]]
    assert "p" not in attacked(GAC_HC, releases, values, "q")
    assert attacked(SHAVING, releases, values, "q")["p"] == 0


def test_once_the_effort_is_used_up_a_trial_looks_at_fewer_groups() -> None:
    """The case above, in which a trial must look at two groups: with the effort used up, `fewest` bounds it."""
    ledger = ledger_of([["xy"], ["pqxy"]], {"x": 0, "y": 1, "p": 0, "q": 1}, LETTERS)
    compromised = Compromised([LETTERS["q"]], [1])
    known = known_groups(ledger.history(), ledger.knowledge(compromised=compromised, groups_known=True))

    def dropped(effort: int, fewest: int) -> int:
        problem = value_problem(known, matching=True, correlations=True)
        enqueue_all(problem)
        propagate(problem, UNBOUNDED)
        problem.effort[0] = effort
        return shave(problem, known.values, UNBOUNDED, fewest)

    assert dropped(0, 0) > 0
    assert dropped(EFFORT + 1, 0) == 0
    assert dropped(EFFORT + 1, 48) > 0


def test_trying_values_counts_what_it_looks_at() -> None:
    ledger = ledger_of([["abcd"], ["acbd"], ["abdc"]], {"a": 0, "b": 1, "c": 0, "d": 1}, LETTERS)
    known = known_groups(ledger.history(), ledger.knowledge(groups_known=True))
    problem = value_problem(known, matching=True, correlations=True)
    enqueue_all(problem)
    propagate(problem, UNBOUNDED)
    before = int(problem.effort[0])
    shave(problem, known.values, UNBOUNDED, 48)
    assert problem.effort[0] > before >= known.membership.groups


def test_a_layer_of_counterfeits_leaves_no_certainty() -> None:
    """Specification, C6: {a, b, c}, then {a, b, d} with a layer, d known: c is 3 in half of the worlds."""
    values = {"a": 0, "b": 1, "c": 2, "d": 2}
    ledger = ledger_of([["abc"], ["abd***"]], values, LETTERS)
    for attack in (PAPER, SHAVING, LINEAR):
        assert "c" not in attacked(attack, [["abc"], ["abd***"]], values, "d")
    assert possible(worlds(groups_of(ledger.entries), {LETTERS["d"]: 2}))[LETTERS["c"]] == {0, 1, 2}


def test_a_changed_value_is_reported_and_does_not_stop_the_attack() -> None:
    first = ledger_of([["ab"], ["cd"]], {"a": 0, "b": 1, "c": 0, "d": 1}, LETTERS).entries[0]
    second = ledger_of([["ab"]], {"a": 1, "b": 0}, LETTERS).entries[0]
    ledger = Ledger((first, second))
    assert len(ledger.sampled(1.0, np.random.default_rng(0)).persons) == 0
    compromised = Compromised([LETTERS["a"], LETTERS["b"]], [0, 0])
    found = SHAVING.run(ledger.history(), ledger.knowledge(compromised=compromised, groups_known=True))
    assert "contradict" in found.note
    assert found.extra["contradictions"] == 2
