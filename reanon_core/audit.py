"""Checks and attacks on a whole series in memory, as one table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.adversary_knowledge import with_algorithm, with_background
from reanon_core.catalog import ATTACKS, METRICS, build_attack
from reanon_core.finding_truth import with_truth
from reanon_core.judgement import history_verdicts
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.finding import Findings
from reanon_core.tables.frames import PrivateTable

if TYPE_CHECKING:
    from reanon_core.model.background import Background
    from reanon_core.model.knowledge import Knowledge
    from reanon_core.model.ledger import Ledger
    from reanon_core.protocols import Check, Technique


def run_attack(
    name: str,
    technique: "Technique[Any, Any]",
    ledger: "Ledger",
    background: "Background | None",
    *,
    compromised: float,
    groups_known: bool,
    rng: np.random.Generator,
    changed: Sequence[str] = (),
) -> Findings:
    """What an attack finds in all releases of the technique, and how much of it is true.

    `changed` are the parameters with which some release was made otherwise.

    Raises: InvalidParameter if there is no such attack, or if it cannot run on these data.
    """
    knowledge = _knowledge(ledger, background, compromised, rng, groups_known=groups_known)
    knowledge = with_algorithm(technique, ledger, knowledge, changed=changed)
    return with_truth(build_attack(name).run(ledger.history(), knowledge), ledger, knowledge)


def audit_table(
    checks: "Sequence[Check]",
    names: Sequence[str],
    technique: "Technique[Any, Any]",
    ledger: "Ledger",
    background: "Background | None",
    *,
    attacks: Sequence[str] | None,
    compromised: float,
    groups_known: bool,
    rng: np.random.Generator,
    changed: Sequence[str] = (),
) -> PrivateTable:
    """One row for each check of each release, then one for each attack on all of them.

    An attack that cannot run on these data has no number, and a note that says why. `changed` are the parameters with
    which some release was made otherwise.

    Raises: InvalidParameter if there is no such attack.
    """
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    for check in checks:
        for name, verdict in zip(names, history_verdicts(check, ledger.entries), strict=True):
            answer = {"holds": verdict.holds, "violations": verdict.violations, "note": verdict.sentence}
            rows.append({"kind": "check", "name": check.name, "release": name, **answer})
    knowledge = _knowledge(ledger, background, compromised, rng, groups_known=groups_known)
    knowledge = with_algorithm(technique, ledger, knowledge, changed=changed)
    for attack in [build_attack(name) for name in (ATTACKS if attacks is None else attacks)]:
        try:
            found = with_truth(attack.run(ledger.history(), knowledge), ledger, knowledge)
            answer = {"exposed": found.exposed, "of": found.of, "note": found.note}
        except InvalidParameter as error:
            answer = {"note": f"not tested: {error}"}
        rows.append({"kind": "attack", "name": attack.name, **answer})
    counts = [(name, pa.int64()) for name in ("violations", "exposed", "of")]
    texts = [(name, pa.string()) for name in ("kind", "name", "release")]
    schema = pa.schema([*texts, ("holds", pa.bool_()), *counts, ("note", pa.string())])
    return PrivateTable(pa.Table.from_pylist(rows, schema=schema))


def metric_values(metric: str, names: Sequence[str], ledger: "Ledger", rng: np.random.Generator) -> dict[str, float]:
    """A metric of the catalog for each release.

    Raises: InvalidParameter if there is no such metric.
    """
    if metric not in METRICS:
        raise InvalidParameter(Problem("metric", f"be one of {', '.join(METRICS)}", metric))
    return {name: METRICS[metric]().measure(entry, rng) for name, entry in zip(names, ledger.entries, strict=True)}


def _knowledge(
    ledger: "Ledger", background: "Background | None", share: float, rng: np.random.Generator, *, groups_known: bool
) -> "Knowledge":
    if not 0 <= share < 1:
        raise InvalidParameter(Problem("compromised", "be a share from 0 to below 1", str(share)))
    known = ledger.sampled(share, rng)
    return with_background(background, ledger, ledger.knowledge(compromised=known, groups_known=groups_known))
