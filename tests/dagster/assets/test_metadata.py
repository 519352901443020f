"""What Dagster shows of a release, and what it never shows."""

import json
import sys
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from builders.assets import Maker
from builders.faults import Forgetful
from builders.private_texts import private_texts
from builders.series import correct, ineligible, lively, people, write_series
from dagster._serdes import serialize_value

from reanon_dagster.assets.metadata import WIDEST
from reanon_dagster.definitions import ROOT
from reanon_dagster.releasing import computation


def test_metadata_are_numbers_with_a_history_schema_lineage_and_what_a_release_builds_on(
    maker: Maker, tmp_path: Path
) -> None:
    maker.make("r1")
    first = maker.metadata("release")["candidate digest"].value
    assert maker.metadata("release")["previous release"].value.startswith("none")
    maker.make("r2")
    out, state, evidence = (maker.metadata(asset) for asset in ("release", "state", "evidence"))
    manifest = json.loads((tmp_path / "published" / "clinic" / "r2" / "manifest.json").read_text())
    for name in ("groups", "counterfeits", "withheld", "seconds"):
        assert isinstance(out[name].value, int | float)
    assert out["previous release"].value == "r1"
    assert out["previous release's digest"].value == first
    assert state["people remembered"].value > maker.metadata("snapshot")["people"].value
    assert state["bytes"].value > 0
    assert out["previous manifest's digest"].value == manifest["previous_manifest"]
    assert out["dagster/row_count"].value == manifest["rows"]
    table = pd.read_csv(tmp_path / "published" / "clinic" / "r2" / "table.csv")
    assert [column.name for column in out["dagster/column_schema"].value.columns] == list(table.columns)
    lineage = out["dagster/column_lineage"].value.deps_by_column
    assert {name: [(dep.asset_key, dep.column_name) for dep in deps] for name, deps in lineage.items()} == {
        name: [(maker.key("snapshot"), name.removesuffix("_min").removesuffix("_max"))]
        for name in table.columns
        if name != "group_id"
    }
    numbers = {name: value.value for name, value in evidence.items() if name not in {"release", "utility"}}
    assert all(isinstance(value, int | float) for value in numbers.values()), numbers
    assert numbers["people exposed by intersection"] == 0
    assert numbers["people attacked by intersection"] > 0
    assert any("(GCP)" in name for name in numbers)
    assert {"query error", "seconds of attacks"} <= set(numbers)


def test_a_refusal_names_its_release_and_stands_with_the_partition_and_the_run(tmp_path: Path) -> None:
    wrong = lively()
    wrong["r1"] = pd.concat([wrong["r1"], wrong["r1"].head(1)])
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(write_series(tmp_path, snapshots=wrong), instance)
        assert maker.refusal("r1").startswith("r1: patient must be unique in a snapshot")
        (seen,) = instance.fetch_observations(maker.key("release"), limit=10).records
        assert seen.partition_key == "r1"
        observation = seen.asset_observation
        assert observation is not None
        assert str(observation.metadata["refused"].value).startswith("patient must be unique")
        (run,) = instance.get_runs()
        assert run.tags["reanon/refused"].startswith("patient must be unique")


def test_the_history_is_a_table_of_the_latest_releases_with_their_numbers(maker: Maker) -> None:
    maker.make("r1")
    maker.make("r2")
    history = maker.metadata("release")["history"]
    assert isinstance(history, dg.TableMetadataValue)
    rows = [record.data for record in history.records]
    assert [row["release"] for row in rows] == ["r2", "r1"]
    assert rows[0]["rows"] == maker.metadata("release")["dagster/row_count"].value
    assert max(len(str(row[""])) for row in rows) == WIDEST
    assert str(rows[0]["query error"]).endswith("%")


def test_columns_say_what_they_are_and_whether_a_value_may_be_missing(maker: Maker) -> None:
    maker.make("r1")
    columns = maker.metadata("release")["dagster/column_schema"].value.columns
    assert {column.name: column.tags["reanon/role"] for column in columns} == {
        "group_id": "group",
        "age_min": "quasi-identifier",
        "age_max": "quasi-identifier",
        "zip_min": "quasi-identifier",
        "zip_max": "quasi-identifier",
        "disease": "sensitive",
    }
    assert not any(column.constraints.nullable for column in columns)


def test_a_run_stores_no_path_of_the_machine_though_definitions_link_to_files(maker: Maker, tmp_path: Path) -> None:
    result = maker.make("r1")
    run = maker.instance.get_run_by_id(result.run_id)
    assert run is not None
    stored = [maker.instance.get_job_snapshot(str(run.job_snapshot_id)), run, *maker.instance.all_logs(run.run_id)]
    texts = [serialize_value(one) for one in stored]
    assert any("clinic__release" in text for text in texts[:1])
    assert not [text for text in texts if str(tmp_path) in text or str(ROOT) in text]


def test_no_id_and_no_row_is_found_in_the_event_log_the_compute_logs_data_docs_or_the_published_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    home, snapshots = tmp_path / "home", lively()
    home.mkdir()
    path = write_series(tmp_path, snapshots=snapshots)
    secret = private_texts(tmp_path / "snapshots")
    wrong = people(60).astype({"age": object, "disease": object})
    wrong.loc[3, "disease"] = None
    wrong.loc[4, "age"] = "Zacharias-000004"
    wrong.loc[5, "patient"] = wrong.loc[6, "patient"]
    changed = snapshots["r2"].copy()
    changed.loc[changed.index[:5], "disease"] = "Zacharias-000009"
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with dg.DagsterInstance.from_config(str(home)) as instance:
        maker = Maker(path, instance, loud=True, documented=True)
        assert maker.make("r1").success
        for frame in (wrong, changed, ineligible(), people(60).drop(columns="zip")):
            correct(tmp_path, "r2", frame)
            secret |= private_texts(tmp_path / "snapshots")
            maker.refusal("r2")
        (tmp_path / "snapshots" / "r2.csv").write_text("patient,age,zip,disease\nZacharias-000001,1,2\n")
        maker.refusal("r2")
        correct(tmp_path, "r2", snapshots["r2"])
        maker.refusal("r3")
        with monkeypatch.context() as faulty:
            faulty.setitem(sys.modules["reanon_core.catalog"].TECHNIQUES, "m-invariance", Forgetful)
            maker.refusal("r2")
        with monkeypatch.context() as broken:

            def fail(*_: object, **__: object) -> None:
                raise ValueError("Zacharias-000001 has flu")

            broken.setattr(computation, "publish", fail)
            assert "unexpected ValueError" in maker.refusal("r2")
        assert maker.make("r2").success
        runs = instance.get_runs()
        assert len(runs) == 10
        log = "\n".join(serialize_value(entry) for run in runs for entry in instance.all_logs(run.run_id))
    texts = {"the event log": log, "the console": "".join(capfd.readouterr())}
    for folder in (home, tmp_path / "published", tmp_path / "private" / "clinic" / "data_docs"):
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert files, folder
        texts |= {str(file): file.read_bytes().decode("utf-8", errors="replace") for file in files}
    assert any(name.endswith(".err") and "STEP_FAILURE" in text for name, text in texts.items())  # a compute log
    for file in (tmp_path / "published").rglob("*.parquet"):
        texts[f"{file}, read"] = pd.read_parquet(file).to_csv()
    assert "Zacharias-000001" in secret
    for where, text in texts.items():
        assert "Zacharias" not in text, where
        assert [row for row in secret if row.startswith(",") and f"{row}\n" in text] == [], where
        assert "has flu" not in text, where
