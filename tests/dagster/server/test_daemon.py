"""Backfills through a running webserver and daemon, launched as the UI launches them."""

import shutil
from itertools import pairwise
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from builders.series import releases_in
from builders.server import Server

from reanon_dagster.cli import main

pytestmark = pytest.mark.server

MONTHS = [f"2024-{month:02d}" for month in range(1, 6)]
DAYS = [f"2024-{day}" for day in ("01-31", "02-29", "03-28", "04-30", "05-31", "06-28", "07-31", "08-30")]


def committed(series: Path) -> list[str]:
    """The releases in the store, by the time at which they were committed."""
    store = series / "private" / series.name / "store.duckdb"
    if not store.exists():
        return []
    with duckdb.connect(str(store), read_only=True) as connection:
        return [
            name for (name,) in connection.execute("SELECT release FROM private.releases ORDER BY committed").fetchall()
        ]


def out(series: Path) -> list[str]:
    folder = series / "published" / series.name
    return releases_in(folder)


def in_order_and_alone(server: Server, backfill: str, months: list[str]) -> None:
    """One run for each release, each after the end of the one before."""
    runs = server.runs(backfill)
    assert [run.partition for run in runs] == months
    assert all(before.end <= after.start for before, after in pairwise(runs))


def test_an_asset_backfill_of_5_releases_given_in_reverse_completes_in_order(
    server: Server, clinics: dict[str, Path], backfilled: tuple[str, str]
) -> None:
    backfill, status = backfilled
    assert status == "COMPLETED_SUCCESS"
    in_order_and_alone(server, backfill, MONTHS)
    assert committed(clinics["steady"]) == out(clinics["steady"]) == MONTHS
    assert all(server.check_result("steady", "m_invariance", month).success for month in MONTHS)
    assert main(["audit", str(clinics["steady"] / "series.yaml"), "--attack", "intersection", "--quiet"]) == 0


def test_after_a_release_that_fails_no_later_one_is_launched_and_the_next_backfill_continues_with_it(
    server: Server, clinics: dict[str, Path], halted: tuple[str, str]
) -> None:
    series, (backfill, status) = clinics["faulty"], halted
    assert status == "COMPLETED_FAILED"
    runs = server.runs(backfill)
    assert [(run.partition, run.status) for run in runs] == [
        *((day, "SUCCESS") for day in DAYS[:3]),
        (DAYS[3], "FAILURE"),
    ]
    assert "patient must be unique" in server.failure(runs[-1].id)
    assert committed(series) == out(series) == DAYS[:3]
    shutil.copy(series / "right.csv", series / "snapshots" / f"{DAYS[3]}.csv")
    second = server.backfill_assets("faulty", DAYS[4:2:-1])
    assert server.end_of(second, 600) == "COMPLETED_SUCCESS"
    in_order_and_alone(server, second, DAYS[3:5])
    assert committed(series) == out(series) == DAYS[:5]
    assert all(server.check_result("faulty", "m_invariance", day).success for day in DAYS[:5])


def test_a_job_backfill_launches_the_release_after_one_that_fails_too_and_it_is_skipped(
    server: Server, clinics: dict[str, Path]
) -> None:
    series, left = clinics["faulty"], DAYS[5:7]
    assert committed(series) == DAYS[:5], "continues the test before"
    snapshot = series / "snapshots" / f"{left[0]}.csv"
    right = pd.read_csv(snapshot)
    pd.concat([right, right.head(1)]).to_csv(snapshot, index=False)
    first = server.backfill_job("faulty", left)
    assert server.end_of(first, 600) == "COMPLETED_FAILED"
    runs = {run.partition: run for run in server.runs(first)}
    assert {day: run.status for day, run in runs.items()} == {left[0]: "FAILURE", left[1]: "SUCCESS"}
    assert "patient must be unique" in server.failure(runs[left[0]].id)
    assert runs[left[1]].tags["reanon/skipped"] == f"release {left[1]} waits for {left[0]}"
    assert committed(series) == out(series) == DAYS[:5]
    right.to_csv(snapshot, index=False)
    second = server.backfill_job("faulty", left)
    assert server.end_of(second, 600) == "COMPLETED_SUCCESS"
    in_order_and_alone(server, second, left)
    assert committed(series) == out(series) == DAYS[:7]


def test_a_backfill_ends_at_a_release_without_a_snapshot_which_says_so_and_no_partition_is_red(
    server: Server, clinics: dict[str, Path], skipped: tuple[str, str]
) -> None:
    backfill, status = skipped
    assert status == "COMPLETED_FAILED", "Dagster's word for a backfill that did not make all that it was launched for"
    runs = server.runs(backfill)
    assert [(run.partition, run.status) for run in runs] == [("2024-01", "SUCCESS"), ("2024-02", "SUCCESS")]
    assert "waits for its snapshot" in runs[-1].tags["reanon/skipped"]
    assert "waits for its snapshot" in server.observed("late", "2024-02")["skipped"]
    assert server.partition_ranges("late") == [("MATERIALIZED", "2024-01", "2024-01")]
    assert committed(clinics["late"]) == out(clinics["late"]) == MONTHS[:1]
    again = server.backfill_assets("late", ["2024-02"])
    assert server.end_of(again, 600) == "COMPLETED_SUCCESS", "the snapshot is there now"
    assert committed(clinics["late"]) == out(clinics["late"]) == MONTHS[:2]


def test_an_old_release_again_is_a_success_and_changes_nothing(
    server: Server, clinics: dict[str, Path], backfilled: tuple[str, str]
) -> None:
    series = clinics["steady"]
    files = {path: path.stat().st_mtime_ns for path in (series / "published").rglob("*")}
    run = server.end_of_run(server.launch_run("steady", {"dagster/partition": "2024-03"}), 300)
    assert run.status == "SUCCESS"
    assert server.partition_ranges("steady") == [("MATERIALIZED", MONTHS[0], MONTHS[-1])]
    assert {path: path.stat().st_mtime_ns for path in (series / "published").rglob("*")} == files
