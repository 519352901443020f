"""The synthetic census has the shape that the experiments rely on."""

import importlib.util
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "data" / "census"
SIZES = {"age": 79, "gender": 2, "education": 17, "birthplace": 57, "occupation": 50, "income": 50}
SENSITIVE = ["occupation", "income"]


@pytest.fixture(scope="module")
def census() -> ModuleType:
    spec = importlib.util.spec_from_file_location("census_generate", FOLDER / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def people(census: ModuleType) -> dict[str, np.ndarray]:
    return census.population(100_000, 7)


def test_the_same_seed_gives_the_same_people(census, people):
    again = census.population(100_000, 7)
    assert all(np.array_equal(people[name], again[name]) for name in SIZES)


def test_another_seed_gives_other_people(census, people):
    other = census.population(100_000, 8)
    assert all(not np.array_equal(people[name], other[name]) for name in SIZES)


def test_the_domains_have_the_sizes_of_the_paper(census, people):
    assert {name: len(values) for name, values in census.labels.items()} == SIZES
    assert all(len(set(values)) == len(values) for values in census.labels.values())
    for name, size in SIZES.items():
        assert people[name].dtype == np.int32
        assert people[name].min() >= 0
        assert people[name].max() < size


def test_every_value_occurs(people):
    assert {name: len(np.unique(codes)) for name, codes in people.items()} == SIZES


@pytest.mark.parametrize("name", SENSITIVE)
def test_no_sensitive_value_is_above_seven_and_a_half_percent(people, name):
    share = np.bincount(people[name], minlength=SIZES[name]) / len(people[name])
    assert share.max() <= 0.075
    assert share.max() >= 20 * share.min(), "a skewed table has rare values too"


def test_no_one_is_ahead_of_their_age(census, people):
    young = people["age"] + 17 < 20
    assert people["education"][young].max() < census.EDUCATIONS.index("bachelor's degree")


def test_attributes_depend_on_each_other(people):
    def correlation(one: str, other: str) -> float:
        return float(np.corrcoef(people[one], people[other])[0, 1])

    assert correlation("education", "income") > 0.25
    assert correlation("age", "education") < -0.1
    women = people["gender"] == 0
    by_gender = [np.bincount(people["occupation"][here], minlength=50) / here.sum() for here in (women, ~women)]
    assert np.abs(by_gender[0] - by_gender[1]).sum() > 0.4


def test_a_t_series_replaces_r_rows_by_rows_of_the_pool(census):
    series = census.t_series(3_000, 1_000, 200, 9, 1)
    assert [len(rows) for rows in series] == [1_000] * 9
    gone: set[int] = set()
    for before, after in pairwise(series):
        old, new = set(before.tolist()), set(after.tolist())
        assert len(new) == 1_000
        assert len(old - new) == len(new - old) == 200
        gone |= old - new
        assert gone.isdisjoint(new), "no one returns"


def test_a_t_series_is_determined_by_its_seed(census):
    one, same, other = (census.t_series(3_000, 1_000, 200, 4, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one[0], other[0])


def test_a_t_series_that_exhausts_the_pool_is_refused(census):
    census.t_series(3_000, 1_000, 200, 11, 1)
    with pytest.raises(ValueError, match="too few"):
        census.t_series(3_000, 1_000, 200, 12, 1)


@pytest.mark.parametrize("name", SENSITIVE)
@pytest.mark.parametrize("seed", [7, 8, 9])
def test_new_rows_of_the_demo_are_6_eligible_at_every_release(census, name, seed):
    sensitive = census.population(50_000, seed)[name]
    known = np.zeros(50_000, dtype=bool)
    for rows in census.t_series(50_000, 20_000, 2_000, 8, seed):
        new = rows[~known[rows]]
        known[rows] = True
        assert np.bincount(sensitive[new]).max() * 6 <= len(new)


def test_the_command_writes_one_csv_a_quarter(census, tmp_path, monkeypatch, capsys):
    wanted = ["generate.py", "--rows", "100", "--releases", "5", "--population", "500", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", wanted)
    census.main()
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["2024-Q1", "2024-Q2", "2024-Q3", "2024-Q4", "2025-Q1"]
    lines = (tmp_path / "2024-Q1.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "person,age,gender,education,birthplace,occupation"
    assert len(lines) == 101


def test_the_extract_is_the_beginning_of_the_first_snapshot(census, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["generate.py", "--releases", "1", "--out", str(tmp_path)])
    census.main()
    snapshot = (tmp_path / "2024-Q1.csv").read_text(encoding="utf-8").splitlines()
    assert (FOLDER / "extract.csv").read_text(encoding="utf-8").splitlines() == snapshot[:201]


def test_the_labels_are_the_leaves_of_the_taxonomies_in_their_order(census):
    for name in ("gender", "education", "birthplace"):
        text = (FOLDER / "taxonomies" / f"{name}.csv").read_text(encoding="utf-8")
        assert tuple(line.split(",")[0] for line in text.splitlines()) == census.labels[name]
