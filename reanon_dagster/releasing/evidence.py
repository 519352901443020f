"""What can be shown of the releases so far: attacks and metrics, as numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.catalog import METRICS, build_attack
from reanon_core.model.errors import OutOfOrder
from reanon_core.model.ledger import Ledger
from reanon_dagster.releasing.adversary_knowledge import with_background
from reanon_dagster.releasing.finding_truth import worth
from reanon_dagster.releasing.judgement import Progress, silent
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

ATTACKS_AT_SCALE = ("intersection",)
"""The attacks that run on any size; the others are for `reanon audit`."""
METRICS_SHOWN = ("query-error", "gcp", "lm", "fem", "vem", "average-group-size", "discernibility")
"""The metrics that take less time than the release itself."""


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
            raise OutOfOrder(f"release {release} is not published: there is nothing to attack yet")
        schema = store_reader.known_schema(connection, series.schema)
        upto = records[: place + 1]
        ledger = Ledger(tuple(store_reader.entry(connection, record.position, schema) for record in upto))
    numbers: dict[str, float] = {}
    for name in ATTACKS_AT_SCALE:
        progress(f"attacking: {name}")
        found = build_attack(name).run(ledger.history(), ledger.knowledge())
        numbers |= {f"exposed by {name}": found.exposed, f"attacked by {name}": found.of}
    if hasattr(series.technique, "informed"):  # a technique that defends against background knowledge
        numbers |= _background(series, ledger, progress)
    rng = np.random.default_rng()
    for name in METRICS_SHOWN:
        progress(f"measuring: {name}")
        numbers[name] = METRICS[name]().measure(ledger.entries[-1], rng)
    history = tuple(
        ReleaseNumbers(record.release, entry.release.size, entry.release.boxes.count, entry.auxiliary.total)
        for record, entry in zip(upto, ledger.entries, strict=True)
    )
    return Evidence(numbers, history)


def _background(series: "Series", ledger: Ledger, progress: Progress) -> dict[str, float]:
    """What an adversary with the declared knowledge gains from all releases."""
    progress("attacking: background")
    knowledge = with_background(series, ledger, ledger.knowledge())
    found = worth(build_attack("background").run(ledger.history(), knowledge), ledger, knowledge)
    shown = ("adversary gain", "adversary confidence")
    counts = {"exposed by background": float(found.exposed), "attacked by background": float(found.of)}
    return counts | {name: found.extra[name] for name in shown}
