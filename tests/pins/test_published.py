"""What 0.1.0 published under a seed is published by this version too, byte for byte."""

import hashlib
import json
from pathlib import Path

import pytest
from builders.long_lists import sampled

from pins.case import Case
from pins.cases import CASES, EVERY_RUN
from pins.runner import DOCUMENTS, SEED, answers, differences, pinned, run, write

PINNED = pinned()
UNLIKE_BEFORE = {"bpg-ghost": "r1"}
"""Series whose bytes changed on purpose, and the last release that is as it was. Since then invented values are drawn
through fresh keys and kept: those of 0.1.0 were numbers of the generator, new ones in each release."""


def test_every_case_is_pinned() -> None:
    assert list(PINNED) == list(CASES)


@pytest.mark.parametrize("name", sampled(CASES, EVERY_RUN))
def test_a_series_is_published_traced_and_audited_as_it_was(name: str, tmp_path: Path) -> None:
    """Where digests of files differ and those of content do not, look whether pyarrow changed; requirements.lock."""
    path = write(CASES[name], tmp_path / "series")
    assert run("backfill", path, "--seed", SEED) == 0
    found = differences(answers(path, CASES[name], tmp_path), PINNED[name])
    if name in UNLIKE_BEFORE:
        assert found
        assert not [one for one in found if f"/{UNLIKE_BEFORE[name]}/" in one]
        return
    assert found == []
    require_chain(CASES[name], path)


def require_chain(case: Case, path: Path) -> None:
    """Manifests name their files and the manifest before, and say nothing more than they did."""
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
        shown = one["manifest"]["rows"] - one["manifest"]["counterfeits"]
        assert PINNED[name]["traces"][release]["people"] == shown
