"""Releases that no backfill asks for: a sensor, a schedule, one run, and Dagster's own command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from builders.deployment import ROOT
from builders.series import releases_in
from builders.server import MODULE, Server, where

pytestmark = pytest.mark.server

START = """mutation($sensor: SensorSelector!) { startSensor(sensorSelector: $sensor) {
  __typename ... on Sensor { sensorState { id } } ... on PythonError { message } } }"""
STOP = "mutation($id: String!) { stopSensor(id: $id) { __typename } }"
TICK = """mutation($schedule: ScheduleSelector!, $time: Float!) {
  scheduleDryRun(selectorData: $schedule, timestamp: $time) { __typename ... on DryRunInstigationTick {
    evaluationResult { skipReason runRequests { runKey jobName tags { key value } } } } } }"""
SERIES = "late"


def out(series: Path) -> list[str]:
    folder = series / "published" / series.name
    return releases_in(folder)


def waiting(series: Path) -> str:
    """The next release of the series."""
    return f"2024-{len(out(series)) + 1:02d}"


def test_the_sensor_requests_exactly_the_next_release_whose_snapshot_has_landed(
    server: Server, clinics: dict[str, Path], skipped: tuple[str, str]
) -> None:
    before, release = out(clinics[SERIES]), waiting(clinics[SERIES])
    name = f"{SERIES}_snapshot_landed"
    sensor = server.ask(START, sensor={**where(), "sensorName": name})["startSensor"]
    assert sensor["__typename"] == "Sensor", sensor
    tag = [{"key": "dagster/sensor_name", "value": name}]
    found = server.wait(lambda: server.find_runs(tags=tag) or None, 180, "the sensor to request a run")
    server.ask(STOP, id=sensor["sensorState"]["id"])
    assert [run.partition for run in found] == [release]
    assert server.end_of_run(found[0].id, 300).status == "SUCCESS"
    assert out(clinics[SERIES]) == [*before, release]


def test_what_the_schedule_requests_at_its_hour_publishes_the_next_release(
    server: Server, clinics: dict[str, Path]
) -> None:
    before, release = out(clinics[SERIES]), waiting(clinics[SERIES])
    schedule = {**where(), "scheduleName": f"{SERIES}_cadence"}
    told = server.ask(TICK, schedule=schedule, time=1735711200.0)["scheduleDryRun"]  # 2025-01-01, 6 o'clock UTC
    (request,) = told["evaluationResult"]["runRequests"]
    tags = {tag["key"]: tag["value"] for tag in request["tags"]}
    assert tags["dagster/partition"] == release
    assert request["runKey"].startswith(f"{SERIES}:{release}:")
    assert server.end_of_run(server.launch_run(SERIES, tags), 300).status == "SUCCESS"
    assert out(clinics[SERIES]) == [*before, release]


def test_the_command_of_dagster_materializes_the_next_release(server: Server, clinics: dict[str, Path]) -> None:
    before, release = out(clinics[SERIES]), waiting(clinics[SERIES])
    words = ["asset", "materialize", "-m", MODULE, "--select", f"{SERIES}/release", "--partition", release]
    own = {"DAGSTER_HOME": str(server.home), "REANON_SERIES": str(clinics[SERIES]), "PYTHONWARNINGS": ""}
    made = subprocess.run(
        [sys.executable, "-m", "dagster", *words],
        cwd=ROOT,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert out(clinics[SERIES]) == [*before, release]


def test_several_releases_in_one_run_are_refused_and_nothing_is_published(
    server: Server, clinics: dict[str, Path]
) -> None:
    before = out(clinics[SERIES])
    ends = {"dagster/asset_partition_range_start": "2024-05", "dagster/asset_partition_range_end": "2024-08"}
    run = server.end_of_run(server.launch_run(SERIES, ends), 300)
    assert run.status == "FAILURE"
    assert "one run makes one release, and this run asks for 2024-05 to 2024-08" in server.failure(run.id)
    assert out(clinics[SERIES]) == before
