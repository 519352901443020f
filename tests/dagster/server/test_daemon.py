"""Backfills through a running webserver and daemon, launched as the UI launches them."""

from itertools import pairwise
from pathlib import Path

import dagster as dg
import duckdb
import pandas as pd
import pytest
from builders.server import Server

from reanon_dagster.cli import main

pytestmark = pytest.mark.server

MONTHS = [f"2024-{month:02d}" for month in range(1, 9)]


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
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def recorded(server: Server, asset: str, check: str) -> dict[str, str]:
    """The latest answer of a check for each partition."""
    key = dg.AssetCheckKey(dg.AssetKey(asset.split("/")), check)
    with dg.DagsterInstance.from_config(str(server.home)) as instance:
        history = instance.event_log_storage.get_asset_check_execution_history(key, limit=100)
        answers = [record for record in history if record.status.value in {"SUCCEEDED", "FAILED"}]
        return {str(record.partition): record.status.value for record in reversed(answers)}


def in_order_and_alone(server: Server, backfill: str, months: list[str]) -> None:
    """One run for each release, each after the end of the one before."""
    runs = server.runs(backfill)
    assert [run.partition for run in runs] == months
    assert all(before.end <= after.start for before, after in pairwise(runs))


def test_an_asset_backfill_of_8_releases_given_in_reverse_completes_in_order(
    server: Server, clinics: dict[str, Path], backfilled: tuple[str, str]
) -> None:
    backfill, status = backfilled
    assert status == "COMPLETED_SUCCESS"
    in_order_and_alone(server, backfill, MONTHS)
    assert committed(clinics["steady"]) == out(clinics["steady"]) == MONTHS
    assert recorded(server, "steady/release", "m_invariance") == dict.fromkeys(MONTHS, "SUCCEEDED")
    assert main(["audit", str(clinics["steady"] / "series.yaml"), "--attack", "intersection", "--quiet"]) == 0


def test_after_a_release_that_fails_no_later_one_is_launched_and_the_backfill_goes_on_when_it_is_corrected(
    server: Server, clinics: dict[str, Path]
) -> None:
    series = clinics["faulty"]
    snapshot = series / "snapshots" / "2024-04.csv"
    right = pd.read_csv(snapshot)
    pd.concat([right, right.head(1)]).to_csv(snapshot, index=False)  # somebody is there twice
    first = server.backfill_assets("faulty", MONTHS[::-1])
    assert server.end_of(first, 300) == "COMPLETED_FAILED"
    assert committed(series) == out(series) == MONTHS[:3]
    assert [(run.partition, run.status) for run in server.runs(first)] == [
        *((month, "SUCCESS") for month in MONTHS[:3]),
        ("2024-04", "FAILURE"),
    ]
    right.to_csv(snapshot, index=False)
    second = server.backfill_assets("faulty", MONTHS[:2:-1])
    assert server.end_of(second, 300) == "COMPLETED_SUCCESS"
    in_order_and_alone(server, second, MONTHS[3:])
    assert committed(series) == out(series) == MONTHS
    assert recorded(server, "faulty/release", "m_invariance") == dict.fromkeys(MONTHS, "SUCCEEDED")


def test_a_backfill_skips_a_release_without_a_snapshot_takes_it_later_and_refuses_to_change_it_afterwards(
    server: Server, clinics: dict[str, Path]
) -> None:
    series, months = clinics["late"], MONTHS[:3]
    snapshot = series / "snapshots" / "2024-02.csv"
    snapshot.rename(series / "kept.csv")
    skipped = server.backfill_assets("late", months)
    assert server.end_of(skipped, 300) == "CANCELED"
    assert [(run.partition, run.status) for run in server.runs(skipped)] == [
        ("2024-01", "SUCCESS"),
        ("2024-02", "SUCCESS"),
    ]
    assert "waits for its snapshot" in server.runs(skipped)[-1].tags["reanon/skipped"]
    assert committed(series) == out(series) == months[:1]
    first = server.backfill_job("late", months[1:])
    assert server.end_of(first, 300) == "COMPLETED_FAILED"
    assert [run.status for run in server.runs(first)] == ["SUCCESS", "FAILURE"]
    assert committed(series) == out(series) == months[:1]
    (series / "kept.csv").rename(snapshot)
    second = server.backfill_job("late", months[1:])
    assert server.end_of(second, 300) == "COMPLETED_SUCCESS"
    in_order_and_alone(server, second, months[1:])
    assert committed(series) == out(series) == months
    latest = series / "snapshots" / f"{months[-1]}.csv"
    pd.read_csv(latest).iloc[1:].to_csv(latest, index=False)
    third = server.backfill_job("late", months[-1:])
    assert server.end_of(third, 120) == "COMPLETED_FAILED"
    assert "make the correction in the next release" in server.refusal(third)
    assert committed(series) == months


def test_an_old_release_in_a_backfill_is_refused_and_changes_nothing(
    server: Server, clinics: dict[str, Path], backfilled: tuple[str, str]
) -> None:
    series = clinics["steady"]
    files = {path: path.stat().st_mtime_ns for path in (series / "published").rglob("*")}
    backfill = server.backfill_assets("steady", ["2024-03"])
    assert server.end_of(backfill, 120) == "COMPLETED_FAILED"
    assert "2024-03 is frozen" in server.refusal(backfill)
    assert {path: path.stat().st_mtime_ns for path in (series / "published").rglob("*")} == files
