"""The move to the public folder: whole, flushed before it is seen, and never over another version."""

import errno
import os
from pathlib import Path

import pytest

from reanon_core.model.errors import Refused
from reanon_dagster.storage.published_folder import MANIFEST, move_to_public


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    folder = tmp_path / "private" / "staging" / "r1"
    folder.mkdir(parents=True)
    (folder / MANIFEST).write_text("{}")
    (folder / "table.csv").write_text("a")
    return folder


@pytest.fixture
def another_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renames out of the staging folder fail, as between two file systems."""
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if "staging" in self.parts:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)


def test_another_version_is_never_replaced(staged: Path, tmp_path: Path) -> None:
    target = tmp_path / "published" / "r1"
    target.mkdir(parents=True)
    (target / MANIFEST).write_text('{"other": 1}')
    with pytest.raises(Refused, match="another version"):
        move_to_public(staged, target)
    assert (target / MANIFEST).read_text() == '{"other": 1}'
    assert staged.is_dir()


def test_a_release_that_is_there_already_is_left_alone(staged: Path, tmp_path: Path) -> None:
    target = tmp_path / "published" / "r1"
    target.mkdir(parents=True)
    (target / MANIFEST).write_text("{}")
    (target / "table.csv").write_text("a")
    before = target.stat().st_ino
    move_to_public(staged, target)
    assert target.stat().st_ino == before
    assert not staged.exists()


@pytest.mark.usefixtures("another_file_system")
def test_on_another_file_system_every_file_is_flushed_before_the_release_is_seen_and_staging_goes_last(
    staged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, flushed, seen = tmp_path / "published" / "r1", [], []
    fsync, rmdir = os.fsync, os.rmdir

    def noted(descriptor: int) -> None:
        flushed.append((Path(f"/proc/self/fd/{descriptor}").readlink().name, target.exists()))
        fsync(descriptor)

    def gone(path: str, **options: object) -> None:
        seen.append(target.exists())
        rmdir(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "rmdir", gone)
    move_to_public(staged, target)
    assert {name for name, visible in flushed if not visible} == {MANIFEST, "table.csv", ".r1.arriving"}
    assert ("published", True) in flushed
    assert seen
    assert all(seen)
    assert sorted(path.name for path in target.iterdir()) == [MANIFEST, "table.csv"]
    assert target.stat().st_mode & 0o777 == 0o755


@pytest.mark.usefixtures("another_file_system")
def test_a_copy_that_fails_leaves_the_staged_files_and_shows_nothing(
    staged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            move_to_public(staged, tmp_path / "published" / "r1")
    assert not (tmp_path / "published" / "r1").exists()
    move_to_public(staged, tmp_path / "published" / "r1")
    assert (tmp_path / "published" / "r1" / "table.csv").read_text() == "a"
