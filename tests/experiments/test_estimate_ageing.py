"""The table of docs/using-a-release.md on people who age is what the experiment found."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import estimate_ageing  # noqa: E402

KEPT = json.loads((ROOT / "docs" / "figures" / "estimate-ageing.json").read_text())


def test_every_line_on_the_page_is_that_of_the_experiment() -> None:
    page = (ROOT / "docs" / "using-a-release.md").read_text()
    assert set(KEPT["forms"]) == set(estimate_ageing.FORMS)
    for form, found in KEPT["forms"].items():
        assert len(found) == 8
        assert estimate_ageing.table_line(form, found) in page
