"""The figures of docs/using-a-release.md and docs/using-a-release.md: a spot re-run gives the same."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import ends  # noqa: E402
import estimate_coverage  # noqa: E402
import ten_questions  # noqa: E402

FIGURES = ROOT / "docs" / "figures"
KEPT = json.loads((FIGURES / "ten-questions.json").read_text())
COVERAGE = json.loads((FIGURES / "estimate-coverage.json").read_text())


@pytest.mark.skipif(not ends.ADULT.exists(), reason="Adult does not lie beside the project")
@pytest.mark.parametrize("form", [pytest.param("m-invariance, decoupled", marks=pytest.mark.slow), "mondrian"])
def test_a_spot_re_run_gives_the_same_answers(form: str) -> None:
    population = ends.adult(30_000, ends.ADULT)
    assert population is not None
    found = ten_questions.recorded(ten_questions.asked(population, form, KEPT["rows"], KEPT["seed"]))
    for again, kept in zip(found, KEPT["forms"][form], strict=True):
        assert again["question"] == kept["question"]
        for name in ("estimate", "low", "high", "truth"):
            assert again[name] == pytest.approx(kept[name], rel=1e-3, abs=1e-3), (again["question"], name)


def test_every_technique_and_form_is_asked_all_ten_questions() -> None:
    assert set(KEPT["forms"]) == set(ten_questions.FORMS)
    assert all(len(answers) == 10 for answers in KEPT["forms"].values())


def test_the_documents_show_the_tables_of_the_kept_answers() -> None:
    page = (ROOT / "docs" / "using-a-release.md").read_text()
    for name, answers in KEPT["forms"].items():
        technique = (ROOT / "docs" / "techniques" / f"{ten_questions.PAGES[name]}.md").read_text()
        for answer in answers:
            assert ten_questions.cell(answer) in page
            assert ten_questions.cell(answer) in technique


def test_the_page_of_estimates_shows_the_kept_coverage() -> None:
    page = (ROOT / "docs" / "using-a-release.md").read_text()
    for line in COVERAGE:
        assert estimate_coverage.table_line(line) in page


def test_nine_of_ten_intervals_of_the_ten_questions_hold_the_truth() -> None:
    held = [number for forms in KEPT["held"].values() for number in forms.values()]
    assert sum(held) >= 0.9 * 10 * len(held)
    assert f"{sum(held)} of {10 * len(held)}" in (ROOT / "docs" / "using-a-release.md").read_text()


def test_the_kept_coverage_of_every_technique_is_at_least_88_percent() -> None:
    assert {line["form"] for line in COVERAGE} == set(ten_questions.FORMS)
    assert min(line["covered"] for line in COVERAGE) >= 0.88
