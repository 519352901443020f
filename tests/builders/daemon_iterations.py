"""A drill of backfills in one process, whose hash seed decides the order of Dagster's sets.

    PYTHONHASHSEED=N python -m builders.daemon_iterations SERIES HOME

Real iterations of the backfill daemon, real runs one after the other: all releases of a series in reverse, one of them
with a fault; then again with the fault corrected; then all once more. Prints what was launched and what Dagster shows.
"""

import json
import logging
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.execution.backfill import BULK_ACTION_TERMINAL_STATUSES, PartitionBackfill
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.test_utils import InProcessTestWorkspaceLoadTarget
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._daemon.backfill import execute_backfill_iteration

from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.series.series_file import load_series

CODE = """
import dagster as dg
from pathlib import Path
from reanon_dagster.definitions import series_definitions
from reanon_dagster.releasing import release_suites
release_suites.write_data_docs = lambda folder, *told: (folder / "index.html", set())  # which would cost seconds
definitions = dg.Definitions.merge(
    series_definitions(Path({path!r})), dg.Definitions(executor=dg.in_process_executor)
)
"""
SETTINGS = """
telemetry: {enabled: false}
run_coordinator: {module: dagster._core.run_coordinator, class: DefaultRunCoordinator}
run_launcher: {module: dagster._core.launcher.sync_in_memory_run_launcher, class: SyncInMemoryRunLauncher}
"""
TICKS = 40
CORRECTED = "corrected.csv"
"""Beside the series: what the wrong snapshot is replaced with."""


class Drill:
    """A series, an instance and a daemon that ticks when it is told to."""

    def __init__(self, path: Path, home: Path, stack: ExitStack) -> None:
        home.mkdir()
        (home / "dagster.yaml").write_text(SETTINGS)
        (home / "code.py").write_text(CODE.format(path=str(path)))
        self.assets = SeriesAssets(load_series(path), path)
        self.instance = stack.enter_context(dg.DagsterInstance.from_config(str(home)))
        target = LoadableTargetOrigin(python_file=str(home / "code.py"), attribute="definitions")
        origin = InProcessTestWorkspaceLoadTarget(InProcessCodeLocationOrigin(target))
        self.workspace = stack.enter_context(WorkspaceProcessContext(self.instance, origin))

    def backfill(self, name: str, keys: Sequence[str]) -> dict[str, Any]:
        """Launch the releases, tick until the backfill ends; what was launched, how it ended, what Dagster shows."""
        graph = self.workspace.create_request_context().asset_graph
        self.instance.add_backfill(
            PartitionBackfill.from_asset_partitions(
                backfill_id=name,
                asset_graph=graph,
                partition_names=list(keys),
                asset_selection=[self.assets.key("release")],
                backfill_timestamp=time.time(),
                tags={},
                dynamic_partitions_store=self.instance,
                all_partitions=False,
                title=None,
                description=None,
                run_config=None,
            )
        )
        for _ in range(TICKS):
            errors = [
                error for error in execute_backfill_iteration(self.workspace, logging.getLogger("drill")) if error
            ]
            assert not errors, errors
            found = self.instance.get_backfill(name)
            if found is not None and found.status in {*BULK_ACTION_TERMINAL_STATUSES}:
                return {"ended": found.status.value, "runs": self.runs(name), "colours": self.colours()}
        raise AssertionError(f"{name} does not end in {TICKS} ticks")

    def runs(self, backfill: str) -> list[tuple[str, str]]:
        """The runs of a backfill in the order in which they were launched."""
        found = self.instance.get_run_records(dg.RunsFilter(tags={"dagster/backfill": backfill}))
        found = sorted(found, key=lambda record: record.create_timestamp)
        return [(one.dagster_run.tags["dagster/partition"], one.dagster_run.status.value) for one in found]

    def colours(self) -> dict[str, str | None]:
        """What Dagster shows of each release."""
        keys = list(self.assets.partitions.get_partition_keys())
        found = self.instance.get_status_by_partition(self.assets.key("release"), keys, self.assets.partitions) or {}
        return {key: status and status.value for key, status in found.items() if status}


def main(path: Path, home: Path, releases: Sequence[str], wrong: str) -> None:
    """The drill."""
    logging.disable(logging.CRITICAL)
    with ExitStack() as stack:
        drill = Drill(path, home, stack)
        keys = [drill.assets.series.calendar.partition_key(release) for release in releases]
        told = {"first": drill.backfill("first", keys[::-1])}
        (path.parent / CORRECTED).rename(path.parent / "snapshots" / f"{wrong}.csv")
        told["second"] = drill.backfill("second", keys[: releases.index(wrong) - 1 : -1])
        told["again"] = drill.backfill("again", keys)
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[4:], sys.argv[3])
