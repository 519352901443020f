"""A release without people, before, between or after others: every attack, check and metric still answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from reanon_core.adversary_knowledge import with_algorithm, with_background
from reanon_core.catalog import ATTACKS, CHECKS, METRICS, TECHNIQUES, build_attack, build_check, build_technique
from reanon_core.finding_truth import with_truth
from reanon_core.judgement import history_verdicts
from reanon_core.model.background import Background
from reanon_core.model.ledger import Ledger
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Technique
from reanon_core.replay import replay

PARAMETERS = {
    "m-invariance": {"m": 2, "balancing": "blind", "not_eligible": "refuse"},
    "mondrian": {"k": 2, "ell": 2},
    "bpg": {"k": 2, "ell": 2},
    "cor-split": {"m": 3, "n": 2, "balancing": "blind", "not_eligible": "refuse"},
    "js-reduce": {"k": 2, "t": 0.9, "j": 0.9},
    "sequential": {"ell": 2},
}
JUDGED = {
    "well-formedness": {},
    "k-anonymity": {"k": 2},
    "k-over-history": {"k": 2},
    "shared-boxes": {"k": 2},
    "l-diversity": {"ell": 2},
    "t-closeness": {"t": 0.5},
    "m-uniqueness": {"m": 2},
    "m-invariance": {"m": 2},
    "atoms": {"k": 2},
    "weak-m-invariance": {"m": 2},
    "hc-safety": {"n": 2},
    "js-divergence": {"j": 0.9},
    "possible-worlds": {"ell": 2},
}
SIZES = [(0, 6), (6, 0, 6), (0, 0, 6), (6, 0), (0,)]
CASES = [(name, sizes) for name in TECHNIQUES for sizes in SIZES if name != "sequential" or sizes[0] == 0]
"""`sequential` refuses a snapshot that people have left."""


def built(technique: str) -> Technique[Any, Any]:
    return build_technique(technique, PARAMETERS[technique], Background())


def ledger(technique: str, sizes: Sequence[int]) -> Ledger:
    """The same six people or no one; before the first person no sensitive value is known either."""
    quasi = tuple(QuasiIdentifier(name=name) for name in "ab")
    qi = np.random.default_rng(0).integers(0, 9, (2, 6)).astype(np.int32)
    snapshots = []
    for at, size in enumerate(sizes):
        values = ("v", "w", "x") if any(sizes[: at + 1]) else ()
        schema = Schema(quasi_identifiers=quasi, sensitive=Sensitive(name="s", values=values))
        people = np.arange(size)
        snapshots.append(Snapshot(schema, people, qi[:, :size], (people % 3).astype(np.int32)))
    return replay(built(technique), snapshots, np.random.default_rng(1))


@pytest.mark.parametrize(("technique", "sizes"), CASES)
def test_every_attack_answers_and_says_the_same_as_without_the_empty_release(
    technique: str, sizes: tuple[int, ...]
) -> None:
    made = ledger(technique, sizes)
    peopled = Ledger(tuple(entry for entry in made.entries if entry.snapshot.size))
    for groups_known in (True, False):
        knowledge = with_background(None, made, made.knowledge(groups_known=groups_known))
        knowledge = with_algorithm(built(technique), made, knowledge)
        for name in ATTACKS:
            if name == "worlds" and any(entry.auxiliary.total for entry in made.entries):
                continue  # it refuses counterfeits
            if name == "algorithm" and knowledge.readings is None:
                continue  # it refuses a technique that it cannot read
            if name == "linkage":
                continue  # it refuses releases that are not decoupled
            if name == "location" and technique not in ("m-invariance", "cor-split"):
                continue  # it refuses groups without signatures
            found = with_truth(build_attack(name).run(made.history(), knowledge), made, knowledge)
            assert found.of == max(sizes)
            if peopled.entries and name not in ("background", "algorithm"):  # these also read the tables behind
                alone = build_attack(name).run(peopled.history(), peopled.knowledge(groups_known=groups_known))
                assert (found.persons.tolist(), found.inferred.tolist()) == (
                    alone.persons.tolist(),
                    alone.inferred.tolist(),
                )


@pytest.mark.parametrize(("technique", "sizes"), CASES)
def test_every_check_and_metric_answers(technique: str, sizes: tuple[int, ...]) -> None:
    made = ledger(technique, sizes)
    assert set(JUDGED) == set(CHECKS)
    for name, parameters in JUDGED.items():
        check = build_check(name, parameters, Background())
        verdicts = list(history_verdicts(check, made.entries))
        assert [verdict.check for verdict in verdicts] == [name] * len(sizes)
        assert all(verdict.holds for verdict, size in zip(verdicts, sizes, strict=True) if not size)
    for name, metric in METRICS.items():
        found = [metric().measure(entry, np.random.default_rng(0)) for entry in made.entries]
        assert np.isnan(found).all() if name == "relations" else np.isfinite(found).all()  # so few people have none
