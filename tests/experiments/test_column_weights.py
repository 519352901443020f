"""The table of docs/using-a-release.md on weights is what the experiment found."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import column_weights  # noqa: E402

KEPT = json.loads((ROOT / "docs" / "figures" / "column-weights.json").read_text())


@pytest.mark.parametrize("form", column_weights.FORMS)
def test_every_line_on_the_page_is_that_of_the_experiment(form: str) -> None:
    page = (ROOT / "docs" / "using-a-release.md").read_text()
    for name in column_weights.WEIGHTS:
        assert column_weights.table_line(form, name, KEPT["forms"]) in page


def test_a_gain_counts_the_draws_in_which_a_number_is_smaller() -> None:
    assert column_weights.gain({"x": [1.0, 2.0, 3.0]}, {"x": [2.0, 2.0, 2.0]}, "x") == (0.0, 1)
