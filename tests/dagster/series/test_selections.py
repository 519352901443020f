"""`releases.select`: whom single releases ask for, from the series file to the published table."""

import json
from pathlib import Path

import dagster as dg
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders.assets import Maker
from builders.long_lists import sampled
from builders.series import SERIES, lively, people, write_series

from reanon_core.model.errors import InvalidSchema, InvalidSnapshot
from reanon_dagster.cli import main
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_reader import read_snapshot

KEY = bytes(range(16))
BPG = (
    SERIES.replace("{name: m-invariance, m: 3}", "{name: bpg, over: mondrian, k: 5, ell: 3, reserve: 2}")
    + "max_withheld: null\n"
)
NAMES = "{names: [r1, r2, r3, r4, r5]}"


def selecting(text: str, **select: str) -> str:
    return text.replace(NAMES, NAMES[:-1] + f", select: {json.dumps(select)}}}")


def selected(path: Path, release: str = "r1") -> list[int]:
    """The ages of whom the release asks for."""
    snapshot = read_snapshot(load_series(path), release, KEY, ()).snapshot
    return sorted(snapshot.qi[0, snapshot.selection].tolist())


FRAME = pd.DataFrame(
    {
        "patient": ["a", "b", "c", "d"],
        "age": [20, 30, 40, 50],
        "zip": [10000, 9000, 11000, 12000],
        "disease": ["flu", "cold", "flu", "cold"],
        "since": ["2020-01-01", "2021-01-01", "2022-01-01", ""],
        "ward": ["7", "10", "9", "8"],
    }
)


@pytest.mark.parametrize(
    ("predicate", "ages"),
    [
        ("age > 30", [40, 50]),
        ("AGE between 30 and 40", [30, 40]),
        ("zip > 9500", [20, 40, 50]),  # numbers, though a csv file has text
        ("ward = '7' or age >= 50", [20, 50]),
        ("ward < 10 and ward in (7, 9)", [20, 40]),  # a column that is not published
        ("since > date '2020-06-01'", [30, 40]),
        ("year(since) = 2022 or since is null", [40, 50]),
        ("since < '2021-06-01'", [20, 30]),  # where nothing is known of d, d is not asked for
        ("upper(patient) like 'a%' or patient = 'b'", [30]),
        ("not (age / 10 % 2 = 0)", [30, 50]),
        ("false", []),
    ],
)
@pytest.mark.parametrize("source", ["csv", "parquet", "duckdb"])
def test_a_predicate_asks_for_those_of_whom_it_is_true(
    predicate: str, ages: list[int], source: str, tmp_path: Path
) -> None:
    frame = FRAME if source == "csv" else FRAME.assign(since=pd.to_datetime(FRAME["since"]).dt.date, ward=[7, 10, 9, 8])
    path = write_series(tmp_path, text=selecting(BPG, r1=predicate), snapshots={"r1": frame})
    if source == "parquet":
        path.write_text(path.read_text().replace("{release}.csv", "{release}.parquet"))
        pq.write_table(pa.Table.from_pandas(frame), tmp_path / "snapshots" / "r1.parquet")
    if source == "duckdb":
        query = "{duckdb: visits.duckdb, query: \"select * from visits where '{release}' = 'r1'\", id: patient}"
        path.write_text(path.read_text().replace('{path: "snapshots/{release}.csv", id: patient}', query))
        with duckdb.connect(tmp_path / "visits.duckdb") as connection:
            connection.execute("create table visits as select * from frame")
    assert selected(path) == ages


def test_a_technique_that_knows_no_queries_gets_only_whom_the_release_asks_for(tmp_path: Path) -> None:
    frame = people(60)
    path = write_series(tmp_path, text=selecting(SERIES, r1="age > 50"), snapshots={"r1": frame})
    read = read_snapshot(load_series(path), "r1", KEY, ())
    assert read.snapshot.selected is None
    assert read.snapshot.size == read.selected == int((frame["age"] > 50).sum())
    assert read.rows == 60
    path.write_text(path.read_text().replace("{name: m-invariance, m: 3}", "{name: mondrian, k: 3}"))
    assert main(["publish", str(path), "--quiet"]) == 0
    table = pd.read_parquet(tmp_path / "published" / "clinic" / "r1" / "table.parquet")
    assert len(table) == read.selected
    assert table["age_min"].min() == 50  # the bin of 51


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        ("age >", "it cannot be parsed"),
        ("age > (select 3)", "a subquery is not allowed"),
        ("exists (from read_csv('/etc/passwd'))", "a subquery is not allowed"),
        ("patient in (select patient from snapshot)", "a subquery is not allowed"),
        ("random() > 0.5", "the function random is not allowed"),
        ("age > getenv('AGE')::int", "the function getenv is not allowed"),
        ("count(*) > 3", "the function count_star is not allowed"),
        ("row_number() over () > 3", "a window is not allowed"),
        ("other.age > 3", "the name other.age is not allowed"),
        ("age > 3) order by (age", "must be one condition and nothing else"),
        ("age > 3); drop table snapshot; select (1", "Only SELECT statements"),
        ("age > 3); select * from snapshot where (age > 4", "must be one condition and nothing else"),
        ("age > 3) union select * from snapshot where (age > 4", "must be one condition and nothing else"),
        ("age > ?", "a parameter is not allowed"),
    ],
)
def test_what_is_not_a_condition_over_the_own_columns_is_refused_before_it_runs(
    predicate: str, said: str, tmp_path: Path
) -> None:
    path = write_series(tmp_path, text=selecting(BPG, r2=predicate))
    with pytest.raises(InvalidSchema) as caught:
        load_series(path)
    assert str(caught.value).startswith(f"releases.select.r2 ({predicate})")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        ("wards > 3", "releases.select.r1: column wards must be in snapshots/r1.csv"),
        ("current_date > 3", "column current_date must be in"),
        ("age", "must be a condition that is true or false"),
        ("patient > 3", "Binder Error: Cannot compare values of type VARCHAR and type INTEGER_LITERAL"),
        ("cast(patient as int) > 3", "must be a condition that can be evaluated for every row; ConversionException"),
        ("length(age, 3, 4)", "must be a condition that can be evaluated for every row; Binder Error"),
    ],
)
def test_a_predicate_that_does_not_fit_the_snapshot_is_a_sentence_with_exit_code_two(
    predicate: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, text=selecting(BPG, r1=predicate), snapshots={"r1": people(60)})
    for command in ("validate", "publish"):
        assert main([command, str(path)]) == 2
        error = capsys.readouterr().err
        assert said in error.replace(f" ({predicate})", "")
        assert "Traceback" not in error
        assert "Zacharias" not in error
        assert not any(disease in error for disease in ("asthma", "measles"))
    assert not (tmp_path / "private").exists()
    with pytest.raises(InvalidSnapshot):
        selected(path)


def test_a_predicate_of_a_release_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidSchema, match=r"releases\.select\.r9 must name a release of the series"):
        load_series(write_series(tmp_path, text=selecting(BPG, r9="age > 3")))
    text = BPG.replace(NAMES, "{cadence: quarterly, first: 2024-Q1, select: {2024-Q2: age > 3, 2023-Q4: age > 3}}")
    with pytest.raises(InvalidSchema, match=r"releases\.select\.2023-Q4 must name a release"):
        load_series(write_series(tmp_path, text=text))
    series = load_series(write_series(tmp_path, text=text.replace(", 2023-Q4: age > 3", "")))
    assert series.selections["2024-Q2"].columns == ("age",)


def test_a_predicate_over_the_sensitive_column_is_refused_because_it_tells_values(tmp_path: Path) -> None:
    path = write_series(tmp_path, text=selecting(BPG, r1="age > 3", r2="lower(Disease) <> 'flu'"))
    with pytest.raises(InvalidSchema) as caught:
        load_series(path)
    (sentence,) = str(caught.value).splitlines()
    assert sentence.startswith("releases.select.r2")
    assert "must not use the sensitive column disease" in sentence


def run(path: Path, *arguments: str) -> int:
    return main([*arguments[:1], str(path), *arguments[1:]])


@pytest.mark.parametrize(
    "options",
    sampled(
        ["", "pool: stored", "variant: ghost", "variant: union, reject: class", "variant: nodirty"],
        ["", "variant: ghost"],
    ),
)
def test_a_series_with_queries_is_published_traced_and_audited(
    options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = lively()
    text = selecting(BPG, r2="age > 30", r3="zip < 10250 or age = 77", r4="age < 60")
    path = write_series(tmp_path, text=text.replace("reserve: 2", f"reserve: 2, {options}"), snapshots=frames)
    accepted = ["--accept-drift", "this variant withholds many"] if "nodirty" in options else []
    assert run(path, "backfill", "--seed", "3", *accepted) == 0
    told = capsys.readouterr()
    assert ("accepted: more than 20% of the people with some value" in told.err) == bool(accepted)
    assert "r5: published" in told.out
    audit = tmp_path / "audit.json"
    assert run(path, "audit", "--attack", "intersection,difference", "--json", str(audit)) == 0
    document = json.loads(audit.read_text())
    assert all(check["holds"] for check in document["checks"])
    dirty = {check["release"]: check["observed"]["not asked for"] for check in document["checks"][:5]}
    for number, release in enumerate(frames):
        manifest = json.loads((tmp_path / "published" / "clinic" / release / "manifest.json").read_text())
        assert manifest["dirty"] == dirty[release]
        out = tmp_path / f"{release}.parquet"
        assert run(path, "trace", "--release", release, "--out", str(out)) == 0
        trace = pd.read_parquet(out)
        assert len(trace) == manifest["rows"] - manifest["counterfeits"]
        assert trace["row"].is_unique
        known = set(pd.concat(list(frames.values())[: number + 1])["patient"])
        assert set(trace["id"]) <= known
        if options != "pool: stored":
            assert set(trace["id"]) <= set(frames[release]["patient"])
        table = pd.read_parquet(tmp_path / "published" / "clinic" / release / "table.parquet")
        truth = frames[release].set_index("patient")
        here = trace[trace["id"].isin(truth.index)]
        shown, true = table.iloc[here["row"]], truth.loc[here["id"]]
        assert np.array_equal(shown["disease"], true["disease"])
        assert (shown["age_min"].to_numpy() <= true["age"].to_numpy()).all()
        assert (true["age"].to_numpy() <= shown["age_max"].to_numpy()).all()
    assert run(path, "status") == 0
    assert run(path, "publish", "--release", "r5") == 0  # nothing to do


def test_people_who_left_are_traced_only_where_an_earlier_snapshot_is_still_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = lively(3)
    path = write_series(tmp_path, text=BPG.replace("reserve: 2", "reserve: 1, pool: stored"), snapshots=frames)
    assert run(path, "backfill", "--to", "r2", "--quiet") == 0
    out = tmp_path / "trace.parquet"
    assert run(path, "trace", "--release", "r2", "--out", str(out)) == 0
    left = set(pd.read_parquet(out)["id"]) - set(frames["r2"]["patient"])
    assert left
    assert left <= set(frames["r1"]["patient"])
    (tmp_path / "snapshots" / "r1.csv").unlink()
    assert run(path, "trace", "--release", "r2", "--out", f"{out}.again.parquet") == 1
    assert "restore the earlier snapshots" in capsys.readouterr().err


def test_another_predicate_for_what_is_out_is_refused_and_for_older_releases_does_not_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, text=selecting(BPG, r2="age > 30"), snapshots=lively())
    assert run(path, "backfill", "--to", "r2", "--quiet") == 0
    assert run(path, "publish", "--release", "r2") == 0
    path.write_text(selecting(BPG, r2="age > 31"))
    capsys.readouterr()
    assert run(path, "publish", "--release", "r2") == 1
    assert "another snapshot or selection" in capsys.readouterr().err
    assert run(path, "publish", "--release", "r3") == 0
    path.write_text(selecting(BPG, r2="age > 32", r4="age < 50"))
    assert run(path, "validate") == 0
    assert "of them selected" in capsys.readouterr().out
    assert run(path, "publish", "--release", "r2") == 1  # frozen


@pytest.mark.slow
def test_the_assets_show_what_a_query_cost_and_name_nobody(tmp_path: Path) -> None:
    text = selecting(BPG, r2="age > 45", r3="zip > 10300").replace(
        "reserve: 2", "reserve: 1, max_dirty: 0.3, pool: stored"
    )
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(write_series(tmp_path, text=text, snapshots=lively()), instance)
        for release in ("r1", "r2"):
            assert maker.make(release).success
            seen = maker.metadata("release")
            manifest = json.loads((tmp_path / "published" / "clinic" / release / "manifest.json").read_text())
            assert seen["rows of people not selected"].value == manifest["dirty"]
            assert seen["people"].value == len(lively()[release]) >= seen["selected"].value
            assert release == "r1" or manifest["dirty"] > 0
            assert seen["withheld"].value == manifest["withheld"]
            if release == "r2":
                assert "for the first time" in str(seen["attention"].value)
                assert "| people | reason |" in str(seen["withheld because"].value)
            assert "Zacharias" not in str(seen)
