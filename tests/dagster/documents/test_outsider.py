"""With the published folder alone, pandas and json, every interval of every technique and form can be decoded."""

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from builders import outsider
from builders.long_lists import sampled
from builders.series import plainly_published
from pins.people import EDUCATION, RESULTS, Crowd

from reanon_dagster.cli import main

COLUMNS = """\
  age: {kind: numeric, min_width: 2, domain: [0, 120]}
  zip: {kind: numeric, min_width: 10, missing: separate}
  weight: {kind: numeric, granularity: 0.1, min_width: 2}
  born: {kind: date, min_width: 30}
  education: {kind: categorical, taxonomy: education.csv}
  gender: {kind: categorical, order: [M, F]}
"""
JOB = "  job: {kind: categorical, order: [teacher, baker, judge, smith, nurse], min_width: 2}\n"
WITHOUT_GAPS = COLUMNS.replace(", missing: separate", "") + JOB
STAYING = Crowd(size=60, releases=2, leave=0, moving=0, aging=False, join=12, gaps=8, seed=16)
LIVELY = Crowd(size=90, releases=2, leave=5, join=12, gaps=8, seed=3)


@dataclass(frozen=True)
class Shape:
    technique: str
    crowd: Crowd = LIVELY
    more: str = ""
    shown: str = ""
    columns: str = COLUMNS

    @property
    def text(self) -> str:
        return (
            "series: clinic\ntitle: Visits\nlicence: CC-BY-4.0\ncontact: data@example.org\n"
            'source: {path: "snapshots/{release}.csv", id: patient}\n'
            f"releases: {{names: [r1, r2]{self.shown}}}\nquasi_identifiers:\n{self.columns}"
            f"sensitive: disease\ntechnique: {{name: {self.technique}}}\n{self.more}"
        )


DECOUPLED = "publish: {form: decoupled, k: 5}\n"
SHOWN = ", columns: {r1: [age, education, disease], r2: [zip, job, weight, blood]}"
SHAPES = {
    "m-invariance": Shape("m-invariance, m: 3, not_eligible: pad"),
    "m-invariance, decoupled": Shape("m-invariance, m: 3, not_eligible: pad", more=DECOUPLED),
    "cor-split": Shape("cor-split, m: 3, n: 2, not_eligible: pad"),
    "cor-split, decoupled": Shape("cor-split, m: 3, n: 2, not_eligible: pad", more=DECOUPLED),
    "bpg": Shape("bpg, k: 4, ell: 2"),
    "js-reduce": Shape("js-reduce, k: 4, t: 0.6, j: 0.9", crowd=Crowd(size=90, releases=2, values=RESULTS, gaps=8)),
    "sequential": Shape("sequential, ell: 2", crowd=STAYING, columns=WITHOUT_GAPS),
    "sequential, some columns": Shape(
        "sequential, ell: 2", crowd=STAYING, shown=SHOWN, more="other: [blood]\n", columns=WITHOUT_GAPS
    ),
    "mondrian": Shape("mondrian, k: 4, ell: 2", columns=COLUMNS + JOB),
    "mondrian, csv, exact": Shape("mondrian, k: 4, ell: 2", more="publish: {formats: [csv], ends: exact}\n"),
}
EVERY_RUN = (
    "m-invariance, decoupled",
    "cor-split",
    "bpg",
    "js-reduce",
    "sequential, some columns",
    "mondrian, csv, exact",
)
"""Every technique once, and both forms. Their releases have no report, which would cost more than they do."""


@pytest.fixture(scope="module", params=sampled(SHAPES, EVERY_RUN))
def clinic(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two published releases; gives the folder of the series file."""
    shape: Shape = SHAPES[request.param]
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "snapshots").mkdir()
    for release, rows in zip(("r1", "r2"), shape.crowd.snapshots(), strict=True):
        frame = pd.DataFrame(rows)
        if "sequential" in shape.technique:  # it refuses missing values
            frame["zip"] = frame["zip"].replace("", "10100")
        frame.to_csv(folder / "snapshots" / f"{release}.csv", index=False)
    (folder / "education.csv").write_text("".join(f"{leaf},{node},any\n" for leaf, node in EDUCATION.items()))
    text = plainly_published(shape.text) if request.param in EVERY_RUN else shape.text
    (folder / "series.yaml").write_text(text)
    assert main(["backfill", str(folder / "series.yaml"), "--quiet"]) == 0
    return folder


def rows_name(folder: Path) -> str:
    return "rows" if any(folder.glob("rows.*")) else "table"


def traced(clinic: Path, release: str) -> list[tuple[dict[str, str], int]]:
    """Each published person with their snapshot's values and their row. Only the judge of this test knows it."""
    out = clinic / "private" / f"{release}.csv"
    if not out.exists():
        command = ["trace", str(clinic / "series.yaml"), "--release", release, "--out", str(out), "--quiet"]
        assert main(command) == 0
    people = pd.read_csv(clinic / "snapshots" / f"{release}.csv", dtype=str, keep_default_na=False)
    own = people.set_index("patient").to_dict("index")
    return [(own[person], int(row)) for person, row in pd.read_csv(out, dtype={"id": str}).itertuples(index=False)]


@pytest.mark.parametrize("release", sampled(["r1", "r2"], ["r2"]))
def test_every_interval_can_be_decoded_and_holds_the_value_of_its_person(clinic: Path, release: str) -> None:
    folder = clinic / "published" / "clinic" / release
    people, columns = traced(clinic, release), outsider.package(folder)["reanon"]["columns"]
    decoded = list(outsider.intervals(folder, rows_name(folder)))
    formats = {one["format"] for one in outsider.package(folder)["resources"]} - {"sql"}
    shown = [name for name, told in columns.items() if told["role"] == "quasi-identifier"]
    assert [name for name, _ in decoded] == shown * len(formats)
    for name, intervals in decoded:
        told = columns[name]
        for one in set(intervals):
            assert len(one.places) >= told["least_width"] / told.get("granularity", 1) or one.may_be_missing
            if "taxonomy" in told:
                assert one.node == outsider.lowest_node(set(one.labels), told["taxonomy"])
        assert all(intervals[row].holds(person[name]) for person, row in people)


@pytest.mark.parametrize("release", sampled(["r1", "r2"], ["r2"]))
def test_the_code_in_the_readme_counts_the_people_of_the_release(clinic: Path, release: str, monkeypatch: Any) -> None:
    folder = clinic / "published" / "clinic" / release
    monkeypatch.chdir(folder)
    blocks = [part.split("```")[0] for part in (folder / "README.md").read_text().split("```python\n")[1:]]
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert "reanon_core" not in "".join(blocks)
    assert float(pd.Series(names["estimate"]).sum()) == pytest.approx(len(traced(clinic, release)))
    if len(blocks) > 1:
        order = [told["order"] for told in outsider.package(folder)["reanon"]["columns"].values() if "order" in told]
        whole = next(some for some in order if names["interval"][0] in some)
        assert names["interval"] == whole[names["first"] : names["last"] + 1] != []


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
@pytest.mark.parametrize("release", sampled(["r1", "r2"], ["r2"]))
def test_the_code_for_r_counts_the_same_people(clinic: Path, release: str) -> None:
    folder = clinic / "published" / "clinic" / release
    (block,) = [part.split("```")[0] for part in (folder / "README.md").read_text().split("```r\n")[1:]]
    assert "arrow" not in block
    told = subprocess.run(
        ["Rscript", "--vanilla", "-e", f"{block}\ncat(sum(estimate))"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert float(told.stdout) == pytest.approx(len(traced(clinic, release)), abs=0.01)


def test_the_dictionary_lists_every_file_with_its_digest_and_the_terms(clinic: Path) -> None:
    published = clinic / "published" / "clinic"
    for release in ("r1", "r2"):
        package = outsider.package(published / release)
        listed = {one["path"]: one["hash"] for one in package["resources"]}
        there = {path.name for path in (published / release).iterdir()}
        assert set(listed) == there - {"README.md", "datapackage.json", "report.html", "manifest.json"}
        for name, digest in listed.items():
            assert digest == f"sha256:{hashlib.sha256((published / release / name).read_bytes()).hexdigest()}"
        assert package["licenses"] == [{"name": "CC-BY-4.0"}]
        assert package["contributors"][0]["title"] == "data@example.org"
        readme = (published / release / "README.md").read_text()
        for text in (f"# Visits: {release}", "CC-BY-4.0", "data@example.org", "## What a row is"):
            assert text in readme
    whole = outsider.package(published)
    assert {"order", "taxonomy"} <= set(whole["reanon"]["columns"]["education"])
    assert whole["reanon"]["columns"]["education"] == next(
        told["education"]
        for release in ("r1", "r2")
        if "education" in (told := outsider.package(published / release)["reanon"]["columns"])
    )


def test_verify_finds_the_folder_sound(clinic: Path) -> None:
    assert main(["verify", str(clinic / "published" / "clinic"), "--quiet"]) == 0
