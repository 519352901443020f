"""Attacks against every world, on tiny histories of every technique and on histories that none of them made.

What an attack reports with confidence 1 is true in every world that its adversary's knowledge allows, if no one's value
changes. Where values do change, the note says that this was assumed, and the judge says how much of it is true.
"""

from collections import Counter
from random import Random

import numpy as np
import pytest
from oracles.any_histories import OPTIONS, foreign_ledger, technique_ledger
from oracles.consistent_worlds import is_complete, possible_values, worlds

from reanon_core.attacks.difference import DifferenceAttack
from reanon_core.attacks.subsets import SubsetsAttack
from reanon_core.catalog import build_attack
from reanon_core.finding_truth import with_truth
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger

FOREIGN = "files of others"
KINDS = [*OPTIONS, FOREIGN]
SEEDS = 12
BOXES_ONLY = ("intersection", "difference", "risk", "worlds")
"""These attacks use neither groups nor compromised people, whatever the adversary knows."""
GROUPS_ONLY = ("subsets",)
"""This one uses groups."""
BY_ELIMINATION = ("compromised", "propagation", "linear")
"""These use all that is declared."""
SAME_KNOWLEDGE = (BOXES_ONLY, GROUPS_ONLY, BY_ELIMINATION)
EXACT = ("risk", "worlds")
ASSUMED = "if no one's value changes"


def drawn(kind: str, seed: int, *, changing: bool) -> Ledger:
    random = Random(f"{kind} {seed}")
    if kind == FOREIGN:
        return foreign_ledger(random, changing=changing)
    return technique_ledger(kind, random, changing=changing)


def cases(kind: str, *, changing: bool) -> list[tuple[Ledger, Knowledge]]:
    """Ledgers with what is known of them: groups or boxes alone, and the values of some people or of no one."""
    found = []
    for seed in range(SEEDS * (3 if kind == FOREIGN else 1)):
        ledger = drawn(kind, seed, changing=changing)
        if ledger.entries:
            compromised = ledger.sampled((seed % 3) * 0.15, np.random.default_rng(seed))
            found.append((ledger, ledger.knowledge(compromised=compromised, groups_known=seed % 2 == 0)))
    assert len(found) > SEEDS // 2
    return found


def used(attack: str, knowledge: Knowledge) -> Knowledge:
    """The part of the knowledge that an attack uses."""
    if attack in BY_ELIMINATION:
        return knowledge
    if attack in GROUPS_ONLY:
        return Knowledge(knowledge.presences)
    return Knowledge(tuple(type(here)(here.persons, here.qi) for here in knowledge.presences))


def attacked(name: str, ledger: Ledger, knowledge: Knowledge) -> Findings | None:
    try:
        return build_attack(name).run(ledger.history(), knowledge)
    except InvalidParameter:
        assert name == "worlds"  # which refuses counterfeits
        return None


def claims(found: Findings) -> dict[int, int]:
    rows = zip(found.persons.tolist(), found.inferred.tolist(), found.confidence.tolist(), strict=True)
    return {person: value for person, value, confidence in rows if confidence == 1}


@pytest.mark.parametrize("changing", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_certain_is_true_in_every_world(kind: str, changing: bool) -> None:
    made = Counter[str]()
    for ledger, knowledge in cases(kind, changing=changing):
        allowed = {names: possible_values(ledger.history(), used(names[0], knowledge)) for names in SAME_KNOWLEDGE}
        assert all(allowed.values()) or changing  # the truth is a world if no value changes
        for name, possible in ((name, possible) for names, possible in allowed.items() for name in names):
            found = attacked(name, ledger, knowledge)
            if found is None:
                continue
            made[name] += len(claims(found))
            assert ASSUMED in found.note or name in EXACT
            assert found.extra.get("contradictions", 0) == 0 or not possible
            assert found.extra.get("without candidates", 0) == 0 or not possible
            if possible:
                assert all(possible[person] == {value} for person, value in claims(found).items()), (name, found.note)
            if name in EXACT and is_complete(ledger.history(), knowledge):
                certain = {person: next(iter(values)) for person, values in possible.items() if len(values) == 1}
                assert claims(found) == certain
                assert ("if no one's value changes" if possible else "values change") in found.note
    if kind in ("js-reduce", "mondrian", FOREIGN):
        assert all(made[name] for names in SAME_KNOWLEDGE for name in names)


@pytest.mark.parametrize("kind", KINDS)
def test_the_attack_worlds_lists_as_many_worlds_as_there_are(kind: str) -> None:
    for ledger, _ in cases(kind, changing=False):
        history, knowledge = ledger.history(), ledger.knowledge(groups_known=False)
        found = attacked("worlds", ledger, knowledge)
        shown = all(entry.release.shows(history.schema.sensitive.name) for entry in ledger.entries)
        if found is not None and shown and is_complete(history, knowledge):
            assert found.extra["worlds"] == sum(1 for _ in worlds(history, knowledge))


@pytest.mark.parametrize("kind", KINDS)
def test_linear_and_propagation_find_what_the_rules_of_the_paper_find(kind: str) -> None:
    for ledger, knowledge in cases(kind, changing=False):
        found = {name: claims(build_attack(name).run(ledger.history(), knowledge)) for name in BY_ELIMINATION}
        assert found["compromised"].items() <= found["propagation"].items()
        assert found["compromised"].items() <= found["linear"].items()


@pytest.mark.parametrize("kind", KINDS)
def test_within_one_release_a_value_is_certain_whatever_changes(kind: str) -> None:
    """Without the assumption, each release is a history of its own."""
    for ledger, knowledge in cases(kind, changing=True):
        history = ledger.history()
        for attack in (DifferenceAttack(constant_values=False), SubsetsAttack(constant_values=False)):
            found, its_own = attack.run(history, knowledge), used(attack.name, knowledge)
            alone = [
                possible_values(History(history.schema, (published,)), Knowledge((presence,)))
                for published, presence in zip(history.releases, its_own.presences, strict=True)
            ]
            assert "within one release" in found.note
            for person, value in claims(found).items():
                assert {value} in [possible.get(person) for possible in alone]


@pytest.mark.parametrize("kind", KINDS)
def test_where_values_change_the_judge_says_how_much_is_true(kind: str) -> None:
    for ledger, knowledge in cases(kind, changing=True):
        had: dict[int, set[int]] = {}
        for entry in ledger.entries:
            for person, row in zip(entry.trace.persons.tolist(), entry.trace.rows.tolist(), strict=True):
                had.setdefault(person, set()).add(int(entry.release.sensitive[row]))
        for name in (*BOXES_ONLY, *GROUPS_ONLY, *BY_ELIMINATION, "background"):
            found = attacked(name, ledger, knowledge)
            if found is None:
                continue
            told = with_truth(found, ledger, knowledge)
            pairs = list(zip(found.persons.tolist(), found.inferred.tolist(), strict=True))
            true = sum(value in had[person] for person, value in pairs)
            assert told.extra["conclusions that are true"] == true
            assert (f"{true} of these {len(pairs)} are true" in told.note) == (true < len(pairs))
