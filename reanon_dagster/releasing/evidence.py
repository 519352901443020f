"""Numbers about the releases so far: what attacks find, and what metrics measure, under names a steward understands."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.adversary_knowledge import with_background
from reanon_core.catalog import ATTACKS, METRICS, build_attack
from reanon_core.finding_truth import with_truth
from reanon_core.model.errors import InvalidParameter, OutOfOrder
from reanon_core.model.knowledge import Knowledge
from reanon_dagster.releasing.audited_ledger import AuditedLedger, audited_ledger
from reanon_dagster.releasing.judged_candidate import Progress, silent
from reanon_dagster.releasing.query_error import WORKLOAD_SEED
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

GAINS = ("adversary gain", "adversary confidence")
"""What is shown of an attack with posteriors, beside the number of exposed people."""
UNEVEN = "people with an uneven posterior"
"""What is shown of an attack that reads the source, beside the number of exposed people."""
MEASURED = {
    "gcp": "width of the published intervals, 0 exact, 1 the whole domain (GCP)",
    "lm": "values of the domain left possible, 0 one, 1 all (LM)",
    "fem": "bits kept that tell groups apart by size (FEM)",
    "vem": "bits kept that tell groups apart by their intervals (VEM)",
    "average-group-size": "rows in a group, on average",
    "discernibility": "sum of squared group sizes (discernibility)",
}
"""What is measured of each release, beside the query error that every record holds."""


def evidence_of(series: "Series", release: str, *, progress: Progress = silent) -> dict[str, float]:
    """Attack all releases up to this one, and measure it; the numbers by their names.

    Raises: OutOfOrder if it is not published.
    """
    with opened(series.private_folder, read_only=True) as connection:
        records = store_reader.releases(connection) if store_reader.exists(connection) else []
        place = next((record.position for record in records if record.release == release), None)
        if place is None:
            raise OutOfOrder(f"release {release} is not published yet, so there is nothing to attack")
    with audited_ledger(series, records[: place + 1]) as found:
        numbers = attack_numbers(found, progress)
        # Metrics are measured in memory. The query error of a large release is in its record.
        for name, words in MEASURED.items() if found.folder is None else ():
            progress(f"measuring: {words}")
            numbers[words] = METRICS[name]().measure(found.ledger.entries[-1], np.random.default_rng(WORKLOAD_SEED))
    return numbers


def exposed_by(attack: str) -> str:
    """What the number of people is called whom an attack exposes."""
    return f"people exposed by {attack}"


def attacked_by(attack: str) -> str:
    """What the number of people is called whom an attack tries to expose."""
    return f"people attacked by {attack}"


def attack_numbers(audited: AuditedLedger, progress: Progress) -> dict[str, float]:
    """The people exposed by the attacks that run on any size, and by those that the technique defends against.

    An attack that does not fit into memory is left out.
    """
    series, ledger = audited.series, audited.ledger
    numbers: dict[str, float] = {}
    for name, attack in ATTACKS.items():
        informed = attack.has_posteriors and series.technique.declaration.needs_knowledge
        if not attack.any_size and not informed:
            continue
        judge = build_attack(name)
        if misfit := audited.misfit(judge):
            progress(f"not attacking: {name}, because {misfit}")
            continue
        progress(f"attacking: {name}")
        knowledge = partial(_knowledge, audited, informed=informed)
        try:
            findings = audited.findings(judge, knowledge)
        except InvalidParameter:  # the source cannot be read, or not with the parameters of today
            continue
        numbers |= {
            exposed_by(name): float(findings.exposed),
            attacked_by(name): float(findings.of),
        }
        if UNEVEN in findings.extra:
            numbers[UNEVEN] = findings.extra[UNEVEN]
        if informed:
            extra = with_truth(findings, ledger, knowledge).extra
            numbers |= {gain: extra[gain] for gain in GAINS if gain in extra}
    return numbers


def _knowledge(audited: AuditedLedger, *, informed: bool, people_only: bool = False) -> Knowledge:
    """What the adversary of these attacks knows."""
    knowledge = audited.knowledge(people_only=people_only)
    return with_background(audited.series.adversary_background, audited.ledger, knowledge) if informed else knowledge
