"""`reanon init --from F`: a series that is proposed for a table can be validated and published as it is written."""

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from builders.series import people
from hypothesis import given, settings
from hypothesis import strategies as st

from reanon_dagster.cli import main
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.proposed_series import Kept, proposed_column


def table(count: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = people(count)
    return frame.assign(
        sex=rng.choice(["m", "f"], count),
        born=[str(date(1950, 1, 1) + timedelta(days=int(days))) for days in rng.integers(0, 20000, count)],
        income=np.round(rng.random(count) * 5000, 2),
        ward=[f"0{number}" for number in rng.integers(1, 9, count)],
        children=rng.integers(0, 4, count),
        nation=np.where(rng.random(count) < 0.2, "", rng.choice(["no", "Côte d'Ivoire", "France"], count)),
        street=[f"{number} High Street" for number in range(count)],
        country="here",
    )


def init(folder: Path, *options: str) -> int:
    return main(["init", str(folder / "clinic"), "--from", *options])


def written(folder: Path) -> dict:
    return yaml.safe_load((folder / "clinic" / "series.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "options"), [("2024-Q1.csv", {}), ("people.csv", {"sep": ";"}), ("p.parquet", None)])
def test_a_table_of_ones_own_is_rehearsed_and_published_after_three_commands(
    tmp_path: Path, name: str, options: dict | None, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    if options is None:
        table().to_parquet(file)
    else:
        table().to_csv(file, index=False, encoding="cp1252" if options else "utf-8", **options)
    assert init(tmp_path, str(file), "--sensitive", "disease") == 0
    told = capsys.readouterr()
    assert "patient identifies a person, disease is protected" in told.out
    assert "street is left out: 300 different values, as names, addresses or free text have" in told.err
    assert "country is left out: it has one value at most" in told.err
    series = str(tmp_path / "clinic" / "series.yaml")
    assert main(["rehearse", series, "--ahead", "0", "--quiet"]) == 0
    assert main(["publish", series, "--quiet"]) == 0
    (snapshot,) = (tmp_path / "clinic" / "releases").iterdir()
    assert snapshot.stat().st_mode & 0o777 == 0o600
    found = written(tmp_path)
    assert snapshot.name == ("2024-Q1.csv" if name.startswith("2024") else f"r1{file.suffix}")
    assert found["technique"] == {"name": "m-invariance", "m": 3}
    assert found["quasi_identifiers"]["sex"] == {"kind": "categorical", "order": ["f", "m"]}
    assert found["quasi_identifiers"]["age"] == {"kind": "numeric", "min_width": 5, "domain": [0, 119]}
    assert found["quasi_identifiers"]["income"]["granularity"] == 0.01
    assert found["quasi_identifiers"]["ward"]["order"][0] == "01"
    assert found["quasi_identifiers"]["children"] == {"kind": "categorical", "order": ["0", "1", "2", "3"]}
    assert found["quasi_identifiers"]["nation"]["missing"] == "separate"
    assert "street" not in found["quasi_identifiers"]


def test_the_sensitive_column_is_asked_for_at_a_terminal_and_named_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    people(60).to_csv(tmp_path / "t.csv", index=False)
    assert init(tmp_path, str(tmp_path / "t.csv")) == 2
    assert "--sensitive must name the column that has values to protect; disease" in capsys.readouterr().err
    assert not (tmp_path / "clinic").exists()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdin.readline", lambda: "disease\n")
    assert init(tmp_path, str(tmp_path / "t.csv")) == 0
    assert "Which column must not be linked to a person? disease: " in capsys.readouterr().err
    assert written(tmp_path)["publish"] == {"k": 5}


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        ({"patient": "one"}, [], "--id must name the column that has another value in every row"),
        ({}, ["--id", "nobody"], "--id (nobody) must be a column of the table: patient, age, zip, disease"),
        ({}, ["--sensitive", "nothing"], "--sensitive (nothing) must be a column of the table"),
        ({"disease": "flu"}, ["--sensitive", "disease"], "--sensitive (disease) must have two values or more"),
        ({"age": 1, "zip": 2}, ["--sensitive", "disease"], "must have a column beside the id and the sensitive one"),
    ],
)
def test_a_table_that_is_no_series_is_a_sentence(
    tmp_path: Path, change: dict, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    people(60).assign(**change).to_csv(tmp_path / "t.csv", index=False)
    assert init(tmp_path, str(tmp_path / "t.csv"), *options) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "clinic").exists()


def test_nothing_is_overwritten_and_options_without_a_table_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(60).to_csv(tmp_path / "t.csv", index=False)
    assert init(tmp_path, str(tmp_path / "t.csv"), "--sensitive", "disease") == 0
    before = (tmp_path / "clinic" / "series.yaml").read_bytes()
    assert init(tmp_path, str(tmp_path / "t.csv"), "--sensitive", "disease") == 2
    assert "must not exist yet" in capsys.readouterr().err
    assert (tmp_path / "clinic" / "series.yaml").read_bytes() == before
    assert main(["init", str(tmp_path / "other"), "--id", "patient"]) == 2
    assert init(tmp_path, str(tmp_path / "gone.csv")) == 2


def test_rows_without_a_sensitive_value_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = people(60)
    frame.loc[3:5, "disease"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert init(tmp_path, str(tmp_path / "t.csv"), "--sensitive", "disease") == 0
    assert "3 rows have no value of disease and will be refused" in capsys.readouterr().err


@given(
    st.lists(
        st.one_of(
            st.integers(-(10**6), 10**6).map(str),
            st.decimals(-1000, 1000, places=2, allow_nan=False).map(str),
            st.dates(date(1900, 1, 1), date(2030, 1, 1)).map(str),
            st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8),
            st.sampled_from(["yes", "no", "007", "1e5", "nan", "null", "~", "[", "a: b", "#", "'", '"']),
        ),
        min_size=2,
        max_size=40,
    )
)
@settings(max_examples=60, deadline=None)
def test_whatever_is_proposed_for_a_column_is_a_valid_column(values: list[str]) -> None:
    found = proposed_column("a", values)
    if isinstance(found, Kept):
        settings_of = yaml.safe_load(f"{{{found.settings}}}")
        assert settings_of["kind"] in {"numeric", "date", "categorical"}
        if settings_of["kind"] == "categorical":
            assert set(map(str, settings_of["order"])) == set(values)


def test_the_folder_is_named_like_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people(60).to_csv("ward-2024-Q1.csv", index=False)
    assert main(["init", "--from", "ward-2024-Q1.csv", "--sensitive", "disease", "--quiet"]) == 0
    assert load_series(tmp_path / "ward").name == "ward"
    assert main(["init"]) == 2


def test_what_is_proposed_loads(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    assert init(tmp_path, str(tmp_path / "t.csv"), "--sensitive", "disease", "--id", "patient") == 0
    assert load_series(tmp_path / "clinic").schema.sensitive.name == "disease"
