"""The setting publish.ends: grid unless a series says otherwise, and frozen by its first release."""

import json
from pathlib import Path

import pandas as pd
import pytest
from builders.series import HOSPITAL, SERIES, people, plainly_published, write_series, writer

from reanon_core.model.schema import Ends
from reanon_dagster.cli import main
from reanon_dagster.series.series_file import load_series

EXACT = "publish: {ends: exact}\n"


def ends(path: Path) -> set[Ends]:
    return {column.ends for column in load_series(path).schema.quasi_identifiers}


def test_a_series_has_its_ends_on_the_grid_unless_it_says_otherwise(tmp_path: Path) -> None:
    written = writer(tmp_path)
    assert ends(written()) == {Ends.GRID}
    assert ends(written(HOSPITAL, more="publish: {formats: [csv]}\n")) == {Ends.GRID}
    assert ends(written(HOSPITAL, more=EXACT)) == {Ends.EXACT}


def test_published_intervals_begin_and_end_with_bins_and_the_manifest_names_them(tmp_path: Path) -> None:
    text = SERIES.replace("sensitive:", "  born: {kind: date}\n  weight: {granularity: 0.1}\nsensitive:")
    frame = people(60)
    frame["born"] = [f"19{60 + i % 40}-0{1 + i % 9}-15" for i in range(60)]
    frame["weight"] = [50 + i / 10 for i in range(60)]
    path = write_series(tmp_path, text=text, snapshots={"r1": frame})
    assert main(["publish", str(path), "--quiet"]) == 0
    folder = tmp_path / "published" / "clinic" / "r1"
    assert json.loads((folder / "manifest.json").read_text())["bins"] == {
        "age": {"width": "2", "from": "0"},
        "zip": {"width": "10", "from": "0"},
        "born": {"days": 28, "from": "1970-01-01"},
        "weight": {"share": "1/128", "least": "0.2"},
    }
    table = pd.read_parquet(folder / "table.parquet")
    assert (table["age_min"] % 2 == 0).all()
    assert ((table["age_max"] % 2 == 1) | (table["age_max"] == 110)).all()
    assert (table["zip_min"] % 10 == 0).all()
    assert (table["zip_max"] % 10 == 9).all()
    days = pd.to_datetime(table["born_min"]) - pd.Timestamp("1970-01-01")
    assert (days.dt.days % 28 == 0).all()
    tenths = (table["weight_min"] * 10).round().astype(int)
    assert (tenths % tenths.map(lambda code: 2 if code < 512 else 4) == 0).all()


def test_ends_are_frozen_by_the_first_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshots = {"r1": people(60), "r2": people(60)}
    path = write_series(tmp_path, snapshots=snapshots)
    assert main(["publish", str(path), "--quiet"]) == 0
    path.write_text(plainly_published(SERIES + EXACT))
    assert main(["publish", str(path), "--quiet"]) == 1
    assert "publish.ends was grid and is exact" in capsys.readouterr().err


def test_exact_ends_are_values_of_people(tmp_path: Path) -> None:
    frame = people(60)
    path = write_series(tmp_path, text=SERIES + EXACT, snapshots={"r1": frame})
    assert main(["publish", str(path), "--quiet"]) == 0
    folder = tmp_path / "published" / "clinic" / "r1"
    assert set(pd.read_parquet(folder / "table.parquet")["zip_min"]) <= set(frame["zip"])
    assert "bins" not in json.loads((folder / "manifest.json").read_text())


def test_other_ends_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path, text=SERIES + "publish: {ends: round}\n")
    assert main(["validate", str(path), "--quiet"]) == 2
    assert "publish.ends (round) must be one of grid, exact" in capsys.readouterr().err
