"""The decoupled form as a steward and an analyst meet it: series file, gate, files, store, trace, Python."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from builders.series import SERIES, lively, write_series

import reanon_core as reanon
import reanon_dagster
from reanon_core.judgement import history_verdicts
from reanon_core.model.errors import InvalidSnapshot
from reanon_dagster.cli import main
from reanon_dagster.releasing.candidate import digest
from reanon_dagster.releasing.judged_candidate import checks_of
from reanon_dagster.series.series_file import load_schema, load_series
from reanon_dagster.sources.external_releases import read_external_releases
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.entry_codec import arrays_of, entry_of

DECOUPLED = SERIES + "publish: {form: decoupled, k: 5}\n"
COR_SPLIT = DECOUPLED.replace("{name: m-invariance, m: 3}", "{name: cor-split, m: 4, n: 3}")
NAMES = [f"r{i}" for i in range(1, 6)]
BOX = ["age_min", "age_max", "zip_min", "zip_max"]


@pytest.fixture(scope="module", params=["m-invariance", "cor-split"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = DECOUPLED if request.param == "m-invariance" else COR_SPLIT
    file = write_series(tmp_path_factory.mktemp("series"), text=text, snapshots=lively())
    assert main(["backfill", str(file), "--quiet"]) == 0
    return file


def test_an_outsider_finds_m_values_in_every_group_and_k_people_in_every_box(path: Path) -> None:
    """From published files, traces and snapshots alone, with pandas."""
    m = 3 if "m: 3" in path.read_text() else 4
    signature: dict[str, frozenset[str]] = {}
    for name in NAMES:
        folder, out = path.parent / "published" / "clinic" / name, path.parent / f"{name}.parquet"
        rows, values = pd.read_parquet(folder / "rows.parquet"), pd.read_parquet(folder / "values.parquet")
        assert pd.read_csv(folder / "rows.csv").equals(rows.astype("int64"))
        assert list(rows.columns) == ["group_id", *BOX]
        assert list(values.columns) == ["group_id", "disease", "count"]
        assert rows.groupby(BOX).size().min() >= 5
        shown = values.groupby("group_id")["disease"].agg(frozenset)
        assert shown.map(len).min() >= m
        assert values.groupby("group_id")["count"].nunique().max() == 1
        snapshot = pd.read_csv(path.parent / "snapshots" / f"{name}.csv").set_index("patient")
        assert main(["trace", str(path), "--release", name, "--out", str(out), "--quiet"]) == 0
        trace = pd.read_parquet(out)
        assert sorted(trace["row"]) == list(range(len(snapshot)))
        own = rows.iloc[trace["row"]].reset_index(drop=True)
        person = snapshot.loc[trace["id"]].reset_index()
        for column in ("age", "zip"):
            assert person[column].between(own[f"{column}_min"], own[f"{column}_max"]).all()
        for who, group, value in zip(trace["id"], own["group_id"], person["disease"], strict=True):
            assert value in shown[group]
            assert signature.setdefault(who, shown[group]) == shown[group]
        counterfeits = values.groupby("group_id")["count"].sum() - rows.groupby("group_id").size()
        assert counterfeits.min() >= 0
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["counterfeits"] == counterfeits.sum()
        assert (manifest["form"], manifest["k"], manifest["rows"]) == ("decoupled", 5, len(snapshot))
        tables = {"rows.parquet", "rows.csv", "values.parquet", "values.csv", "view.sql"}
        assert set(manifest["files"]) == tables | {"README.md", "datapackage.json"}


def test_no_public_text_says_that_rows_cannot_be_followed_or_that_k_holds_over_releases(path: Path) -> None:
    """Some can: the attack `linkage` follows them, and `location` says for how many people one place is left."""
    assert main(["report", str(path), "--quiet", "--public"]) == 0
    folder = path.parent / "published" / "clinic"
    page = path.parent / "private" / "clinic" / "report" / "r5.public.html"
    texts = [" ".join(file.read_text().split()) for file in (*folder.rglob("README.md"), page)]
    assert len(texts) == len(NAMES) + 2
    assert not [text for text in texts if "cannot be joined" in text]
    assert sum("some rows can be followed from release to release" in text for text in texts) == 2
    assert sum("says nothing about several releases together" in text for text in texts) == len(NAMES)
    assert "holds in one release, not over all of them" in texts[-1]


def test_the_view_joins_people_with_the_values_of_their_group(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent / "published" / "clinic" / "r5")
    with duckdb.connect() as connection:
        connection.execute(Path("view.sql").read_text())
        people, groups = connection.execute("SELECT sum(weight), count(DISTINCT group_id) FROM people").fetchall()[0]
    assert people == pytest.approx(len(pd.read_parquet("rows.parquet")))
    assert groups == pd.read_parquet("values.parquet")["group_id"].nunique()


def test_the_store_gives_back_what_was_published_and_audit_judges_it(path: Path) -> None:
    series = load_series(path)
    with opened(series.private_folder, read_only=True) as connection:
        records = store_reader.releases(connection)
        ledger = store_reader.ledger(connection, series.schema)
    for record, entry in zip(records, ledger.entries, strict=True):
        assert digest(entry) == record.candidate_digest
        assert digest(entry_of(arrays_of(entry), entry.snapshot.schema, columns=None)) == record.candidate_digest
    for check in checks_of(series):
        assert all(verdict.holds for verdict in history_verdicts(check, ledger.entries))
    assert main(["audit", str(path), "--attack", "intersection,algorithm", "--quiet"]) == 0
    stored = reanon_dagster.open_series(path)
    assert stored.attack("intersection").exposed == 0
    assert len(stored.releases[0].values.to_pandas()) > 0


def test_form_and_k_are_frozen(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = path.read_text()
    for other, told in (
        (text.replace("k: 5", "k: 6"), "publish.k was 5 and is 6"),
        (text.replace("form: decoupled, k: 5", "form: boxes"), "publish.form was decoupled and is boxes"),
    ):
        assert other != text
        path.write_text(other)
        assert main(["publish", str(path), "--release", "r5"]) == 1
        assert told in capsys.readouterr().err
    path.write_text(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SERIES + "publish: {k: 5}\n", "publish.k (5) must be given with `form: decoupled`, and only then"),
        (DECOUPLED.replace("m-invariance, m: 3", "mondrian, k: 3"), "the form of mondrian (decoupled) must be boxes"),
        (DECOUPLED.replace("k: 5", "k: 1"), "publish.k"),
        (DECOUPLED.replace("sensitive: disease", "sensitive: count"), "must not be named count"),
    ],
)
def test_a_form_that_cannot_be_is_refused(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_series(tmp_path, text=text, snapshots=lively(1))
    assert main(["validate", str(file)]) == 2
    assert told in capsys.readouterr().err


def test_fewer_people_than_k_are_refused_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_series(tmp_path, text=DECOUPLED.replace("k: 5", "k: 500"), snapshots=lively(1))
    assert main(["publish", str(file)]) == 1
    assert "240 people are to be published, fewer than the k = 500" in capsys.readouterr().err


def test_frames_in_memory_have_the_same_form() -> None:
    columns = {"age": reanon.Numeric(min_width=2, domain=(0, 110)), "zip": reanon.Numeric(min_width=10)}
    series = reanon.Series(
        id="patient",
        sensitive="disease",
        quasi_identifiers=columns,
        technique=reanon.MInvariance(m=3, balancing="blind", not_eligible="refuse"),
        form="decoupled",
        k=5,
        unsafe_seed=1,
    )
    for name, frame in lively(3).items():
        release = series.publish(frame, name=name)
        rows, trace = release.to_pandas(), series.trace(name).to_pandas()
        assert list(rows.columns) == ["group_id", *BOX]
        assert len(rows) == len(frame) == len(trace)
        person = frame.set_index("patient").loc[trace["id"]]
        assert np.all(person["age"].to_numpy() <= rows["age_max"].to_numpy()[trace["row"]])
        assert release.values.to_pandas()["count"].sum() >= len(rows)
    assert max(series.query_error().values()) < 1
    plain = reanon.Series(
        id="patient",
        sensitive="disease",
        quasi_identifiers=columns,
        technique=reanon.MInvariance(m=3),
        form="boxes",
        unsafe_seed=1,
    )
    with pytest.raises(reanon.InvalidParameter, match="be decoupled"):
        _ = plain.publish(lively(1)["r1"], name="r1").values
    paper = reanon.MInvariance.paper(m=3)
    for wrong in ({"form": "rings"}, {"form": "boxes", "k": 5}, {"technique": paper, "k": 5}, {"k": "many"}):
        arguments = {"technique": reanon.MInvariance(m=3), **wrong}
        with pytest.raises(reanon.InvalidParameter):
            reanon.Series(id="p", sensitive="s", quasi_identifiers=columns, **arguments)


def test_an_audit_of_the_files_alone_reads_rows_with_their_values(path: Path, tmp_path: Path) -> None:
    files = [path.parent / "published" / "clinic" / name / "rows.csv" for name in NAMES]
    schema = tmp_path / "schema.yaml"
    schema.write_text("id: patient\nquasi_identifiers: {age: {}, zip: {}}\nsensitive: disease\n")
    tables = [pd.read_csv(path.parent / "snapshots" / f"{name}.csv").assign(release=name) for name in NAMES]
    pd.concat(tables).drop(columns="disease").to_csv(tmp_path / "people.csv", index=False)
    history = read_external_releases(files, load_schema(schema)[1])
    for file, published in zip(files, history.releases, strict=True):
        rows, values = pd.read_csv(file), pd.read_csv(file.with_name("values.csv"))
        release, own = published.release, published.release.person_rows
        assert own is not None
        assert (len(own.box), release.size) == (len(rows), values["count"].sum())
        assert own.boxes.low[:, own.box].tolist() == [rows["age_min"].tolist(), rows["zip_min"].tolist()]
        assert published.auxiliary.total == values["count"].sum() - len(rows)
        for _, row in rows.iterrows():
            group = own.group[row.name]
            assert release.boxes.low[0, group] == rows.loc[rows["group_id"] == row["group_id"], "age_min"].min()
    answers = tmp_path / "answers.json"
    given = ["--schema", str(schema), "--people", str(tmp_path / "people.csv"), "--json", str(answers), "--quiet"]
    attacks = "intersection,linkage,difference"
    assert main(["audit", "--releases", *map(str, files), *given, "--attack", attacks]) == 0
    found = {one["attack"]: one for one in json.loads(answers.read_text())["attacks"]}
    assert [found[name]["exposed"] for name in attacks.split(",")] == [0, 0, 0]
    assert "rows are;" in found["linkage"]["note"]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ("group_id,disease,count\n1,flu,1\n1,cold,1\n2,flu,1\n", "name groups that have rows, with counts of at least"),
        ("group_id,disease,count\n1,flu,1\n1,cold,none\n", "name groups that have rows, with counts of at least 1"),
        ("group_id,disease,count\n1,flu,1\n", "have a value for each row of a group"),
        ("group_id,count\n1,2\n", "column disease must be there"),
    ],
)
def test_values_that_do_not_fit_the_rows_are_refused(tmp_path: Path, values: str, problem: str) -> None:
    (tmp_path / "schema.yaml").write_text("id: patient\nquasi_identifiers: {age: {}}\nsensitive: disease\n")
    (tmp_path / "rows.csv").write_text("group_id,age_min,age_max\n1,3,5\n1,3,5\n")
    (tmp_path / "values.csv").write_text(values)
    with pytest.raises(InvalidSnapshot, match=problem):
        read_external_releases([tmp_path / "rows.csv"], load_schema(tmp_path / "schema.yaml")[1])
