"""A published folder ahead of its private store: an older backup was put back, and nothing may be published twice."""

import hashlib
import shutil
from datetime import date
from pathlib import Path

import pytest
from builders.series import lively, write_series

from reanon_core.model.errors import Refused
from reanon_dagster.cli import main
from reanon_dagster.releasing.gate import accept
from reanon_dagster.releasing.release import make_candidate
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series_file import load_series


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def put_back(folder: Path, series: Path) -> dict[str, str]:
    """Publish two releases, put the private folder back as it was after the first, and give what is published."""
    assert main(["publish", str(series), "--quiet"]) == 0
    shutil.copytree(folder / "private", folder / "saved")
    assert main(["publish", str(series), "--quiet"]) == 0
    shutil.rmtree(folder / "private")
    (folder / "saved").rename(folder / "private")
    return digests(folder / "published")


@pytest.mark.parametrize(
    "command",
    [
        *("publish", "backfill", "validate", "publish --dry-run"),
        *("withdraw --release r1 --because mistake", "forget --id P0001"),
    ],
)
def test_an_older_private_folder_publishes_no_second_version_of_a_release(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    series = write_series(tmp_path, snapshots=lively(3, 72))
    before = put_back(tmp_path, series)
    name, *options = command.split()
    assert main([name, str(series), *options]) == 1
    told = capsys.readouterr().err
    assert "has releases that the private store does not know (r2)" in told
    assert "restore the latest private folder from a backup" in told
    assert digests(tmp_path / "published") == before
    assert main(["audit", str(series), "--attack", "intersection", "--quiet"]) == 1
    assert "clinic: release r2 is published, and the ledger does not know it" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["trace --release r1 --out trace.csv", "report", "backup --out backup.bin"])
def test_commands_that_only_read_an_older_private_folder_say_so(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REANON_BACKUP_PASSPHRASE", "a passphrase for this test only")
    monkeypatch.chdir(tmp_path)
    series = write_series(tmp_path, snapshots=lively(3, 72))
    put_back(tmp_path, series)
    name, *options = command.split()
    assert main([name, str(series), *options, "--quiet"]) == 0
    assert "has releases that the private store does not know (r2)" in capsys.readouterr().err


def test_the_gate_never_replaces_a_published_folder(tmp_path: Path) -> None:
    series = load_series(write_series(tmp_path, snapshots=lively(1, 72)))
    there = series.published_folder / "r1"
    there.mkdir(parents=True)
    (there / "notes.txt").write_text("of the steward")
    candidate = make_candidate(series, read_view(series), "r1", date(2030, 1, 1))
    assert candidate is not None
    with pytest.raises(Refused, match="holds r1 already, and the private store does not know it"):
        accept(series, candidate)
    assert [path.name for path in there.iterdir()] == ["notes.txt"]
    assert read_view(series).records == []
