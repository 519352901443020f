"""The sensor that keeps Dagster in agreement with the ledger, and ends runs whose process is gone."""

import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from builders.assets import FILLED, QUIET, Maker, said
from builders.series import correct, lively, people, write_series

from reanon_dagster.assets.run_process import SERIES, TAG, this_process
from reanon_dagster.cli import main
from reanon_dagster.definitions import series_definitions
from reanon_dagster.releasing.release_order import Status, statuses
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.resources import ENVIRONMENT
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import published_folder

COLOURS = {Status.PUBLISHED: "MATERIALIZED", Status.WITHDRAWN: "FAILED", Status.REFUSED: "FAILED"}


@pytest.fixture
def maker(tmp_path: Path) -> Iterator[Maker]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Maker(write_series(tmp_path, snapshots=lively(3, 72)), instance)


def tick(maker: Maker) -> list[dg.RunRequest] | str:
    """What the daemon does at a tick: it evaluates the sensor and stores what the sensor reports."""
    repository = series_definitions(maker.path).get_repository_def()
    resources = repository.get_top_level_resources()
    context = dg.build_sensor_context(maker.instance, repository_def=repository, resources=resources)
    told = repository.get_sensor_def("clinic_ledger").evaluate_tick(context)
    for event in told.asset_events:
        maker.instance.report_runless_asset_event(event)
    return list(told.run_requests or []) or str(told.skip_message)


def colours(maker: Maker, asset: str = "release") -> dict[str, str | None]:
    """What Dagster shows of each release."""
    graph = series_definitions(maker.path).get_repository_def().asset_graph
    partitions = graph.get(maker.key(asset)).partitions_def
    keys = list(partitions.get_partition_keys())
    found = maker.instance.get_status_by_partition(maker.key(asset), keys, partitions) or {}
    return {key: status and status.value for key, status in found.items()}


def ledger(maker: Maker) -> dict[str, str | None]:
    """What `reanon status` says of each release, as colours."""
    series = load_series(maker.path)
    summary = read_view(series).summary
    listed = statuses(series, summary.records, summary.refusals, ENVIRONMENT.day())
    return {one.release: COLOURS.get(one.status) for one in listed}


def command(*words: object) -> None:
    assert main([*map(str, words), "--quiet"]) == 0


def run_as_requested(maker: Maker, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    job = series_definitions(maker.path).resolve_job_def("clinic_release")
    return job.execute_in_process(
        partition_key=request.partition_key,
        instance=maker.instance,
        tags=dict(request.tags),
        run_config=QUIET,
        raise_on_error=False,
    )


def test_releases_of_a_command_become_green_with_their_figures_and_are_reported_once(maker: Maker) -> None:
    command("backfill", maker.path, "--to", "r2")
    tick(maker)
    green = dict.fromkeys(("r1", "r2"), "MATERIALIZED")
    assert colours(maker) == ledger(maker) == {**green, **dict.fromkeys(("r3", "r4", "r5"))}
    for asset in FILLED:
        assert maker.made(asset) == ["r1", "r2"]
        assert list(colours(maker, asset).values())[:2] == ["MATERIALIZED"] * 2
    assert maker.metadata("release")["dagster/row_count"].value >= 72
    key = dg.AssetCheckKey(maker.key("release"), "m_invariance")
    history = maker.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert [(one.partition, one.status.value) for one in history] == [("r2", "SUCCEEDED"), ("r1", "SUCCEEDED")]
    assert tick(maker) == "Dagster shows what the ledger has"
    assert maker.made("release") == ["r1", "r2"]


def test_evidence_that_was_reported_without_attacks_is_computed_when_the_release_is_materialized(maker: Maker) -> None:
    command("publish", maker.path)
    tick(maker)
    assert "not run" in str(maker.metadata("evidence")["attacks"].value)
    assert maker.make("r1").success
    assert maker.metadata("evidence")["people exposed by intersection"].value == 0
    assert tick(maker) == "Dagster shows what the ledger has"


def test_a_published_release_that_a_later_run_painted_red_is_green_again(maker: Maker, tmp_path: Path) -> None:
    assert maker.make("r1").success
    right = (tmp_path / "snapshots" / "r1.csv").read_bytes()
    correct(tmp_path, "r1", people(72))
    assert "restore the original" in maker.refusal("r1")
    assert colours(maker)["r1"] == "FAILED"
    (tmp_path / "snapshots" / "r1.csv").write_bytes(right)
    tick(maker)
    assert colours(maker) == ledger(maker)


def test_a_materialization_without_metadata_is_repaired(maker: Maker) -> None:
    command("publish", maker.path)
    maker.instance.report_runless_asset_event(dg.AssetMaterialization(maker.key("release"), partition="r1"))
    assert colours(maker)["r1"] == "MATERIALIZED"
    tick(maker)
    assert "manifest digest" in maker.metadata("release")


def test_a_withdrawn_release_turns_red_and_says_when_it_was_withdrawn(maker: Maker) -> None:
    for release in ("r1", "r2"):
        assert maker.make(release).success
    command("withdraw", maker.path, "--release", "r2", "--because", "a wrong column")
    for again in (False, True):
        if again:  # a person backfills everything once more, and later releases wait for this one
            assert "r2 was withdrawn on" in maker.refusal("r2")
            request = dg.RunRequest(partition_key="r2", tags={"dagster/backfill": "all"})
            assert run_as_requested(maker, request).success
            assert str(maker.metadata("release")["withdrawn"].value).startswith("on 20")
        (request,) = tick(maker)
        assert request.partition_key == "r2"
        assert "r2 was withdrawn on" in said(run_as_requested(maker, request))
        assert colours(maker) == ledger(maker)
        assert tick(maker) == "Dagster shows what the ledger has"
    assert maker.make("r3").success
    assert colours(maker) == ledger(maker)


def test_a_withdrawn_release_of_a_command_is_not_shown_as_published(maker: Maker) -> None:
    command("publish", maker.path)
    command("withdraw", maker.path, "--release", "r1", "--because", "a wrong column")
    assert tick(maker) == "Dagster shows what the ledger has"
    assert colours(maker) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_run_whose_process_is_gone_is_ended_and_one_that_works_is_not(maker: Maker) -> None:
    own = this_process()
    assert own is not None
    node, boot, process, begun = own.split(" ")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    told = {
        own: "STARTED",
        f"elsewhere {boot} {process} {begun}": "STARTED",
        f"{node} {boot} {ended.pid} 1": "CANCELED",
        f"{node} {boot} {process} 1": "CANCELED",  # another process has its number now
        f"{node} another-boot {process} {begun}": "CANCELED",  # the machine was started again
    }
    runs = {one: begin_run(maker, one) for one in told}
    tick(maker)
    found = {one: maker.instance.get_run_by_id(run) for one, run in runs.items()}
    assert {one: run and run.status.value for one, run in found.items()} == told


def begin_run(maker: Maker, process: str) -> str:
    """A run that has started and never ends."""
    job = series_definitions(maker.path).resolve_job_def("clinic_release")
    run = maker.instance.create_run_for_job(
        job, tags={TAG: process, SERIES: "clinic"}, status=dg.DagsterRunStatus.STARTED
    )
    return run.run_id


def test_a_disk_that_is_full_after_the_commit_leaves_a_red_release_until_its_files_are_out(
    maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(published_folder, "move_to_public", full)
        for _ in range(2):
            assert "No space left on device" in maker.refusal("r1")
        assert "No space left on device" in tick(maker)
        assert colours(maker)["r1"] == "FAILED"
    tick(maker)
    assert colours(maker) == ledger(maker)
    assert colours(maker)["r1"] == "MATERIALIZED"


def test_the_button_reports_the_same_as_the_sensor(maker: Maker) -> None:
    command("publish", maker.path)
    job = series_definitions(maker.path).resolve_job_def("clinic_ledger")
    assert job.execute_in_process(instance=maker.instance, run_config=QUIET).success
    assert colours(maker) == ledger(maker) | dict.fromkeys(("r4", "r5"))
    assert tick(maker) == "Dagster shows what the ledger has"


def test_a_store_that_cannot_be_opened_is_the_reason_for_reporting_nothing(maker: Maker) -> None:
    command("publish", maker.path)
    (maker.path.parent / "private" / "clinic" / "store.duckdb").write_bytes(b"no store")
    assert "the private store" in str(tick(maker))
