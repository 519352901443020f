"""`reanon publish --dry-run`: computed, judged, shown, and nothing written anywhere."""

import hashlib
import shutil
import sys
from pathlib import Path

import pytest
from builders.faults import Forgetful
from builders.series import SERIES, lively, people, write_series

from reanon_dagster.cli import main


@pytest.fixture
def series(tmp_path: Path) -> Path:
    return write_series(tmp_path, snapshots=lively())


def content(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Every file and folder with its digest, its mode and when it was changed."""
    return {
        str(path): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.stat().st_mode,
            path.stat().st_mtime_ns,
        )
        for path in (folder, *folder.rglob("*"))
    }


def test_a_dry_run_says_what_would_be_published_and_changes_nothing(
    series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for release in ("r1", "r2"):  # before there is a store, and after
        before = content(tmp_path)
        assert main(["publish", str(series), "--dry-run"]) == 0
        out, err = capsys.readouterr()
        assert out.startswith(f"clinic {release}: would publish ")
        assert "5 checks hold" in out
        assert "a typical count is off by" in out
        assert err == ""
        assert content(tmp_path) == before
        assert main(["publish", str(series), "--quiet"]) == 0
    before = content(tmp_path)
    assert main(["publish", str(series), "--dry-run", "--release", "r2"]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert content(tmp_path) == before


def test_a_dry_run_of_a_release_that_would_be_refused_exits_with_1_and_records_nothing(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", str(series), "--quiet"]) == 0
    before = content(tmp_path)
    with monkeypatch.context() as faulty:
        faulty.setitem(sys.modules["reanon_core.catalog"].TECHNIQUES, "m-invariance", Forgetful)
        assert main(["publish", str(series), "--dry-run"]) == 1
    assert "m-invariance fails" in capsys.readouterr().err
    assert content(tmp_path) == before
    people(60).assign(disease="flu").to_csv(tmp_path / "snapshots" / "r2.csv", index=False)
    before = content(tmp_path)
    assert main(["publish", str(series), "--dry-run"]) == 1
    assert main(["publish", str(series), "--dry-run", "--release", "r3"]) == 1
    assert content(tmp_path) == before


def test_a_dry_run_leaves_what_an_interrupted_process_left(series: Path, tmp_path: Path) -> None:
    assert main(["backfill", str(series), "--to", "r2", "--quiet"]) == 0
    staging = tmp_path / "private" / "clinic" / "staging"
    shutil.move(tmp_path / "published" / "clinic" / "r2", staging / "r2")
    before = content(tmp_path)
    assert main(["publish", str(series), "--dry-run", "--quiet"]) == 0
    assert content(tmp_path) == before


def test_withheld_people_are_counted_and_no_file_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = people(60)
    frame.loc[:24, "disease"] = "flu"
    text = SERIES.replace("m: 3}", "m: 3, not_eligible: defer}")
    series = write_series(tmp_path, text=text, snapshots={"r1": frame})
    assert main(["publish", str(series), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert " withheld (" in out
    assert "says who" not in out
    assert not (tmp_path / "private").exists()


def test_a_dry_run_has_no_data_docs(series: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["publish", str(series), "--dry-run", "--data-docs"])
    assert ended.value.code == 2
