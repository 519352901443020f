"""The page about series.yaml says what the models say."""

import re

from series_reference import TARGET, markdown

from reanon_core.catalog import TECHNIQUES
from reanon_dagster.series.config import SeriesConfig


def test_the_committed_page_is_what_the_models_say():
    assert TARGET.read_text(encoding="utf-8") == markdown(), "run python docs/series_reference.py"


def test_every_key_is_on_the_page_with_its_meaning():
    page = markdown()
    for name, field in SeriesConfig.model_fields.items():
        assert field.description
        assert re.search(rf"^\| `{name}` \|.*{re.escape(field.description)} \|$", page, re.MULTILINE)


def test_a_word_that_sets_several_parameters_is_explained_with_them():
    page = markdown()
    rows = [line for line in page.splitlines() if line.startswith("| `variant` | paper |")]
    assert len(rows) == sum("paper" in technique.declaration.variants for technique in TECHNIQUES.values()) == 2
    assert all("`balancing: filled`" in row and "`form: boxes` under `publish`" in row for row in rows)
    assert page.count("| yes, but refuse may become blocks |") == 2
