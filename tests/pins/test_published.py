"""What was published under a seed is still published, byte for byte."""

import hashlib
import json
from pathlib import Path

import pytest
from builders.long_lists import sampled

from pins.case import Case
from pins.cases import CASES, EVERY_RUN
from pins.runner import DOCUMENTS, answers, backfill, differences, pinned, write

PINNED = pinned()


def test_every_case_is_pinned() -> None:
    assert list(PINNED) == list(CASES)


@pytest.mark.parametrize("name", sampled(CASES, EVERY_RUN))
def test_a_series_is_published_traced_and_audited_as_it_was(name: str, tmp_path: Path) -> None:
    """Where digests of files differ and those of content do not, look whether pyarrow changed; requirements.lock."""
    path = write(CASES[name], tmp_path / "series")
    assert backfill(path) == 0
    assert differences(answers(path, CASES[name], tmp_path), PINNED[name]) == []
    require_chain(CASES[name], path)


def require_chain(case: Case, path: Path) -> None:
    """Manifests name their files and the manifest before, and say nothing more than is pinned."""
    previous = None
    for release, one in PINNED[case.name]["releases"].items():
        text = (path.parent / "published" / case.name / release / "manifest.json").read_bytes()
        manifest = json.loads(text)
        assert set(manifest) == {*one["manifest"], "files", "series_files", "previous_manifest", "reanon"}
        tables = {name: told for name, told in manifest["files"].items() if name not in DOCUMENTS}
        assert tables == {name: {"sha256": digest} for name, digest in one["files"].items()}
        assert set(manifest["files"]) - set(tables) == DOCUMENTS == set(manifest["series_files"])
        assert manifest["previous_manifest"] == previous
        previous = hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("name", CASES)
def test_a_trace_has_one_row_for_each_person_who_is_published(name: str) -> None:
    for release, one in PINNED[name]["releases"].items():
        decoupled = "rows.parquet" in one["files"]  # whose rows are people, and counterfeits are among the values
        shown = one["manifest"]["rows"] - (0 if decoupled else one["manifest"]["counterfeits"])
        assert PINNED[name]["traces"][release]["people"] == shown
