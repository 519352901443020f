"""Releases with different columns, from series.yaml to the published files and back."""

import json
import re
import shutil
from pathlib import Path

import dagster as dg
import duckdb
import numpy as np
import pandas as pd
import pytest
from builders.assets import Maker
from builders.series import DISEASES, write_series
from builders.series import people as make_people

from reanon_core.catalog import ATTACKS
from reanon_dagster.cli import main

SERIES = """
series: panel
source: {path: "snapshots/{release}.csv", id: patient}
releases:
  names: [r1, r2, r3]
  columns: {r1: [age, disease], r2: [zip, job, disease], r3: [age, job, blood]}
quasi_identifiers:
  age: {kind: numeric, domain: [0, 110]}
  zip: {kind: numeric, min_width: 10}
  job: {kind: categorical, order: [baker, judge, nurse, smith]}
sensitive: disease
other: [blood]
technique: {name: sequential, ell: 3}
"""
JOBS, BLOOD = ("baker", "judge", "nurse", "smith"), ("A", "B", "")


def people(count: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "patient": [f"Zacharias-{i:06d}" for i in range(count)],
            "age": rng.integers(1, 100, count),
            "zip": rng.integers(10000, 10500, count),
            "job": rng.choice(JOBS, count),
            "blood": rng.choice(BLOOD, count),
            "disease": [DISEASES[i % len(DISEASES)] for i in range(count)],
        }
    )


def written(folder: Path) -> Path:
    everybody = people(120)
    early = everybody.iloc[:90].drop(columns=["zip", "job", "blood"])
    return write_series(
        folder, text=SERIES, snapshots={"r1": early, "r2": everybody.drop(columns="blood"), "r3": everybody}
    )


@pytest.fixture
def series(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture(scope="module")
def _published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    assert run("backfill", written(folder)) == 0
    return folder


@pytest.fixture
def published(_published: Path, tmp_path: Path) -> Path:
    """The series with its three releases, to change at will."""
    return shutil.copytree(_published, tmp_path, dirs_exist_ok=True) / "series.yaml"


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_each_release_has_its_columns_and_no_groups(series: Path) -> None:
    assert run("validate", series) == 0
    assert run("backfill", series) == 0
    published = series.parent / "published" / "panel"
    names = {one.name: list(pd.read_parquet(one / "table.parquet").columns) for one in sorted(published.glob("r*"))}
    assert names == {
        "r1": ["age_min", "age_max", "disease"],
        "r2": ["zip_min", "zip_max", "job_min", "job_max", "disease"],
        "r3": ["age_min", "age_max", "job_min", "job_max", "blood"],
    }
    files = ["README.md", "datapackage.json", "manifest.json", "table.csv", "table.parquet", "view.sql"]
    assert sorted(file.name for file in (published / "r1").iterdir()) == files
    manifest = json.loads((published / "r3" / "manifest.json").read_text())
    assert manifest["columns"] == ["age", "job", "blood"]
    assert manifest["groups"] is None
    assert all(verdict["holds"] for verdict in manifest["verdicts"])
    blood = pd.read_parquet(published / "r3" / "table.parquet")["blood"]
    assert sorted(blood.fillna("")) == sorted(people(120)["blood"])


def test_audit_reads_the_worlds_back_and_finds_a_forged_one(published: Path, tmp_path: Path) -> None:
    assert run("audit", published, "--json", tmp_path / "a.json") == 0
    told = json.loads((tmp_path / "a.json").read_text())
    assert [one["holds"] for one in told["checks"] if one["check"] == "possible-worlds"] == [True] * 3
    exposed = {one["attack"]: one["exposed"] for one in told["attacks"]}
    exposed.pop("algorithm", None)  # it knows more than the promise assumes
    left_out = {"risk", "worlds", "algorithm", "linkage", "location"}
    assert exposed == dict.fromkeys([name for name in ATTACKS if name not in left_out], 0)
    store = published.parent / "private" / "panel" / "store.duckdb"
    with duckdb.connect(str(store)) as connection:
        connection.execute("UPDATE private.people SET sensitive = (sensitive + 1) % 6 WHERE position = 1 AND row = 4")
    assert run("audit", published) == 1


def test_a_trace_gives_the_row_of_each_person_within_its_box(published: Path, tmp_path: Path) -> None:
    assert run("trace", published, "--release", "r2", "--out", tmp_path / "t.parquet") == 0
    traced = pd.read_parquet(tmp_path / "t.parquet")
    table = pd.read_parquet(published.parent / "published" / "panel" / "r2" / "table.parquet")
    rows = table.iloc[traced["row"]].reset_index(drop=True)
    truth = people(120).set_index("patient").loc[traced["id"]].reset_index()
    assert (rows["zip_min"] <= truth["zip"]).all()
    assert (truth["zip"] <= rows["zip_max"]).all()
    assert (rows["disease"] == truth["disease"]).all()


def test_the_worlds_of_each_release_can_be_traced_and_agree_with_the_files(published: Path, tmp_path: Path) -> None:
    """An independent look: the published files, the snapshots and the private worlds, and none of our judges."""
    truth, said = people(120).set_index("patient"), {}
    for release, columns in (("r1", ["age"]), ("r2", ["zip"])):
        assert run("trace", published, "--release", release, "--out", tmp_path / f"{release}.parquet", "--worlds") == 0
        traced = pd.read_parquet(tmp_path / f"{release}.parquet")
        table = pd.read_parquet(published.parent / "published" / "panel" / release / "table.parquet")
        assert (traced["world_3"] == traced["row"]).all()  # the true world is the last
        for world in ("world_1", "world_2", "world_3"):
            assert sorted(traced[world]) == list(range(len(table)))
            rows = table.iloc[traced[world]].set_index(traced["id"])
            for column in columns:
                own = truth.loc[traced["id"], column]
                assert ((rows[f"{column}_min"] <= own) & (own <= rows[f"{column}_max"])).all()
            for person, disease in rows["disease"].items():
                assert said.setdefault((world, person), disease) == disease
    for person in truth.index[:90]:
        assert len({said[f"world_{at}", person] for at in (1, 2, 3)}) == 3


def test_a_technique_without_worlds_has_none_to_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = write_series(tmp_path, snapshots={"r1": make_people(60)})
    run("publish", plain)
    assert run("trace", plain, "--release", "r1", "--out", tmp_path / "w.parquet", "--worlds") == 2
    assert "m-invariance has no worlds" in capsys.readouterr().err


def test_the_files_alone_can_be_attacked_with_the_series_as_schema(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(90).drop(columns=["disease", "blood"]).to_csv(tmp_path / "people.csv", index=False)
    files = [published.parent / "published" / "panel" / one / "table.csv" for one in ("r1", "r2")]
    assert run("audit", "--releases", *files, "--schema", published, "--people", tmp_path / "people.csv") == 0
    assert "without zip, job, blood" in capsys.readouterr().out


def test_a_column_that_a_release_shows_must_be_in_the_source_by_then(
    series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everybody = people(120)
    everybody.drop(columns=["job", "blood"]).to_csv(series.parent / "snapshots" / "r2.csv", index=False)
    assert run("backfill", series) == 2
    assert "column job must be in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("[age, disease]", "[age, size]"), "releases.columns.r1 (size) must name quasi-identifiers"),
        (("r1: [age, disease]", "r9: [age, disease]"), "releases.columns.r9 must name a release of the series"),
        (("[age, disease]", "[age, age]"), "releases.columns.r1 must list at least one column, each once"),
        (("{name: sequential, ell: 3}", "{name: mondrian, k: 2}"), "releases.columns must be left out with mondrian"),
        (("min_width: 10", "missing: separate"), "zip: missing (separate) must be refuse with sequential"),
    ],
)
def test_wrong_columns_are_said_in_a_sentence(
    series: Path, change: tuple[str, str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    series.write_text(SERIES.replace(*change))
    assert run("validate", series) == 2
    assert sentence in capsys.readouterr().err


def test_people_who_leave_are_refused_and_deferred_ones_are_traced(
    series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(120).iloc[:90].to_csv(series.parent / "snapshots" / "r1.csv", index=False)
    fewer = people(120).iloc[1:]
    fewer.to_csv(series.parent / "snapshots" / "r2.csv", index=False)
    assert run("backfill", series) == 1
    assert "1 person of earlier releases left the snapshot" in capsys.readouterr().err
    series.write_text(SERIES.replace("ell: 3}", "ell: 3, on_delete: defer}"))
    assert run("publish", series, "--release", "r2") == 0
    assert len(pd.read_parquet(series.parent / "published" / "panel" / "r2" / "table.parquet")) == 120
    assert run("trace", series, "--release", "r2", "--out", tmp_path / "t.parquet") == 0
    assert "1 row of people who left the table" in capsys.readouterr().out
    traced = pd.read_parquet(tmp_path / "t.parquet")
    assert (len(traced), traced["id"].nunique()) == (120, 120)
    (series.parent / "snapshots" / "r1.csv").unlink()  # where the one who left could be looked up
    assert run("trace", series, "--release", "r2", "--out", tmp_path / "again.parquet") == 1
    assert "1 row shows a person who had left the table" in capsys.readouterr().err
    assert run("audit", series) == 0


def test_nothing_private_is_published(published: Path) -> None:
    for file in (published.parent / "published").rglob("*"):
        if file.is_file():
            assert b"Zacharias" not in file.read_bytes()


def test_the_assets_publish_releases_of_different_columns(series: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(series, instance)
        for release in ("r1", "r2", "r3"):
            assert maker.make(release).success
        out = maker.metadata("release")
        shown = [column.name for column in out["dagster/column_schema"].value.columns]  # type: ignore[union-attr]
        assert shown == ["age_min", "age_max", "job_min", "job_max", "blood"]
        assert "groups" not in out
        assert float(maker.metadata("evidence")["people exposed by intersection"].value) == 0  # type: ignore[arg-type]


def test_a_cell_leaves_with_its_forgotten_person_and_the_series_goes_on(
    series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also with on_delete: refuse, which is the default: no one can put a forgotten person back."""
    assert run("backfill", series, "--to", "r2", "--quiet") == 0
    assert run("forget", series, "--id", "Zacharias-000007") == 0
    assert "people of the same cell are withheld from now on too" in capsys.readouterr().out
    assert run("publish", series) == 0
    told = capsys.readouterr().out
    (withheld,) = re.findall(r"(\d+) withheld \(for good: a forgotten person was in their cell\)", told)
    assert 2 <= int(withheld) <= 4  # a cell has ell to 2 ell - 1 people, and ell is 3
    assert f"published {119 - int(withheld)} rows" in told
    assert run("audit", series, "--quiet", "--attack", "intersection") == 0
