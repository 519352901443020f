"""A sample of `make trust` in every test run: the same scripts, a few calls each."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trust import shim
from trust.result import KINDS

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a small run of all parts found; the processes of one test run share it."""
    shared = tmp_path_factory.getbasetemp()
    folder = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    report = folder / "trust.json"
    with (folder / "trust.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not report.exists():
            path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
            ran = subprocess.run(
                [sys.executable, "-m", "trust.run", "--size", "test", "--json", report],
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
            assert report.exists(), ran.stderr
    found: dict[str, Any] = json.loads(report.read_text())["parts"]
    return found


def require_nothing(found: dict[str, Any]) -> None:
    assert found["runs"], found
    assert found["counts"] == dict.fromkeys(KINDS, 0), found["notes"]


needs_library = pytest.mark.skipif(shim.why_not() is not None, reason=str(shim.why_not()))


@needs_library
def test_a_kill_at_a_file_call_loses_nothing_and_the_series_goes_on(sample: dict[str, Any]) -> None:
    require_nothing(sample["kills"])


@needs_library
def test_an_error_at_a_file_call_is_a_sentence_and_the_series_goes_on(sample: dict[str, Any]) -> None:
    require_nothing(sample["errors"])


@needs_library
def test_a_power_cut_loses_nothing_that_was_visible(sample: dict[str, Any]) -> None:
    require_nothing(sample["power"])


def test_a_damaged_file_is_told_and_nothing_is_published_twice(sample: dict[str, Any]) -> None:
    require_nothing(sample["corruption"])


@needs_library
def test_a_kill_while_a_series_is_withdrawn_forgotten_repaired_saved_or_restored_can_be_made_good(
    sample: dict[str, Any],
) -> None:
    require_nothing(sample["maintenance"])


def test_processes_at_once_publish_once(sample: dict[str, Any]) -> None:
    require_nothing(sample["races"])


def test_no_private_text_is_on_a_public_surface(sample: dict[str, Any]) -> None:
    require_nothing(sample["leaks"])
