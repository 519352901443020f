"""The page about a release that `publish` writes beside its tables."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from builders.private_texts import leaks, private_texts
from builders.series import SERIES, lively, write_series

from reanon_dagster.cli import main

WITH_REPORT = SERIES + "publish: {report: true, formats: [csv]}\n"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series of two releases with reports."""
    path = write_series(tmp_path_factory.mktemp("reported"), text=WITH_REPORT, snapshots=lively(2, 60))
    assert main(["backfill", str(path), "--quiet"]) == 0
    return path


def page(path: Path, release: str) -> Path:
    return path.parent / "published" / "clinic" / release / "report.html"


def test_every_release_has_its_report_and_the_manifest_its_digest(path: Path) -> None:
    for release in ("r1", "r2"):
        manifest = json.loads(page(path, release).with_name("manifest.json").read_text())
        digest = hashlib.sha256(page(path, release).read_bytes()).hexdigest()
        assert manifest["files"]["report.html"]["sha256"] == digest
        assert manifest["files"]["table.csv"]["sha256"] in page(path, release).read_text()
        assert "`report.html`" in page(path, release).with_name("README.md").read_text()
    assert "r1" in page(path, "r2").read_text()
    assert main(["verify", str(page(path, "r1").parents[1]), "--quiet"]) == 0


def test_the_report_names_no_one_asks_for_nothing_and_runs_nothing(path: Path) -> None:
    text = page(path, "r2").read_text()
    assert leaks(private_texts(path.parent / "snapshots"), text) == []
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert [one for one in re.findall(r'(?:src|href)="([^"#]+)', text) if not one.startswith("data:")] == []


def test_the_report_is_rebuilt_with_the_same_digest(path: Path) -> None:
    before = page(path, "r1").read_bytes()
    page(path, "r1").write_text("another page")
    assert main(["status", str(path), "--quiet"]) == 1
    assert main(["doctor", str(path), "--quiet"]) == 0
    assert page(path, "r1").read_bytes() == before
    assert main(["status", str(path), "--quiet"]) == 0


def test_a_withdrawn_release_loses_its_report(tmp_path: Path) -> None:
    path = write_series(tmp_path, text=WITH_REPORT, snapshots=lively(1, 60))
    assert main(["backfill", str(path), "--quiet"]) == 0
    assert main(["withdraw", str(path), "--quiet", "--release", "r1", "--because", "a test"]) == 0
    assert not page(path, "r1").exists()
    assert main(["verify", str(page(path, "r1").parents[1]), "--quiet"]) == 0


def test_a_series_may_have_no_reports(tmp_path: Path) -> None:
    path = write_series(tmp_path, snapshots=lively(1, 60))
    assert "report: false" in path.read_text()
    assert main(["publish", str(path), "--quiet"]) == 0
    assert not page(path, "r1").exists()
