"""The automation condition, chosen in series.yaml: the next landed release, and none after a failure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from builders.assets import QUIET, Maker
from builders.series import SERIES, lively, people, releases_in, write_series

from reanon_dagster.cli import main
from reanon_dagster.definitions import series_definitions

MONTHLY = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: monthly, first: 2024-01}")
CONDITION = "automation: condition\n"


@dataclass
class Daemon:
    """What the daemon does at a tick: it runs the sensor, stores what the sensor reports, evaluates the condition."""

    maker: Maker
    cursor: str | None = None
    evaluated: Any = None
    told: list[str] = field(default_factory=list)

    def tick(self) -> list[str]:
        """The releases that the condition requests."""
        definitions, instance = series_definitions(self.maker.path), self.maker.instance
        repository = definitions.get_repository_def()
        context = dg.build_sensor_context(
            instance, self.cursor, repository_def=repository, resources=repository.get_top_level_resources()
        )
        reported = repository.get_sensor_def("clinic_snapshot_landed").evaluate_tick(context)
        assert not reported.run_requests
        for event in reported.asset_events:
            instance.report_runless_asset_event(event)
        self.cursor = reported.cursor or self.cursor
        self.told.append(reported.skip_message or "")
        selection = dg.AssetSelection.assets(self.maker.key("release"))
        result = dg.evaluate_automation_conditions(definitions, instance, selection, cursor=self.evaluated)
        self.evaluated = result.cursor
        return sorted(result.get_requested_partitions(self.maker.key("release")))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def make(maker: Maker, release: str) -> dg.ExecuteInProcessResult:
    """Run a release as the daemon does for a condition."""
    job = series_definitions(maker.path).resolve_job_def("clinic_release")
    tags = {"dagster/from_automation_condition": "true"}
    return job.execute_in_process(
        partition_key=release, instance=maker.instance, tags=tags, run_config=QUIET, raise_on_error=False
    )


@pytest.mark.parametrize(
    "text", [pytest.param(MONTHLY, id="time windows"), pytest.param(SERIES, id="names", marks=pytest.mark.slow)]
)
def test_the_next_landed_release_is_requested_and_none_after_a_failure(
    tmp_path: Path, instance: dg.DagsterInstance, text: str
) -> None:
    releases = [f"2024-0{number}" for number in range(1, 5)] if text is MONTHLY else ["r1", "r2", "r3", "r4"]
    frames = dict(zip(releases, lively(4, 60).values(), strict=True))
    path = write_series(tmp_path, text=text + CONDITION, snapshots={releases[0]: frames[releases[0]]})
    maker = Maker(path, instance)
    daemon = Daemon(maker)

    def land(release: str, frame: pd.DataFrame) -> None:
        frame.to_csv(tmp_path / "snapshots" / f"{release}.csv", index=False)

    assert daemon.tick() == releases[:1]
    assert make(maker, releases[0]).success
    assert daemon.tick() == daemon.tick() == []
    assert "waits for its snapshot" in daemon.told[-1]
    for release in releases[1:]:
        land(release, frames[release])
    land(releases[1], people(60, seed=9).assign(disease="flu"))  # all have landed, and the next one is wrong
    (tmp_path / "snapshots" / f"{releases[0]}.csv").unlink()
    assert daemon.tick() == releases[1:2]
    assert make(maker, releases[0]).success  # it is published: nothing to do, though its snapshot is gone
    assert not make(maker, releases[1]).success
    assert daemon.tick() == daemon.tick() == []
    land(releases[1], frames[releases[1]])
    assert daemon.tick() == releases[1:2]  # the corrected snapshot is tried
    assert make(maker, releases[1]).success
    assert daemon.tick() == releases[2:3]
    assert releases_in(tmp_path / "published" / "clinic") == releases[:2]


def test_a_release_that_a_command_published_is_waited_for_until_it_is_materialized_once(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    maker = Maker(write_series(tmp_path, text=SERIES + CONDITION, snapshots=lively(2, 60)), instance)
    assert main(["publish", str(maker.path), "--quiet"]) == 0
    daemon = Daemon(maker)
    assert daemon.tick() == daemon.tick() == []
    assert maker.make("r1").success
    assert daemon.tick() == ["r2"]


def test_a_series_has_no_condition_unless_its_file_chooses_one(tmp_path: Path) -> None:
    for name, text, sensors in (
        ("chosen", SERIES + CONDITION, ["clinic_automation", "clinic_ledger", "clinic_snapshot_landed"]),
        ("not", SERIES, ["clinic_ledger", "clinic_snapshot_landed"]),
    ):
        repository = series_definitions(write_series(tmp_path / name, text=text)).get_repository_def()
        node = repository.asset_graph.get(dg.AssetKey(["clinic", "release"]))
        assert (node.automation_condition is not None) == (name == "chosen")
        assert sorted(one.name for one in repository.sensor_defs) == sensors
        running = [one.name for one in repository.sensor_defs if one.default_status is dg.DefaultSensorStatus.RUNNING]
        assert running == ["clinic_ledger"]
