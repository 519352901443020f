"""The tables on planted relations in the documents are what the experiment found."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import estimate_series  # noqa: E402
import relations  # noqa: E402

KEPT = json.loads((ROOT / "docs" / "figures" / "relations.json").read_text())
ADULT = ROOT.parent / "shared" / "data" / "adult"


@pytest.mark.parametrize("line", [relations.table_line, relations.estimate_line])
def test_every_line_on_the_page_is_that_of_the_experiment(line: Callable[[str, dict[str, float]], str]) -> None:
    text = (ROOT / "docs" / "using-a-release.md").read_text()
    assert set(KEPT) == set(relations.WAYS)
    for way, found in KEPT.items():
        assert line(way, found) in text
    assert f"true {KEPT['Mondrian, k = 10']['truth']:.2f}" in text


def test_nine_of_ten_intervals_hold_the_truth_with_every_technique() -> None:
    assert all(min(found["held"], found["held, related"]) >= 0.9 for found in KEPT.values())


def test_counts_and_regressions_of_a_long_series_are_as_good_as_the_page_says() -> None:
    text = (ROOT / "docs" / "using-a-release.md").read_text()
    kept = json.loads((ROOT / "docs" / "figures" / "estimate-series.json").read_text())
    for form, releases in kept.items():
        for release, found in releases.items():
            assert estimate_series.table_line(form, int(release), found) in text
            assert found["held"] >= 0.9
            assert found["half width"] <= 0.08
            assert found["right sign"] == found["coefficients"] > 20
            assert found["within"] >= found["coefficients"] - 1


@pytest.mark.slow
@pytest.mark.skipif(not ADULT.exists(), reason="Adult does not lie beside the project")
def test_the_experiment_on_a_long_series_runs(tmp_path: Path) -> None:
    assert estimate_series.main(["--seeds", "1", "--people", "5000", "--out", str(tmp_path)]) == 0
    assert set(json.loads((tmp_path / "estimate-series.json").read_text())) == set(estimate_series.FORMS)


@pytest.mark.skipif(not ADULT.exists(), reason="Adult does not lie beside the project")
@pytest.mark.parametrize("form", ["boxes", "decoupled"])
def test_regions_keep_what_groups_without_them_lose_and_estimates_recover_the_rest(form: str) -> None:
    table = relations.planted(ADULT, 9_000, 50)
    plain, cut = (relations.measured(f"m-invariance{way}, {form}", table, 50) for way in (" without regions", ""))
    assert plain["kept"] < 0.5 < 0.8 < cut["kept"]
    assert cut["kept"] < cut["estimated"] < 1.1
    assert min(plain["held"], cut["held"]) > 0.9
