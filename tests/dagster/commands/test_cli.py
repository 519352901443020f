"""The command as a person uses it: what it prints, what it writes, how it ends."""

import hashlib
import json
import stat
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from builders.independent import problems
from builders.series import DISEASES, SERIES, begin, lively, people, plainly_published, write_series

from reanon_dagster.cli import main, parser


@pytest.fixture
def series(tmp_path: Path) -> Path:
    return write_series(tmp_path, snapshots=lively())


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_backfill_publishes_every_release_and_an_outsider_finds_nothing_wrong(series: Path, tmp_path: Path) -> None:
    assert main(["backfill", str(series), "--quiet"]) == 0
    names = [f"r{i}" for i in range(1, 6)]
    for name in names:
        assert (
            main(["trace", str(series), "--release", name, "--out", str(tmp_path / f"{name}.parquet"), "--quiet"]) == 0
        )
    folders = [tmp_path / "published" / "clinic" / name for name in names]
    snapshots = [tmp_path / "snapshots" / f"{name}.csv" for name in names]
    traces = [tmp_path / f"{name}.parquet" for name in names]
    assert problems(folders, snapshots, traces, ["age", "zip"], "disease", "patient", 3) == []


def test_manifests_are_chained_and_name_every_file(series: Path, tmp_path: Path) -> None:
    main(["backfill", str(series), "--quiet"])
    previous = None
    for name in [f"r{i}" for i in range(1, 6)]:
        folder = tmp_path / "published" / "clinic" / name
        text = (folder / "manifest.json").read_bytes()
        manifest = json.loads(text)
        assert manifest["previous_manifest"] == previous
        assert {file.name for file in folder.iterdir()} == {*manifest["files"], "manifest.json"}
        for file, described in manifest["files"].items():
            assert hashlib.sha256((folder / file).read_bytes()).hexdigest() == described["sha256"]
        previous = hashlib.sha256(text).hexdigest()


def test_nothing_private_is_published(series: Path, tmp_path: Path) -> None:
    main(["backfill", str(series), "--quiet"])
    for file in (tmp_path / "published").rglob("*"):
        if file.is_file():
            assert b"Zacharias" not in file.read_bytes(), file
    for file in (tmp_path / "private").rglob("*"):
        assert b"Zacharias" not in file.read_bytes() if file.is_file() else True
        assert stat.S_IMODE(file.stat().st_mode) == (0o700 if file.is_dir() else 0o600), file


def test_csv_and_parquet_say_the_same(series: Path, tmp_path: Path) -> None:
    main(["publish", str(series), "--quiet"])
    folder = tmp_path / "published" / "clinic" / "r1"
    pd.testing.assert_frame_equal(
        pd.read_csv(folder / "table.csv"), pd.read_parquet(folder / "table.parquet"), check_dtype=False
    )


def test_the_latest_release_again_with_the_same_input_is_nothing_to_do(
    series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["publish", str(series)])
    assert main(["publish", str(series), "--release", "r1"]) == 0
    assert "nothing to do" in said(capsys)[0]


def test_the_latest_release_with_another_input_is_refused(
    series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["publish", str(series)])
    people(120).to_csv(tmp_path / "snapshots" / "r1.csv", index=False)
    assert main(["publish", str(series), "--release", "r1"]) == 1
    assert "make the correction in the next release" in said(capsys)[1]


@pytest.mark.parametrize(
    ("release", "says"),
    [("r1", "frozen"), ("r4", "r4 cannot be published before r3; run `reanon backfill` to publish both")],
)
def test_a_release_out_of_order_is_refused(
    series: Path, release: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["backfill", str(series), "--to", "r2", "--quiet"])
    assert main(["publish", str(series), "--release", release]) == 1
    assert says in said(capsys)[1]


def test_an_unknown_release_is_wrong_usage(series: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", str(series), "--release", "r9"]) == 2
    assert "r9" in said(capsys)[1]


def test_new_rows_that_are_not_eligible_are_refused_with_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = people(60)
    frame.loc[:39, "disease"] = "flu"
    series = write_series(tmp_path, snapshots={"r1": frame})
    assert main(["publish", str(series)]) == 1
    out, err = said(capsys)
    assert "'flu'" in err
    assert "the bound is 20" in err
    assert not (tmp_path / "published").exists()
    main(["status", str(series)])
    out, _ = said(capsys)
    assert "refused" in out
    for option in ("defer", "pad"):
        folder = tmp_path / option
        again = write_series(
            folder, text=SERIES.replace("m: 3", f"m: 3, not_eligible: {option}"), snapshots={"r1": frame}
        )
        assert main(["publish", str(again)]) == 0
        out, _ = said(capsys)
        manifest = json.loads((folder / "published" / "clinic" / "r1" / "manifest.json").read_text())
        assert manifest["withheld" if option == "defer" else "counterfeits"] > 0
        assert ("withheld (" in out) == (option == "defer")


def test_every_problem_of_a_snapshot_is_said_at_once_and_nothing_changes_on_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = people(60).astype({"age": object})
    frame.loc[3, "disease"] = None
    frame.loc[4, "age"] = 230
    frame.loc[5, "patient"] = frame.loc[6, "patient"]
    series = write_series(tmp_path, snapshots={"r1": frame.drop(columns="zip")})
    before = sorted(tmp_path.rglob("*"))
    assert main(["publish", str(series)]) == 2
    _, err = said(capsys)
    for word in ("zip", "disease", "230", "patient"):
        assert word in err
    assert "Zacharias" not in err
    assert "Traceback" not in err
    assert [
        path
        for path in sorted(tmp_path.rglob("*"))
        if path not in before and path.name != "pseudonym.key" and path.suffix != ".duckdb" and not path.is_dir()
    ] == []


def test_a_frozen_setting_cannot_be_changed_after_the_first_release(
    series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["publish", str(series), "--quiet"])
    series.write_text(plainly_published(SERIES.replace("m: 3", "m: 2")))
    assert main(["publish", str(series)]) == 1
    _, err = said(capsys)
    assert "technique.m was 3 and is 2" in err
    assert "new series" in err
    series.write_text(plainly_published(SERIES.replace("m: 3", "m: 3, assignment: paper")))
    assert main(["publish", str(series)]) == 0


def test_a_gap_in_the_snapshots_stops_the_backfill_loudly(
    series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "snapshots" / "r3.csv").unlink()
    assert main(["backfill", str(series)]) == 1
    assert "r3 comes first and has none" in said(capsys)[1]
    assert not (tmp_path / "published" / "clinic" / "r4").exists()


def test_a_trace_needs_the_source_again(series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["publish", str(series), "--quiet"])
    (tmp_path / "snapshots" / "r1.csv").rename(tmp_path / "kept.csv")
    assert main(["trace", str(series), "--release", "r1", "--out", str(tmp_path / "t.parquet")]) == 1
    assert "is gone" in said(capsys)[1]


def test_audit_prints_checks_and_attacks_and_writes_json_without_people(
    series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["backfill", str(series), "--quiet"])
    assert main(["audit", str(series), "--attack", "intersection", "--json", str(tmp_path / "audit.json")]) == 0
    out, _ = said(capsys)
    assert "m-invariance" in out
    answers = json.loads((tmp_path / "audit.json").read_text())
    assert {one["check"] for one in answers["checks"]} == {
        "well-formedness",
        "k-anonymity",
        "l-diversity",
        "m-uniqueness",
        "m-invariance",
    }
    assert all(one["holds"] for one in answers["checks"])
    assert answers["attacks"][0]["exposed"] == 0


def test_audit_fails_if_the_store_was_tampered_with(
    series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["backfill", str(series), "--to", "r2", "--quiet"])
    with duckdb.connect(str(tmp_path / "private" / "clinic" / "store.duckdb")) as connection:
        connection.execute("UPDATE public.rows SET sensitive = (sensitive + 1) % 6 WHERE position = 1 AND row < 3")
    assert main(["audit", str(series), "--attack", "intersection"]) == 1
    assert "failed checks" in said(capsys)[1]


def test_the_same_seed_gives_the_same_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = []
    for name in ("one", "two"):
        series = write_series(tmp_path / name, snapshots=lively(releases=1))
        begin(series)
        assert main(["publish", str(series), "--seed", "7"]) == 0
        assert "--seed is for tests" in said(capsys)[1]
        tables.append((tmp_path / name / "published" / "clinic" / "r1" / "table.csv").read_bytes())
    assert tables[0] == tables[1]


def test_a_person_who_ages_and_moves_is_published_again(tmp_path: Path) -> None:
    first = people(60)
    second = first.assign(age=first["age"] + 3, zip=first["zip"] + 1)
    series = write_series(tmp_path, snapshots={"r1": first, "r2": second})
    assert main(["backfill", str(series), "--quiet"]) == 0


def test_a_changed_disease_is_refused_or_an_episode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = people(60), people(60)
    second.loc[0, "disease"] = DISEASES[1]
    series = write_series(tmp_path / "refuse", snapshots={"r1": first, "r2": second})
    assert main(["backfill", str(series), "--quiet"]) == 1
    assert "1 person has another value of disease" in said(capsys)[1]
    text = SERIES.replace("m: 3", "m: 3, on_sensitive_change: episode")
    series = write_series(tmp_path / "episode", text=text, snapshots={"r1": first, "r2": second})
    assert main(["backfill", str(series), "--quiet"]) == 0


def test_missing_values_are_published_as_missing_where_the_series_says_so(tmp_path: Path) -> None:
    frame = people(60).astype({"zip": object})
    frame.loc[:9, "zip"] = None
    text = SERIES.replace("min_width: 10}", "min_width: 10, missing: separate}")
    assert main(["publish", str(write_series(tmp_path, text=text, snapshots={"r1": frame})), "--quiet"]) == 0
    table = pd.read_parquet(tmp_path / "published" / "clinic" / "r1" / "table.parquet")
    assert set(table["zip_missing"]) <= {"none", "some", "all"}
    assert (table["zip_missing"] != "none").any()
    assert table.loc[table["zip_missing"] == "all", "zip_min"].isna().all()


def test_dates_taxonomies_separators_and_encodings_come_through(tmp_path: Path) -> None:
    text = """
series: ämter-2
source: {path: "snapshots/{release}.csv", id: Nummer, separator: ";", encoding: latin-1}
releases: {names: [r1]}
quasi_identifiers:
  geburt: {kind: date, min_width: 30}
  ort: {kind: categorical, taxonomy: orte.csv}
  gewicht: {kind: numeric, granularity: 0.1, min_width: 2}
sensitive: krankheit
technique: {name: m-invariance, m: 2}
publish: {form: boxes}
""".replace("ämter-2", "amt-2")
    frame = pd.DataFrame(
        {
            "Nummer": [f"00{i}" for i in range(40)],
            "geburt": pd.date_range("1960-01-31", periods=40, freq="97D").strftime("%Y-%m-%d"),
            "ort": ["Köln", "Düren", "Bozen", "Meran"] * 10,
            "gewicht": [50 + i / 10 for i in range(40)],
            "krankheit": ["Grippe", "Röteln"] * 20,
        }
    )
    (tmp_path / "snapshots").mkdir()
    frame.to_csv(tmp_path / "snapshots" / "r1.csv", index=False, sep=";", encoding="latin-1")
    (tmp_path / "orte.csv").write_text(
        "Köln;Rhein;*\nDüren;Rhein;*\nBozen;Südtirol;*\nMeran;Südtirol;*\n", encoding="utf-8"
    )
    (tmp_path / "series.yaml").write_text(text, encoding="utf-8")
    assert main(["publish", str(tmp_path / "series.yaml"), "--quiet"]) == 0
    table = pd.read_parquet(tmp_path / "published" / "amt-2" / "r1" / "table.parquet")
    born = pd.to_datetime(table["geburt_max"]) - pd.to_datetime(table["geburt_min"])
    assert born.min() >= pd.Timedelta(days=29)
    assert set(table["ort"]) <= {"Köln", "Düren", "Bozen", "Meran", "Rhein", "Südtirol", "*"}
    assert ((table["gewicht_max"] - table["gewicht_min"]).round(6) >= 1.9).all()
    assert set(table["krankheit"]) == {"Grippe", "Röteln"}


def test_an_empty_snapshot_is_an_empty_release(tmp_path: Path) -> None:
    series = write_series(tmp_path, snapshots={"r1": people(48), "r2": people(0), "r3": people(48)})
    assert main(["backfill", str(series), "--quiet"]) == 0
    assert len(pd.read_parquet(tmp_path / "published" / "clinic" / "r2" / "table.parquet")) == 0


def test_init_writes_an_example_that_publishes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "mine")]) == 0
    assert main(["validate", str(tmp_path / "mine" / "series.yaml")]) == 0
    assert main(["backfill", str(tmp_path / "mine" / "series.yaml")]) == 0
    assert main(["init", str(tmp_path / "mine")]) == 2
    assert "Traceback" not in said(capsys)[1]


@pytest.mark.parametrize(
    ("command", "option"),
    [("audit", "attack"), ("compare", "technique"), ("compare", "attack"), ("compare", "metric"), ("report", "attack")],
)
def test_a_list_may_be_given_a_part_at_a_time(command: str, option: str) -> None:
    told = parser().parse_args([command, "series.yaml", f"--{option}", "a,b", f"--{option}", "c"])
    assert getattr(told, option) == "a,b,c"
