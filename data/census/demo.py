"""`make demo`: eight quarterly releases of a synthetic census, and what an adversary learns from them.

Beside reanon's releases it makes the naive ones: the same technique with an empty state at every release, so that every
release is m-unique and nothing is remembered.
"""

import subprocess
import sys
from datetime import date
from pathlib import Path

import dagster as dg
import numpy as np

from reanon_core.catalog import build_attack
from reanon_core.metrics.query_error import CountingQueryError
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.replay import replay
from reanon_dagster.commands.output import progress, say, table
from reanon_dagster.definitions import series_definitions
from reanon_dagster.releasing.frozen_settings import continued
from reanon_dagster.releasing.release_order import ready_release
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

HERE = Path(__file__).parent
RELEASES = [f"{year}-Q{quarter}" for year in (2024, 2025) for quarter in (1, 2, 3, 4)]
HEADINGS = (
    "release", "rows", "new", "deleted", "groups", "counterfeits", "vulnerable", "vulnerable, naive", "query error",
    "verdicts",
)  # fmt: skip


def main() -> int:
    """Generate what is missing, publish what is due, print the table."""
    if not all((HERE / "snapshots" / f"{release}.csv").exists() for release in RELEASES):
        say("writing 8 snapshots of 20,000 synthetic people", quiet=False)
        generate = [sys.executable, str(HERE / "generate.py"), "--out", str(HERE / "snapshots")]
        subprocess.run(generate, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  our own script
    series = continued(load_series(HERE / "series.yaml"))
    publish(series)
    with progress("attacking both series", quiet=False):
        rows = summary(series)
    table(HEADINGS, rows, quiet=False, title=f"{series.title}, m = {series.parameters['m']}")
    say("vulnerable: people whose value an intersection of the releases so far leaves certain", quiet=False)
    say("the releases are in data/census/published, the steward's own files in data/census/private", quiet=False)
    return 0


def publish(series: Series) -> None:
    """Publish every release that can run, through the assets, so that `make ui` shows the runs."""
    say(f"publishing {len(RELEASES)} releases through Dagster: judged, published, attacked, measured", quiet=False)
    job = series_definitions(HERE / "series.yaml").resolve_job_def(f"{series.name}_release")
    quiet = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
    with dg.DagsterInstance.get() as instance, progress(series.name, quiet=False) as step:
        while (release := ready_release(series, read_view(series).records, date.today())) is not None:  # noqa: DTZ011
            step(release)
            key = series.calendar.partition_key(release)
            job.execute_in_process(partition_key=key, instance=instance, run_config=quiet)
            record = read_view(series).records[-1]
            say(f"published {release}: {record.people:,} people", quiet=False)


def summary(series: Series) -> list[tuple[str, ...]]:
    """A line for each release."""
    with opened(series.private_folder, read_only=True) as connection:
        records = store_reader.releases(connection)
        ledger = store_reader.ledger(connection, series.schema)
        held = [all(v.holds for v in store_reader.verdicts(connection, record.position)) for record in records]
    snapshots = [entry.snapshot for entry in ledger.entries]
    naive = replay(series.technique, snapshots, np.random.default_rng(0), memory=False)
    metric, rng = CountingQueryError(), np.random.default_rng(0)
    lines, before = [], np.empty(0, np.int64)
    for number, (record, entry) in enumerate(zip(records, ledger.entries, strict=True), start=1):
        here = entry.snapshot.persons
        lines.append(
            (
                record.release,
                f"{entry.release.size:,}",
                f"{np.setdiff1d(here, before).size:,}",
                f"{np.setdiff1d(before, here).size:,}",
                f"{entry.release.boxes.count:,}",
                f"{entry.auxiliary.total:,}",
                f"{vulnerable(ledger, number):,}",
                f"{vulnerable(naive, number):,}",
                f"{metric.measure(entry, rng):.1%}",
                "hold" if held[number - 1] else "FAIL",
            )
        )
        before = here
    return lines


def vulnerable(ledger: Ledger, releases: int) -> int:
    """How many people the first so many releases expose to an intersection."""
    history, knowledge = ledger.history(), ledger.knowledge()
    shown = History(history.schema, history.releases[:releases])
    return build_attack("intersection").run(shown, Knowledge(knowledge.presences[:releases])).exposed


if __name__ == "__main__":
    sys.exit(main())
