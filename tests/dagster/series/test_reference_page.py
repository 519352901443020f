"""The page about series.yaml says what the models say."""

import re

from reanon_dagster.series.config import SeriesConfig
from reanon_dagster.series.reference_page import TARGET, markdown


def test_the_committed_page_is_what_the_models_say():
    assert TARGET.read_text(encoding="utf-8") == markdown(), "run python -m reanon_dagster.series.reference_page"


def test_every_key_is_on_the_page_with_its_meaning():
    page = markdown()
    for name, field in SeriesConfig.model_fields.items():
        assert field.description
        assert re.search(rf"^\| `{name}` \|.*{re.escape(field.description)} \|$", page, re.MULTILINE)
