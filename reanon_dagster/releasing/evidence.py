"""Numbers about the releases so far: what attacks find, and what metrics measure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.adversary_knowledge import with_algorithm, with_background
from reanon_core.catalog import ATTACKS, METRICS, build_attack
from reanon_core.finding_truth import with_truth
from reanon_core.model.errors import InvalidParameter, OutOfOrder
from reanon_core.model.ledger import Ledger
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


@dataclass(frozen=True)
class ReleaseNumbers:
    """The size of one release, for a plot of the history."""

    release: str
    rows: int
    groups: int
    counterfeits: int


@dataclass(frozen=True)
class Evidence:
    """Numbers about the latest release, and the sizes of all."""

    numbers: dict[str, float]
    history: tuple[ReleaseNumbers, ...]


def evidence_of(series: "Series", release: str, *, progress: Progress = silent) -> Evidence:
    """Attack all releases up to this one, and measure it.

    Raises: OutOfOrder if it is not published.
    """
    with opened(series.private_folder, read_only=True) as connection:
        records = store_reader.releases(connection) if store_reader.exists(connection) else []
        place = next((record.position for record in records if record.release == release), None)
        if place is None:
            raise OutOfOrder(f"release {release} is not published yet, so there is nothing to attack")
        schema = store_reader.known_schema(connection, series.schema)
        upto = records[: place + 1]
        ledger = Ledger(tuple(store_reader.entry(connection, record.position, schema) for record in upto))
    numbers = attack_numbers(series, ledger, progress)
    for name, metric in METRICS.items():
        if metric.quick:
            progress(f"measuring: {name}")
            numbers[name] = metric().measure(ledger.entries[-1], np.random.default_rng(WORKLOAD_SEED))
    history = tuple(
        ReleaseNumbers(record.release, entry.release.size, entry.release.boxes.count, entry.auxiliary.total)
        for record, entry in zip(upto, ledger.entries, strict=True)
    )
    return Evidence(numbers, history)


def attack_numbers(series: "Series", ledger: Ledger, progress: Progress) -> dict[str, float]:
    """The people exposed by the attacks that run on any size, and by those that the technique defends against."""
    numbers: dict[str, float] = {}
    for name, attack in ATTACKS.items():
        informed = attack.has_posteriors and series.technique.declaration.needs_knowledge
        if not attack.any_size and not informed:
            continue
        progress(f"attacking: {name}")
        knowledge = with_algorithm(series.technique, ledger, ledger.knowledge())
        if informed:
            knowledge = with_background(series.adversary_background, ledger, knowledge)
        try:
            findings = build_attack(name).run(ledger.history(), knowledge)
        except InvalidParameter:  # the source cannot be read, or not with the parameters of today
            continue
        numbers |= {f"exposed by {name}": float(findings.exposed), f"attacked by {name}": float(findings.of)}
        if UNEVEN in findings.extra:
            numbers[UNEVEN] = findings.extra[UNEVEN]
        if informed:
            extra = with_truth(findings, ledger, knowledge).extra
            numbers |= {gain: extra[gain] for gain in GAINS if gain in extra}
    return numbers
