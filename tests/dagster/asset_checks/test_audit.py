"""The check `audit` in Dagster: after a release, alone, and what follows when it fails."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from builders.assets import QUIET, Maker, said
from builders.series import lively, write_series

from reanon_dagster.asset_checks.standalone import audit as audit_module
from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.automation import next_request
from reanon_dagster.cli import main
from reanon_dagster.definitions import series_definitions
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series_file import load_series


@pytest.fixture
def maker(tmp_path: Path) -> Iterator[Maker]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Maker(write_series(tmp_path, snapshots=lively(3, 72)), instance)


def publish(maker: Maker, to: str) -> None:
    """Publish by command, which is quicker than by the assets."""
    assert main(["backfill", str(maker.path), "--to", to, "--quiet"]) == 0


def executed(maker: Maker, release: str) -> dg.ExecuteInProcessResult:
    """The check alone, as the button *Execute* runs it."""
    key = dg.AssetCheckKey(maker.key("release"), "audit")
    job = series_definitions(maker.path).resolve_implicit_global_asset_job_def()
    return job.get_subset(asset_check_selection={key}).execute_in_process(
        partition_key=release, instance=maker.instance, run_config=QUIET, raise_on_error=False
    )


def answer(result: dg.ExecuteInProcessResult) -> dg.AssetCheckEvaluation:
    return next(one for one in result.get_asset_check_evaluations() if one.check_name == "audit")


def table(maker: Maker, release: str) -> Path:
    return maker.path.parent / "published" / "clinic" / release / "table.csv"


def test_the_audit_follows_each_release_in_its_run_and_is_tied_to_its_partition(maker: Maker) -> None:
    for place, release in enumerate(("r1", "r2")):
        result = maker.make(release)
        assert result.success
        found = answer(result)
        assert found.passed
        assert found.partition == release
        assert found.target_materialization_data is not None
        numbers = {name: value.value for name, value in found.metadata.items()}
        assert numbers["releases audited"] == place + 1
        assert numbers["people exposed by intersection"] == 0


def test_a_broken_file_fails_the_audit_and_halts_the_series_until_a_person_lifts_it(
    maker: Maker, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(maker, "r1")
    assert maker.make("r2").success
    right = table(maker, "r1").read_bytes()
    table(maker, "r1").write_text("x")
    assert answer(executed(maker, "r2")).passed  # it reads its own files only
    failed = executed(maker, "r1")
    assert failed.success  # the check answers; nothing was executed wrongly
    found = answer(failed)
    assert not found.passed
    assert found.severity is dg.AssetCheckSeverity.ERROR
    assert found.partition == "r1"
    assert "r1/table.csv was changed" in (found.description or "")
    assert "The series is halted: correct the cause, then run `reanon lift`" in (found.description or "")
    assert found.metadata["flaws"].value == 1
    assert [halt.release for halt in read_view(load_series(maker.path)).summary.halts] == ["r1"]
    refusal = maker.refusal("r3")
    assert "clinic is halted since" in refusal
    assert "the audit of release r1 failed: r1/table.csv was changed" in refusal
    assert main(["publish", str(maker.path), "--quiet"]) == 1
    assert "clinic is halted since" in capsys.readouterr().err
    asked = next_request(SeriesAssets(load_series(maker.path)))
    assert isinstance(asked, dg.SkipReason)
    assert "clinic is halted since" in (asked.skip_message or "")
    assert maker.made("release") == ["r2"]  # what is published stays green
    table(maker, "r1").write_bytes(right)
    assert answer(executed(maker, "r1")).passed
    assert "clinic is halted" in maker.refusal("r3")  # only a person lifts it
    assert main(["lift", str(maker.path), "--because", "restored", "--quiet"]) == 0
    assert maker.make("r3").success


def test_a_release_that_is_not_published_is_not_judged_and_halts_nothing(maker: Maker) -> None:
    for published in (False, True):
        if published:
            publish(maker, "r1")
        found = answer(executed(maker, "r2"))
        assert not found.passed
        assert found.severity is dg.AssetCheckSeverity.WARN
        assert found.description == "not judged: release r2 is not published yet"
    assert read_view(load_series(maker.path)).summary.halts == ()


def test_an_older_private_folder_that_was_put_back_is_noticed_and_publishes_no_second_version(maker: Maker) -> None:
    publish(maker, "r1")
    private, saved = maker.path.parent / "private", maker.path.parent / "saved"
    shutil.copytree(private, saved)
    publish(maker, "r2")
    shutil.rmtree(private)
    shutil.copytree(saved, private)
    for release in ("r1", "r2"):
        found = answer(executed(maker, release))
        assert found.severity is dg.AssetCheckSeverity.ERROR
        assert "release r2 is published, and the ledger does not know it" in (found.description or "")
    assert "private store does not know (r2)" in maker.refusal("r2")


def test_a_lost_ledger_is_noticed_and_none_is_begun(maker: Maker) -> None:
    publish(maker, "r1")
    shutil.rmtree(maker.path.parent / "private")
    found = answer(executed(maker, "r1"))
    assert not found.passed
    assert "restore the latest private folder" in (found.description or "")
    assert "halted" not in (found.description or "")
    assert main(["audit", str(maker.path), "--quiet"]) == 1
    assert not (maker.path.parent / "private").exists()
    assert "could expose people" in maker.refusal("r1")


def test_the_audit_of_a_refused_release_is_shown_as_not_judged(maker: Maker) -> None:
    result = maker.make("r2")
    assert not result.success
    key = dg.AssetCheckKey(maker.key("release"), "audit")
    history = maker.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert [(record.partition, record.status.value) for record in history] == [("r2", "FAILED")]
    assert history[0].evaluation is not None
    assert history[0].evaluation.severity is dg.AssetCheckSeverity.WARN
    assert history[0].evaluation.description == f"not judged: {said(result)}"


def test_a_store_that_cannot_be_opened_is_not_judged(maker: Maker) -> None:
    publish(maker, "r1")
    (maker.path.parent / "private" / "clinic" / "store.duckdb").write_bytes(b"no store")
    result = executed(maker, "r1")
    assert result.success
    assert answer(result).severity is dg.AssetCheckSeverity.WARN
    assert (answer(result).description or "").startswith("not judged: the private store")


def test_an_unexpected_error_tells_nothing_of_the_data_and_halts_nothing(
    maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(maker, "r1")

    def fail(*_: object, **__: object) -> None:
        raise ValueError("Zacharias-000001 has flu")

    with monkeypatch.context() as broken:
        broken.setattr(audit_module, "audit_release", fail)
        result = executed(maker, "r1")
    assert not result.success
    assert "unexpected ValueError" in said(result)
    assert "run `reanon audit` to see it" in said(result)
    assert "Zacharias" not in said(result)
    assert read_view(load_series(maker.path)).summary.halts == ()


def test_the_audit_takes_the_pool_of_the_series_and_has_its_partitions(maker: Maker) -> None:
    definitions = series_definitions(maker.path)
    checks = [one for one in definitions.asset_checks or () if isinstance(one, dg.AssetChecksDefinition)]
    assert [one.check_key.name for one in checks] == ["audit"]  # names have no dates, so there is no `on_time`
    assert checks[0].op.pool == "reanon_clinic"
    graph = definitions.get_repository_def().asset_graph
    key = dg.AssetCheckKey(maker.key("release"), "audit")
    assert graph.get(key).partitions_def == graph.get(maker.key("release")).partitions_def
