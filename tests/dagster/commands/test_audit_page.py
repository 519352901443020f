"""The page of an audit of releases from elsewhere, and the private file that says who is exposed."""

import csv
import random
import re
import runpy
import stat
from pathlib import Path

import pytest
from builders.series import write_series

from reanon_dagster.cli import main

EXAMPLE = Path(__file__).parents[3] / "data" / "elsewhere"
ATTACKS = ["--attack", "intersection,linear"]


def audit(*more: str) -> int:
    files = [str(EXAMPLE / name) for name in ("2023.csv", "2024.csv")]
    given = ["--schema", str(EXAMPLE / "schema.yaml"), "--people", str(EXAMPLE / "people.csv")]
    return main(["audit", "--releases", *files, *given, *more])


def truth() -> dict[str, str]:
    """The diagnosis of everyone in the example, which no file of it has."""
    generate = runpy.run_path(str(EXAMPLE / "generate.py"))
    rng = random.Random(7)
    first = generate["people"](rng, 0, 60)
    rng.sample(first, 42)
    return {one["name"]: one["diagnosis"] for one in first + generate["people"](rng, 60, 18)}


def test_the_page_begins_with_the_verdict_and_has_no_script_no_request_and_no_person(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    assert audit(*ATTACKS, "--html", str(page), "--quiet") == 0
    text = page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "default-src 'none'" in text
    assert re.findall(r"<script|src=\"(?!data:)|href=\"(?!data:)|url\(", text) == []
    plain = re.sub(r"<[^>]+>", " ", text)
    verdict = plain.index("12 of 78 people are exposed by these releases together")
    assert verdict < plain.index("Each release alone") < plain.index("Each attack") < plain.index("Limits")
    assert "The strongest attack, linear, exposes 12 of them" in plain
    assert "5 of 78 people exposed" in plain
    assert "Cannot see: people whom only counting exposes" in plain
    assert not re.search(r"\bP0\d\d\b", text)


def test_a_page_without_exposed_people_says_that_this_proves_nothing(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    assert audit("--attack", "difference", "--html", str(page), "--quiet") == 0
    assert "No attack exposes any of the 78 people." in page.read_text()
    assert "That is no proof of safety" in page.read_text()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_findings_name_the_exposed_people_with_true_values_for_their_steward_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    out = tmp_path / f"findings.{ending}"
    assert audit(*ATTACKS, "--findings", str(out), "--json", str(tmp_path / "answers.json")) == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    if ending == "csv":
        with out.open(newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(out).to_pylist()
    assert [one["attack"] for one in rows].count("intersection") == 5
    assert len({one["id"] for one in rows}) == 12
    known = truth()
    assert all(known[one["id"]] == one["inferred"] and float(one["confidence"]) == 1 for one in rows)
    assert [one["id"] for one in rows] == sorted(one["id"] for one in rows)
    said = "".join(capsys.readouterr()) + (tmp_path / "answers.json").read_text()
    assert "wrote who is exposed, 12 people, to" in said
    assert not any(name in said for name in known)


def test_findings_lie_outside_the_folder_of_a_release_in_a_new_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = EXAMPLE / "findings.csv"
    assert audit("--findings", str(place)) == 2
    assert "must lie outside the published folder, because the names of exposed people are private" in (
        capsys.readouterr().err
    )
    assert not place.exists()
    taken = tmp_path / "findings.csv"
    taken.write_text("mine\n")
    assert audit("--findings", str(taken)) == 2
    assert taken.read_text() == "mine\n"
    assert audit("--findings", str(tmp_path / "findings.txt")) == 2
    assert "--findings" in capsys.readouterr().err


def test_a_series_has_its_own_report_and_no_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    series = str(write_series(tmp_path))
    assert main(["audit", series, "--html", str(tmp_path / "audit.html"), "--findings", str(tmp_path / "f.csv")]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "--html must be given with --releases; `reanon report` writes the page of a series" in first
    assert "--findings must be given with --releases and --people" in second
    assert list(tmp_path.glob("*.html")) + list(tmp_path.glob("f.csv")) == []
