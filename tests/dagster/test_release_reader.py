"""Analysts read published folders: the code of docs/using-a-release.md, the order of releases, the DuckDB view."""

import json
import re
import shutil
import subprocess
from contextlib import chdir
from pathlib import Path

import duckdb
import pytest

from reanon_core.model.errors import InvalidParameter
from reanon_dagster import open_release, open_releases, release_view
from reanon_dagster.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of `reanon init`, published in both forms."""
    folder = tmp_path_factory.mktemp("analyst") / "series"
    assert main(["init", str(folder), "--quiet"]) == 0
    text = (folder / "series.yaml").read_text()
    assert ", k: 4}" in text
    (folder / "boxes.yaml").write_text(text.replace(", k: 4}", ", form: boxes}").replace("hospital", "clinic", 1))
    for file in ("series.yaml", "boxes.yaml"):
        assert main(["backfill", str(folder / file), "--quiet"]) == 0
    return folder


def test_the_code_of_the_page_runs(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "using-a-release.md").read_text()
    asking, fitting, sql = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[-3:]
    monkeypatch.chdir(series)
    names: dict[str, object] = {}
    exec(asking, names)
    people = names["latest"].size
    assert names["by_disease"]["value"].sum() == pytest.approx(people)
    assert names["over_time"]["release"].tolist() == ["2024-Q1", "2024-Q2"]
    with pytest.raises(InvalidParameter, match="must have people of one region in each group"):
        exec(fitting, names)  # a dozen people are too few for regions
    exec(sql, {})
    monkeypatch.chdir(series)
    monkeypatch.undo()


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_r_code_of_the_page_counts_as_the_release_does(series: Path) -> None:
    page = (ROOT / "docs" / "using-a-release.md").read_text()
    blocks = re.findall(r"^```r\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    for name, block in zip(("clinic", "hospital"), blocks, strict=True):
        folder = series / "published" / name / "2024-Q2"
        command = ["Rscript", "--vanilla", "-e", f"{block}\ncat(estimate)"]
        told = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout
        with duckdb.connect() as connection, chdir(folder):
            connection.execute(Path("view.sql").read_text())
            query = "SELECT sum(weight * covered(age_min, age_max, 30, 39)) FROM people WHERE disease = 'gastritis'"
            (expected,) = connection.execute(query).fetchall()[0]
        assert float(told) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["hospital", "clinic"])
def test_the_view_beside_the_files_is_that_of_the_reader_and_has_the_columns_of_people(series: Path, name: str) -> None:
    folder = series / "published" / name / "2024-Q2"
    assert (folder / "view.sql").read_text() == release_view(folder)
    people = open_release(folder).people().to_pandas()
    with duckdb.connect() as connection, chdir(folder):
        connection.execute(Path("view.sql").read_text())
        shown = connection.execute("SELECT * FROM people").df()
    assert set(people.columns) <= set(shown.columns)
    for column in ("age_mid", "education_mid"):
        weights = [frame.groupby(column)["weight"].sum() for frame in (people, shown)]
        assert weights[0].to_dict() == pytest.approx(weights[1].to_dict())


@pytest.mark.parametrize("name", ["hospital", "clinic"])
def test_the_weights_of_the_view_count_the_people(series: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for release, asked in open_releases(series / "published" / name).items():
        folder = series / "published" / name / release
        manifest = json.loads((folder / "manifest.json").read_text())
        real = manifest["rows"] - (manifest["counterfeits"] if name == "clinic" else 0)
        assert asked.size - asked.withheld == real
        monkeypatch.chdir(folder)
        with duckdb.connect() as connection:
            connection.execute(release_view("."))
            counted, half = connection.execute(
                "SELECT sum(weight), sum(weight * covered(age_min, age_max, -1000, 1000)) FROM people"
            ).fetchall()[0]
        assert counted == pytest.approx(real)
        assert half == pytest.approx(real)


def test_csv_and_parquet_give_the_same_answers(series: Path, tmp_path: Path) -> None:
    folder = series / "published" / "hospital" / "2024-Q2"
    for file in ("manifest.json", "rows.csv", "values.csv"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    asked = {"disease": "gastritis", "age": (30, 39)}
    assert open_release(tmp_path).count(asked) == open_release(folder).count(asked)


def test_text_in_csv_files_stays_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = [
        (f"p{at}", ("01", "02", "")[at % 3], ("true", "false")[at % 2], ("007", "NA", "1e3")[at % 3])
        for at in range(60)
    ]
    lines = ["id,region,flag,code", *(",".join(one) for one in people)]
    (tmp_path / "r1.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "series.yaml").write_text(
        'series: odd\nsource: {path: "{release}.csv", id: id}\nreleases: {names: [r1]}\n'
        'sensitive: {column: code, values: ["007", "1e3", NA]}\n'
        'quasi_identifiers:\n  region: {kind: categorical, order: ["01", "02"], missing: separate}\n'
        '  flag: {kind: categorical, order: ["false", "true"]}\n'
        "technique: {name: m-invariance, m: 3}\npublish: {formats: [csv], form: boxes}\n"
    )
    assert main(["backfill", str(tmp_path / "series.yaml"), "--quiet"]) == 0
    folder = tmp_path / "published" / "odd" / "r1"
    asked = open_release(folder)
    assert asked.labels == ("007", "1e3", "NA")
    assert asked.count({"code": "007"}).value == pytest.approx(20)
    assert asked.count({"region": ["01", "02"]}).covers(40)
    assert asked.count({"flag": "true"}).covers(30)
    monkeypatch.chdir(folder)
    with duckdb.connect() as connection:
        connection.execute(release_view("."))
        found = connection.execute("SELECT code, sum(weight) FROM people GROUP BY code ORDER BY code").fetchall()
    assert found == [("007", 20), ("1e3", 20), ("NA", 20)]
    counting = re.findall(r"^```python\n(.*?)^```", Path("README.md").read_text(), re.MULTILINE | re.DOTALL)[-1]
    names: dict[str, object] = {}
    exec(counting, names)
    assert dict(names["estimate"]) == {"007": 20, "1e3": 20, "NA": 20}


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"must hold manifest\.json and the tables of a release"):
        open_release(tmp_path)
    with pytest.raises(InvalidParameter, match="must hold the releases of a series"):
        open_releases(tmp_path)
    with pytest.raises(InvalidParameter, match="must have a table, or rows and values"):
        release_view(tmp_path)
