"""The assets, run in process: what they record, what they refuse, and what they never say."""

import sys
import time
from datetime import date
from pathlib import Path

import dagster as dg
import numpy as np
import pandas as pd
import pytest
from builders.assets import FILLED, QUIET, Maker, checked, said, severities
from builders.faults import Forgetful
from builders.series import correct, ineligible, lively, people, releases_in, write_series

from reanon_core import __version__
from reanon_dagster.assets.described import known_version
from reanon_dagster.cli import main
from reanon_dagster.definitions import series_definitions
from reanon_dagster.releasing.release import publish_release
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series_file import load_series

JUDGES = {"well_formedness", "k_anonymity", "l_diversity", "m_uniqueness", "m_invariance"}
SNAPSHOT = {"valid", "drift", "eligibility"}
TODAY = date(2030, 1, 1)


def published(folder: Path) -> list[str]:
    there = folder / "published" / "clinic"
    return releases_in(there)


def committed(maker: Maker) -> list[tuple[int, str, str]]:
    return [
        (record.position, record.release, record.manifest_digest)
        for record in read_view(load_series(maker.path)).records
    ]


def test_every_release_is_published_in_one_run_and_all_its_checks_are_recorded(maker: Maker, tmp_path: Path) -> None:
    for release in ("r1", "r2", "r3"):
        result = maker.make(release)
        assert result.success
        assert checked(result) == dict.fromkeys({*SNAPSHOT, "audit", *JUDGES}, True)
        assert {one.partition for one in result.get_asset_check_evaluations()} == {release}
    assert published(tmp_path) == ["r1", "r2", "r3"]
    for asset in ("release", *FILLED):
        assert maker.made(asset) == ["r1", "r2", "r3"]
    for name in JUDGES:
        key = dg.AssetCheckKey(maker.key("release"), name)
        history = maker.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
        assert [record.partition for record in history] == ["r3", "r2", "r1"]
        assert {record.status.value for record in history} == {"SUCCEEDED"}


def test_a_published_release_again_is_a_success_at_any_position_and_nothing_downstream_is_filled_again(
    maker: Maker, tmp_path: Path
) -> None:
    maker.make("r1")
    maker.make("r2")
    before, manifest = committed(maker), tmp_path / "published" / "clinic" / "r1" / "manifest.json"
    written = manifest.stat().st_mtime_ns
    for gone in (False, True):
        if gone:
            (tmp_path / "snapshots" / "r1.csv").unlink()
        result = maker.make("r1")
        assert result.success
        assert checked(result) == dict.fromkeys({*SNAPSHOT, "audit", *JUDGES}, True)
        told = maker.metadata("release")
        assert told["release"].value == "r1"
        assert told["nothing to do"].value == "published, same snapshot"
    assert maker.made("release") == ["r1", "r2", "r1", "r1"]
    for asset in FILLED:
        assert maker.made(asset) == ["r1", "r2"]
    assert committed(maker) == before
    assert manifest.stat().st_mtime_ns == written


def test_every_materialization_has_the_digest_of_the_manifest_as_its_data_version_and_a_code_version(
    maker: Maker,
) -> None:
    maker.make("r1")
    (_, _, digest), *_ = committed(maker)
    for asset in ("release", *FILLED):
        assert known_version(maker.instance, maker.key(asset), "r1") == digest
        node = series_definitions(maker.path).get_repository_def().asset_graph.get(maker.key(asset))
        assert node.code_version == __version__


def test_checks_that_were_declared_or_removed_after_a_release_are_told_apart_from_failures(maker: Maker) -> None:
    text = maker.path.read_text()
    maker.path.write_text(f"{text}checks: [{{name: t-closeness, t: 0.9}}]\n")
    assert maker.make("r1").success
    maker.path.write_text(f"{text}checks: [{{name: k-over-history, k: 2}}]\n")
    result = maker.make("r1")
    assert result.success
    assert checked(result) == dict.fromkeys({*SNAPSHOT, "audit", *JUDGES}, True)
    told = maker.metadata("release")
    assert told["checks declared later, not judged"].value == "k_over_history"
    assert told["checks declared no longer"].value == "t_closeness"
    key = dg.AssetCheckKey(maker.key("release"), "k_over_history")
    history = maker.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert [record.status.value for record in history] == ["PLANNED"]  # which Dagster shows as skipped, not as failed


def test_the_latest_release_again_describes_what_a_run_that_was_cut_short_did_not(maker: Maker) -> None:
    maker.make("r1")
    assert main(["publish", str(maker.path), "--quiet"]) == 0
    assert maker.made("state") == ["r1"]
    assert maker.make("r2").success
    assert maker.made("state") == maker.made("evidence") == ["r1", "r2"]


def test_a_release_that_waits_is_skipped_with_the_reason_on_its_page_and_without_check_results(
    maker: Maker, tmp_path: Path
) -> None:
    (tmp_path / "snapshots" / "r1.csv").unlink()
    reason = "release r1 waits for its snapshot snapshots/r1.csv"
    result = maker.make("r1")
    assert result.success
    assert checked(result) == {}
    assert maker.made("release") == []
    (seen,) = maker.instance.fetch_observations(maker.key("release"), limit=10).records
    observation = seen.asset_observation
    assert observation is not None
    assert observation.metadata["skipped"].value == reason
    (run,) = maker.instance.get_runs()
    assert run.tags["reanon/skipped"] == reason


def test_in_a_backfill_a_release_whose_turn_has_not_come_is_skipped_and_says_what_it_waits_for(maker: Maker) -> None:
    job = series_definitions(maker.path).resolve_job_def("clinic_release")
    tags = {"dagster/backfill": "all"}
    result = job.execute_in_process(partition_key="r2", instance=maker.instance, tags=tags, run_config=QUIET)
    assert result.success
    assert checked(result) == {}
    (run,) = maker.instance.get_runs()
    assert run.tags["reanon/skipped"] == "release r2 waits for r1"


def test_a_release_may_be_made_without_its_checks_being_asked_for(maker: Maker, tmp_path: Path) -> None:
    release = dg.AssetSelection.assets(maker.key("release")).without_checks()
    definitions = series_definitions(maker.path)
    alone = dg.define_asset_job("alone", selection=release)
    job = dg.Definitions.merge(definitions, dg.Definitions(jobs=[alone])).resolve_job_def("alone")
    for _ in range(2):
        result = job.execute_in_process(partition_key="r1", instance=maker.instance, run_config=QUIET)
        assert result.success
        assert checked(result) == {}
    assert published(tmp_path) == ["r1"]


def test_the_checks_of_a_release_alone_publish_nothing_and_are_the_stored_ones_of_a_published_release(
    maker: Maker, tmp_path: Path
) -> None:
    only = {dg.AssetCheckKey(maker.key("release"), "m_invariance")}
    job = series_definitions(maker.path).resolve_implicit_global_asset_job_def().get_subset(asset_check_selection=only)
    for released in ([], ["r1"]):
        if released:
            maker.make("r1")
        result = job.execute_in_process(partition_key="r1", instance=maker.instance, run_config=QUIET)
        assert checked(result) == {"m_invariance": True}
        assert published(tmp_path) == maker.made("release") == released


def test_the_latest_release_from_another_snapshot_is_refused_with_the_way_out(maker: Maker, tmp_path: Path) -> None:
    maker.make("r1")
    before = committed(maker)
    correct(tmp_path, "r1", people(120))
    refusal = maker.refusal("r1")
    assert "restore the original" in refusal
    assert "make the correction in the next release" in refusal
    assert committed(maker) == before
    assert maker.made("release") == ["r1"]


def test_a_release_before_its_turn_is_refused_and_its_checks_are_not_judged(maker: Maker, tmp_path: Path) -> None:
    maker.make("r1")
    result = maker.make("r3")
    assert "r3 cannot be published before r2;" in said(result)
    assert severities(result) == dict.fromkeys({*SNAPSHOT, *JUDGES}, "WARN")
    told = {one.description for one in result.get_asset_check_evaluations()}
    assert told == {f"not judged: {said(result)}"}
    assert maker.made("release") == maker.made("snapshot") == ["r1"]
    assert published(tmp_path) == ["r1"]


def test_a_release_may_be_looked_at_before_it_is_published(maker: Maker, tmp_path: Path) -> None:
    looked = maker.make("r1", config={"look_only": True})
    assert looked.success
    assert checked(looked) == dict.fromkeys({*SNAPSHOT, *JUDGES}, True)
    assert maker.made("release") == maker.made("state") == []
    assert published(tmp_path) == []
    assert committed(maker) == []
    assert maker.make("r1").success
    assert published(tmp_path) == ["r1"]


def test_several_releases_in_one_run_are_refused_with_the_way_out_and_a_range_of_one_is_made(
    maker: Maker, tmp_path: Path
) -> None:
    job = series_definitions(maker.path).resolve_job_def("clinic_release")

    def make(start: str, end: str) -> dg.ExecuteInProcessResult:
        tags = {"dagster/asset_partition_range_start": start, "dagster/asset_partition_range_end": end}
        return job.execute_in_process(instance=maker.instance, tags=tags, run_config=QUIET, raise_on_error=False)

    several = make("r1", "r3")
    assert said(several) == (
        "one run makes one release, and this run asks for r1 to r3; "
        "launch a backfill with one run for each partition, or run `reanon backfill`"
    )
    assert severities(several) == dict.fromkeys({*SNAPSHOT, *JUDGES}, "WARN")
    assert published(tmp_path) == []
    assert make("r1", "r1").success
    assert maker.made("release") == maker.made("state") == ["r1"]


def test_a_planted_fault_fails_its_check_publishes_nothing_and_holds_the_next_release_back(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as faulty:
        faulty.setitem(sys.modules["reanon_core.catalog"].TECHNIQUES, "m-invariance", Forgetful)
        assert maker.make("r1").success
        result = maker.make("r2")
        assert not result.success
        assert "m-invariance fails" in said(result)
        evaluations = {one.check_name: one for one in result.get_asset_check_evaluations()}
        assert {name for name, one in evaluations.items() if not one.passed} == {"m_invariance"}
        assert evaluations["m_invariance"].partition == "r2"
        assert evaluations["m_invariance"].severity is dg.AssetCheckSeverity.ERROR
        assert evaluations["m_invariance"].metadata["violations"].value > 0
        assert "r3 cannot be published before r2;" in maker.refusal("r3")
    assert published(tmp_path) == ["r1"]
    assert [release for _, release, _ in committed(maker)] == ["r1"]
    assert maker.made("release") == maker.made("state") == ["r1"]
    key = dg.AssetCheckKey(maker.key("release"), "m_invariance")
    history = maker.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    answers = [(record.partition, record.status.value) for record in history if record.status.value != "PLANNED"]
    assert answers == [("r3", "FAILED"), ("r2", "FAILED"), ("r1", "SUCCEEDED")]  # r3 with a warning: not judged
    assert maker.make("r2").success  # with the fault mended it goes on
    assert published(tmp_path) == ["r1", "r2"]


def test_new_rows_that_are_not_eligible_fail_the_release_until_the_snapshot_is_corrected(
    maker: Maker, tmp_path: Path
) -> None:
    maker.make("r1")
    right = pd.read_csv(tmp_path / "snapshots" / "r2.csv")
    correct(tmp_path, "r2", ineligible())
    result = maker.make("r2")
    assert "not 3-eligible" in said(result)
    assert "flu" not in said(result)
    assert severities(result) == {"eligibility": "ERROR"} | dict.fromkeys({"valid", "drift", *JUDGES}, "WARN")
    assert "r3 cannot be published before r2;" in maker.refusal("r3")
    assert published(tmp_path) == ["r1"]
    assert maker.made("release") == ["r1"]
    correct(tmp_path, "r2", right)
    assert maker.make("r2").success
    assert maker.make("r3").success
    assert published(tmp_path) == ["r1", "r2", "r3"]


def test_a_wrong_snapshot_fails_its_own_check_before_anything_is_computed(maker: Maker, tmp_path: Path) -> None:
    frame = people(60)
    frame.loc[5, "patient"] = frame.loc[6, "patient"]
    correct(tmp_path, "r1", frame)
    result = maker.make("r1")
    assert not result.success
    assert "must be unique" in said(result)
    assert severities(result) == {"valid": "ERROR"} | dict.fromkeys({*SNAPSHOT, *JUDGES} - {"valid"}, "WARN")
    for asset in ("release", *FILLED):
        assert maker.made(asset) == []


@pytest.mark.slow
def test_a_snapshot_that_comes_late_is_taken(maker: Maker, tmp_path: Path) -> None:
    (tmp_path / "snapshots" / "r1.csv").rename(tmp_path / "late.csv")
    assert maker.make("r1").success
    assert maker.made("release") == []
    (tmp_path / "late.csv").rename(tmp_path / "snapshots" / "r1.csv")
    assert maker.make("r1").success


@pytest.mark.slow
def test_a_snapshot_corrected_before_its_release_is_published_is_taken(maker: Maker, tmp_path: Path) -> None:
    assert maker.make("r1", config={"look_only": True}).success
    correct(tmp_path, "r1", people(120))
    assert maker.make("r1").success
    assert maker.metadata("release")["dagster/row_count"].value == 120
    assert read_view(load_series(maker.path)).records[0].people == 120


def test_a_snapshot_much_larger_than_the_one_before_is_refused_until_a_person_accepts_it(
    maker: Maker, tmp_path: Path
) -> None:
    maker.make("r1")
    correct(tmp_path, "r2", people(960))
    for config, severity, told in (
        ({}, dg.AssetCheckSeverity.ERROR, "--accept-drift REASON (accept_drift in Dagster)"),
        ({"accept_drift": "one ward closed"}, dg.AssetCheckSeverity.WARN, "(one ward closed)"),
    ):
        result = maker.make("r2", config=config)
        assert result.success == bool(config)
        drift = next(one for one in result.get_asset_check_evaluations() if one.check_name == "drift")
        assert not drift.passed
        assert drift.severity is severity
        assert "+300.0%" in (drift.description or "")
        assert told in (drift.description or "")
    assert read_view(load_series(maker.path)).summary.accepted["r2"][0].reason == "one ward closed"


def test_a_snapshot_filtered_by_the_value_is_refused_without_naming_it(tmp_path: Path) -> None:
    frame = people(360)
    snapshots = {"r1": frame, "r2": frame[frame["disease"] != "measles"]}
    with dg.instance_for_test(temp_dir=str(tmp_path)) as instance:
        maker = Maker(write_series(tmp_path, snapshots=snapshots), instance)
        assert maker.make("r1").success
        result = maker.make("r2")
    drift = next(one for one in result.get_asset_check_evaluations() if one.check_name == "drift")
    assert not drift.passed
    assert "hardly any with some value of disease (1 value); who is in" in (drift.description or "")
    assert "measles" not in said(result) + str(drift)


@pytest.mark.slow
def test_the_command_and_the_assets_can_take_turns(maker: Maker, tmp_path: Path) -> None:
    assert main(["publish", str(maker.path), "--quiet"]) == 0
    assert maker.make("r2").success
    assert maker.metadata("release")["previous release"].value == "r1"
    assert main(["publish", str(maker.path), "--quiet"]) == 0
    assert maker.make("r3").success  # nothing to do
    assert maker.make("r2").success
    assert main(["publish", str(maker.path), "--release", "r2", "--quiet"]) == 1
    assert published(tmp_path) == ["r1", "r2", "r3"]
    assert main(["audit", str(maker.path), "--attack", "intersection", "--quiet"]) == 0


@pytest.mark.slow
def test_the_assets_need_less_than_3_seconds_of_cpu_a_release_more_than_plain_publishing(tmp_path: Path) -> None:
    by_hand = load_series(write_series(tmp_path / "plain", snapshots=lively()))
    with dg.DagsterInstance.ephemeral() as instance:
        job = series_definitions(write_series(tmp_path / "assets", snapshots=lively())).resolve_job_def(
            "clinic_release"
        )
        spent: dict[str, list[float]] = {"plain": [], "assets": []}
        for release in ("r1", "r2", "r3", "r4", "r5"):
            began = time.process_time()
            publish_release(by_hand, release, TODAY)
            between = time.process_time()
            assert job.execute_in_process(partition_key=release, instance=instance, run_config=QUIET).success
            spent["plain"].append(between - began)
            spent["assets"].append(time.process_time() - between)
    warm = {name: np.mean(seconds[1:]) for name, seconds in spent.items()}
    assert warm["assets"] - warm["plain"] < 3, spent
