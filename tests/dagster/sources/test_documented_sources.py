"""The examples of docs/sources.md are sources, and every kind has one."""

import re
from pathlib import Path

import pytest
import yaml
from builders.documented_steps import BLOCK

from reanon_dagster.definitions import ROOT
from reanon_dagster.sources.kinds.catalog import SOURCES, read_source
from reanon_dagster.sources.kinds.file_formats import FORMATS

PAGE = ROOT / "docs" / "sources.md"
EXAMPLES = [text for language, text in BLOCK.findall(PAGE.read_text()) if language == "yaml"]


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_is_a_source_that_waits_for_its_snapshot(example: str, tmp_path: Path, monkeypatch) -> None:
    source = read_source(yaml.safe_load(example)["source"]).in_order(lambda release: iter([release]))
    monkeypatch.delenv("CLINIC_DSN", raising=False)
    assert source.id == "patient"
    if not example.startswith("source: {postgres"):
        pytest.importorskip("deltalake") if "delta" in example else None
        assert not source.exists(tmp_path, "2024-Q1")


def test_every_kind_has_an_example_and_every_format_is_named() -> None:
    kinds = {type(read_source(yaml.safe_load(example)["source"])) for example in EXAMPLES}
    assert kinds == set(SOURCES.values())
    named = set(re.findall(r"\.[a-z]+(?:\.[a-z]+)?\b", PAGE.read_text()))
    assert set(FORMATS) <= named


def test_every_extra_that_the_page_names_is_declared() -> None:
    named = set(re.findall(r"reanon\[([a-z-]+)\]", PAGE.read_text()))
    declared = (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2]
    assert named == {extra for extra in named if re.search(rf"^{extra} = ", declared, re.MULTILINE)}
    assert named >= {"excel", "stata", "spss", "sas", "delta", "postgres-source"}
