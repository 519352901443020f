"""One person who tells their value, against the attack that is given this person as compromised."""

import numpy as np
import pytest
from builders.random_series import small_series

from reanon_core.attacks.compromised import CompromisedAttack
from reanon_core.attacks.insider import InsiderAttack
from reanon_core.catalog import build_technique
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.knowledge import Compromised, Knowledge
from reanon_core.model.ledger import INSIDERS, Ledger
from reanon_core.replay import replay

TECHNIQUES = [
    ("m-invariance", {"m": 2, "not_eligible": "blocks"}),
    ("cor-split", {"m": 3, "n": 2, "not_eligible": "blocks"}),
]


def made(technique: str, parameters: dict[str, object], seed: int) -> Ledger:
    return replay(build_technique(technique, parameters), small_series(seed)[1], np.random.default_rng(seed))


def counted_by_hand(ledger: Ledger, *, groups_known: bool) -> list[int]:
    """How many others each person who may be asked makes certain, by the attack that knows this person alone."""
    asked, found = ledger.spread(INSIDERS), []
    for person, value in zip(asked.persons, asked.values, strict=True):
        alone = Compromised(np.array([person]), np.array([value]))
        knowledge = ledger.knowledge(compromised=alone, groups_known=groups_known)
        found.append(CompromisedAttack().run(ledger.history(), knowledge).exposed)
    return found


@pytest.mark.parametrize("groups_known", [True, False])
def test_each_insider_makes_those_certain_whom_the_attack_compromised_finds(groups_known: bool) -> None:
    some = 0
    for technique, parameters in TECHNIQUES:
        for seed in range(6):
            ledger = made(technique, parameters, seed)
            by_hand = counted_by_hand(ledger, groups_known=groups_known)
            found = InsiderAttack().run(ledger.history(), ledger.knowledge(groups_known=groups_known))
            assert found.exposed == max(by_hand)
            assert found.extra["insiders tried"] == len(by_hand)
            assert found.extra["others made certain by the median insider"] == np.median(by_hand)
            assert found.extra["share of insiders who make anyone certain"] == np.mean(np.array(by_hand) > 0)
            truth = {
                int(person): int(value)
                for entry in ledger.entries
                for person, value in zip(entry.snapshot.persons, entry.snapshot.sensitive, strict=True)
            }
            assert [truth[person] for person in found.persons.tolist()] == found.inferred.tolist()
            some += found.exposed
    assert some > 20 * groups_known


def test_who_is_asked_is_spread_over_everyone_who_has_one_value() -> None:
    ledger = made(*TECHNIQUES[0], seed=0)
    everyone = np.unique(np.concatenate([entry.trace.persons for entry in ledger.entries]))
    asked = ledger.spread(5)
    assert asked.persons[[0, -1]].tolist() == everyone[[0, -1]].tolist()
    assert len(np.unique(asked.persons)) == 5
    assert ledger.spread(10_000).persons.tolist() == everyone.tolist()


def test_without_any_value_no_one_can_be_asked() -> None:
    ledger = made(*TECHNIQUES[0], seed=0)
    with pytest.raises(InvalidParameter, match="be given people's values"):
        InsiderAttack().run(ledger.history(), Knowledge(ledger.knowledge().presences))
