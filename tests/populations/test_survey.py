"""The synthetic survey has the shape that its source page describes."""

import importlib.util
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "data" / "survey"
Wave = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def survey() -> ModuleType:
    spec = importlib.util.spec_from_file_location("survey_generate", FOLDER / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=[7, 8, 9])
def waves(survey: ModuleType, request: pytest.FixtureRequest) -> list[Wave]:
    return survey.waves(22, request.param)


def cramers_v(one: np.ndarray, other: np.ndarray) -> float:
    """The association of two columns of codes: 0 if they are independent, 1 if one determines the other."""
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi_square = ((table - expected) ** 2 / expected).sum()
    return float(np.sqrt(chi_square / table.sum() / (min(table.shape) - 1)))


def test_it_grows_from_7062_to_8429_people_in_22_years(waves: list[Wave]) -> None:
    sizes = [len(wave["person"]) for wave in waves]
    assert (len(sizes), sizes[0], sizes[-1]) == (22, 7062, 8429)
    assert sizes == sorted(sizes)


def test_13_percent_leave_each_year_and_half_of_everyone_returns(waves: list[Wave]) -> None:
    left, seen, returned = [], np.empty(0, np.int64), np.empty(0, np.int64)
    for before, after in pairwise(waves):
        seen = np.union1d(seen, before["person"])
        left.append(1 - np.isin(before["person"], after["person"]).mean())
        came = np.setdiff1d(after["person"], before["person"])
        returned = np.union1d(returned, np.intersect1d(came, seen))
    assert np.mean(left) == pytest.approx(0.13, abs=0.005)
    assert max(left) < 0.15
    everyone = np.union1d(seen, waves[-1]["person"])
    assert len(returned) / len(everyone) == pytest.approx(0.48, abs=0.03)


def test_everyone_ages_and_nothing_else_changes(survey: ModuleType, waves: list[Wave]) -> None:
    for before, after in pairwise(waves):
        _, old, new = np.intersect1d(before["person"], after["person"], return_indices=True)
        assert (after["age"][new] - before["age"][old] == 1).all()
        for column in ("sex", "education", "marital", "region", "birthplace", "industry"):
            assert np.array_equal(after[column][new], before[column][old])
        assert survey.YOUNGEST <= after["age"].min() <= after["age"].max() <= survey.OLDEST


def test_one_industry_is_a_fifth_to_a_quarter_of_the_newcomers(survey: ModuleType, waves: list[Wave]) -> None:
    seen, shares = waves[0]["person"], []
    for wave in waves[1:]:
        new = ~np.isin(wave["person"], seen)
        seen = np.union1d(seen, wave["person"])
        counts = np.bincount(wave["industry"][new], minlength=25)
        assert counts.argmax() == survey.NEWCOMERS_INDUSTRY
        shares.append(counts.max() / new.sum())
    assert 0.2 < np.mean(shares) < 0.25
    assert 0.17 < min(shares) < max(shares) < 0.29  # some 500 newcomers a year
    assert max(shares) > 1 / 4, "m = 4 is not eligible in every year"


def test_columns_are_skewed_and_correlated_as_those_of_adult(waves: list[Wave]) -> None:
    first = waves[0]
    assert np.mean(first["birthplace"] == 0) == pytest.approx(0.91, abs=0.02)
    industries = np.bincount(first["industry"], minlength=25) / len(first["industry"])
    assert industries.max() == pytest.approx(0.11, abs=0.01)
    assert 0 < industries.min() < 0.01
    expected = {"sex": 0.4, "education": 0.15, "marital": 0.09, "region": 0.06, "birthplace": 0.06}
    found = {column: cramers_v(first[column], first["industry"]) for column in expected}
    assert found == pytest.approx(expected, abs=0.03)
    assert cramers_v(first["age"] // 10, first["industry"]) == pytest.approx(0.12, abs=0.03)
    assert cramers_v(first["age"] // 10, first["marital"]) > 0.25


def test_the_same_seed_gives_the_same_people_and_fewer_years_the_first_of_them(survey: ModuleType) -> None:
    short, long, other = survey.waves(3, 7), survey.waves(5, 7), survey.waves(3, 8)
    for one, same in zip(short, long, strict=False):
        assert all(np.array_equal(one[column], same[column]) for column in survey.COLUMNS)
    assert not np.array_equal(short[0]["industry"], other[0]["industry"])


def test_the_extract_is_the_beginning_of_the_first_snapshot(
    survey: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["generate.py", "--years", "2", "--out", str(tmp_path)])
    survey.main()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2003.csv", "2004.csv"]
    snapshot = (tmp_path / "2003.csv").read_text(encoding="utf-8").splitlines()
    assert (FOLDER / "extract.csv").read_text(encoding="utf-8").splitlines() == snapshot[:201]


def test_the_labels_are_the_leaves_of_the_taxonomies_in_their_order(survey: ModuleType) -> None:
    for name in ("sex", "education", "marital", "region", "birthplace"):
        text = (FOLDER / "taxonomies" / f"{name}.csv").read_text(encoding="utf-8")
        assert tuple(line.split(",")[0] for line in text.splitlines()) == survey.LABELS[name]
