"""The locks and the bill of materials: complete, with digests, and without a host."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from supply.sbom import ROOT, locked

LOCKS = sorted(ROOT.glob("requirements*.lock"))


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_package_of_a_lock_has_digests_and_no_host(path: Path) -> None:
    packages = locked(path)
    assert packages
    assert all(packages.values()), [name for name, digests in packages.items() if not digests]
    assert not re.search(r"://|--index|--find-links|@ ", path.read_text())


def test_no_package_is_in_two_locks_of_the_environment() -> None:
    run, dev = ({name for name, _ in locked(ROOT / lock)} for lock in ("requirements.lock", "requirements-dev.lock"))
    assert not run & dev
    assert {"duckdb", "dagster", "numpy", "pandas"} <= run
    assert {"pytest", "ruff", "mypy"} <= dev


def test_the_bill_of_materials_lists_every_line_of_the_lock(tmp_path: Path) -> None:
    target = tmp_path / "build" / "sbom.json"
    subprocess.run([sys.executable, "-m", "tests.supply.sbom", str(target)], cwd=ROOT, check=True, capture_output=True)
    document = json.loads(target.read_text())
    assert document["bomFormat"] == "CycloneDX"
    found = {
        (one["name"], one["version"]): [part["content"] for part in one["hashes"]] for one in document["components"]
    }
    assert found == locked()
    assert sum(bool(one["licenses"]) for one in document["components"]) > 0.9 * len(found)
