"""The files of a release, and their move to the public folder: whole, flushed, never over another version."""

import errno
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, parquet

from reanon_core.model.errors import Refused
from reanon_core.model.history import Published
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.tables.release_table import PART_ROWS, published_tables
from reanon_dagster.storage.published_folder import MANIFEST, WITHDRAWN, bury, move_to_public, write_files


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


def test_files_that_are_written_in_parts_are_those_of_the_whole_table(tmp_path: Path) -> None:
    """So that `doctor` can write a release of any size again, with the bytes that an earlier version wrote."""
    rows = PART_ROWS + 7
    disease = Sensitive(name="disease", values=("flu", "cold", 'a "quote"'))
    schema = Schema(quasi_identifiers=(QuasiIdentifier(name="age"),), sensitive=disease)
    group = (np.arange(rows) % 1000).astype(np.int32)
    low = np.arange(1000, dtype=np.int32)[None]
    release = Release(group, (np.arange(rows) % 3).astype(np.int32), Boxes(low, low + 5, np.zeros((1, 1000), np.int8)))
    auxiliary = Auxiliary(np.array([3], np.int32), np.array([2], np.int32))
    digests = write_files(tmp_path / "parts", Published(release, auxiliary), schema, ("parquet", "csv"))
    assert list(digests) == ["table.parquet", "table.csv", "counterfeits.parquet", "counterfeits.csv", "view.sql"]
    for name, table in published_tables(release, auxiliary, schema).items():
        parquet.write_table(table, tmp_path / f"{name}.parquet")
        csv.write_csv(table, tmp_path / f"{name}.csv")
        for form in ("parquet", "csv"):
            whole = (tmp_path / f"{name}.{form}").read_bytes()
            assert (tmp_path / "parts" / f"{name}.{form}").read_bytes() == whole
            assert digests[f"{name}.{form}"] == hashlib.sha256(whole).hexdigest()


def test_a_kill_of_a_withdrawal_leaves_nothing_in_the_release(
    staged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = tmp_path / "published" / "clinic" / "r1"
    (staged / MANIFEST).write_text('{"files": {"table.csv": {}}}')
    move_to_public(staged, release)
    seen: list[Path] = []
    replace = Path.replace

    def noted(self: Path, target: Path) -> Path:
        seen.append(self)  # what a kill before this call leaves
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", noted)
    bury(release, "{}")
    assert [path.parent for path in seen] == [tmp_path / "published"]
    assert {path.name for path in release.iterdir()} == {MANIFEST, WITHDRAWN}
