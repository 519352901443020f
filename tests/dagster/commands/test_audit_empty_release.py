"""`reanon audit` on a release that follows an empty one, for a series and for its files alone."""

import json
from pathlib import Path

import pandas as pd
import pytest
from builders.series import SERIES, people, write_series

from reanon_core.catalog import ATTACKS
from reanon_dagster.cli import main

LEFT_OUT = {"worlds", "algorithm", "linkage"}
"""The first is for up to nine people; these releases have twelve. The second needs a technique that it can read, the
third a decoupled series, and location groups that show each of their values equally often."""
TECHNIQUES = [
    "m-invariance, m: 2",
    "cor-split, m: 3, n: 2",
    "bpg, k: 2, ell: 2, reserve: 1",
    "js-reduce, k: 2, t: 0.9, j: 0.9",
    "sequential, ell: 2",
    "mondrian, k: 2, ell: 2",
]


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_every_attack_answers_after_an_empty_release(tmp_path: Path, technique: str) -> None:
    snapshots = {"r1": people(0), "r2": people(12)}
    answering = set(ATTACKS) - LEFT_OUT - ({"location"} if technique.startswith("sequential") else set())
    text = SERIES.replace("m-invariance, m: 3", technique).replace("[r1, r2, r3, r4, r5]", "[r1, r2]")
    series, answers = str(write_series(tmp_path, text=text, snapshots=snapshots)), tmp_path / "answers.json"
    for release in snapshots:
        assert main(["publish", series, "--release", release, "--accept-drift", "it opens empty", "--quiet"]) == 0
    assert main(["audit", series, "--quiet", "--json", str(answers)]) == 0
    assert _answered(answers) >= answering
    files = [str(tmp_path / "published" / "clinic" / release / "table.csv") for release in snapshots]
    known = pd.concat([frame.assign(release=release) for release, frame in snapshots.items()])
    known.drop(columns="disease").to_csv(tmp_path / "people.csv", index=False)
    schema = tmp_path / "schema.yaml"
    schema.write_text("id: patient\nquasi_identifiers: {age: {}, zip: {}}\nsensitive: disease\n")
    given = ["--schema", str(schema), "--people", str(tmp_path / "people.csv"), "--json", str(answers)]
    assert main(["audit", "--releases", *files, *given, "--quiet"]) == 0
    assert _answered(answers) >= answering - {"insider"}, "files hold no person's value"


def _answered(path: Path) -> set[str]:
    return {attack["attack"] for attack in json.loads(path.read_text())["attacks"] if attack["of"] == 12}
