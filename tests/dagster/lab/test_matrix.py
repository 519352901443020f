"""Planted cases behind the matrix of `reanon compare`: an attack wins where theory says so, and only there."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from builders.series import write_series

from reanon_dagster.cli import main

COLUMNS = """
series: planted
source: {path: "snapshots/{release}.csv", id: patient}
releases: {names: [%s]}
quasi_identifiers:
  age: {kind: numeric, domain: [0, 110]}
sensitive: disease
max_drift: null
min_returning: 0
publish: {ends: exact}
"""
FEW = f"{COLUMNS % 'r1, r2'}technique: {{name: cor-split, m: 2, n: 1}}\ncompare: {{naive: {{k: 2, ell: 2}}}}\n"


def compared(path: Path, techniques: str, attacks: str) -> dict[tuple[str, str], dict[str, Any]]:
    answer = path.parent / "answer.json"
    options = ["--technique", techniques, "--attack", attacks, "--metric", "gcp", "--json", str(answer), "--quiet"]
    assert main(["compare", str(path), *options]) == 0
    return {(one["technique"], one["attack"]): one for one in json.loads(answer.read_text())["cells"]}


def table(*people: tuple[str, int, str]) -> pd.DataFrame:
    return pd.DataFrame(people, columns=["patient", "age", "disease"])


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    """Ten people in pairs, which Mondrian cuts by age; two of the pairs never change.

    Ann is with Ben first, flu and cold, and then with Cid, flu and gout: her sets share flu alone. Eve is with Dora,
    cold and gout, and then with Gil, gout and asthma: hers share gout. So Ben has cold, Cid gout, Dora cold and Gil
    asthma, though each of them is in one release only. Of the two pairs that stay, both values stay possible.
    """
    stay = (("Hal", 90, "flu"), ("Ida", 91, "cold"), ("Jon", 100, "gout"), ("Kim", 101, "asthma"))
    first = table(("Ann", 10, "flu"), ("Ben", 12, "cold"), ("Dora", 60, "cold"), ("Eve", 61, "gout"), *stay)
    second = table(("Ann", 10, "flu"), ("Cid", 8, "gout"), ("Eve", 61, "gout"), ("Gil", 62, "asthma"), *stay)
    path = write_series(tmp_path_factory.mktemp("few"), text=FEW, snapshots={"r1": first, "r2": second})
    return compared(path, "naive,m-invariance,cor-split", "intersection,propagation,linear")


def test_an_intersection_sees_two_of_the_ten(few: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert (few["naive", "intersection"]["exposed"], few["naive", "intersection"]["of"]) == (2, 10)
    assert few["m-invariance", "intersection"]["exposed"] == few["cor-split", "intersection"]["exposed"] == 0


@pytest.mark.parametrize("attack", ["propagation", "linear"])
def test_counting_and_sums_of_groups_see_six_of_ten_and_none_where_signatures_stay(
    few: dict[tuple[str, str], dict[str, Any]], attack: str
) -> None:
    assert few["naive", attack]["exposed"] == 6
    assert few["m-invariance", attack]["exposed"] == 0
    assert few["cor-split", attack]["exposed"] == 0


def test_knowing_how_values_follow_each_other_exposes_people_of_the_naive_way_and_none_of_js_reduce(
    tmp_path: Path,
) -> None:
    """Values that seldom step on, among people who come and go: the past says much of the present."""
    rng = np.random.default_rng(5)
    everyone, values = np.arange(300), np.array(["a", "b", "c", "d", "e", "f"])
    age, start = rng.integers(0, 60, 300), rng.integers(0, 6, 300)
    frames = {}
    for step in range(6):
        here = np.flatnonzero(rng.random(300) < 0.8)
        now = values[(start[here] + step // 3) % 6]
        frames[f"r{step + 1}"] = pd.DataFrame({"patient": everyone[here], "age": age[here], "disease": now})
    text = (
        f"{COLUMNS % ', '.join(frames)}technique: {{name: js-reduce, k: 10, t: 0.3, j: 0.3}}\n"
        f"compare: {{naive: {{k: 2, ell: 2}}}}\n"
    )
    cells = compared(write_series(tmp_path, text=text, snapshots=frames), "naive,js-reduce", "background")
    assert cells["naive", "background"]["exposed"] >= 20
    assert cells["js-reduce", "background"]["exposed"] == 0
