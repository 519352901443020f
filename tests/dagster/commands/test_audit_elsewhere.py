"""The example of docs/auditing-releases-from-elsewhere.md: its files, its numbers, and a hierarchy of ARX."""

import json
import runpy
import shutil
from pathlib import Path

from builders.series import people, write_series

from reanon_dagster.cli import main

EXAMPLE = Path(__file__).parents[3] / "data" / "elsewhere"
PAGE = EXAMPLE.parents[1] / "docs" / "auditing-releases-from-elsewhere.md"


def test_the_example_exposes_as_many_people_as_its_page_says(tmp_path: Path) -> None:
    out = tmp_path / "answers.json"
    files = [str(EXAMPLE / name) for name in ("2023.csv", "2024.csv")]
    given = ["--schema", str(EXAMPLE / "schema.yaml"), "--people", str(EXAMPLE / "people.csv")]
    attacks = ["--attack", "intersection,linear", "--json", str(out), "--quiet"]
    assert main(["audit", "--releases", *files, *given, *attacks]) == 0
    found = {one["attack"]: (one["exposed"], one["of"]) for one in json.loads(out.read_text())["attacks"]}
    assert found == {"intersection": (5, 78), "linear": (12, 78)}
    text = PAGE.read_text()
    assert "`intersection` exposes 5 of the 78 people" in text
    assert "exposes 12 of them" in text


def test_the_example_is_what_its_script_writes(tmp_path: Path) -> None:
    (tmp_path / "hierarchies").mkdir()
    shutil.copy(EXAMPLE / "generate.py", tmp_path)
    runpy.run_path(str(tmp_path / "generate.py"), run_name="__main__")
    for name in ("2023.csv", "2024.csv", "people.csv", "hierarchies/education.csv"):
        assert (tmp_path / name).read_bytes() == (EXAMPLE / name).read_bytes()


def test_a_hierarchy_of_arx_is_a_taxonomy_of_a_series(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "hierarchies" / "education.csv", tmp_path)
    frame = people(72)
    frame["education"] = ["primary", "secondary", "vocational", "bachelor", "master", "master"] * 12
    text = (
        'series: clinic\nsource: {path: "snapshots/{release}.csv", id: patient}\nreleases: {names: [r1]}\n'
        "quasi_identifiers:\n  education: {kind: categorical, taxonomy: education.csv}\n"
        "sensitive: disease\ntechnique: {name: mondrian, k: 4, ell: 2}\n"
    )
    series = write_series(tmp_path, text=text, snapshots={"r1": frame})
    assert main(["publish", str(series), "--quiet"]) == 0
    package = json.loads((tmp_path / "published" / "clinic" / "r1" / "datapackage.json").read_text())
    assert package["reanon"]["columns"]["education"]["taxonomy"][0] == ["primary", "school", "*"]
