"""A release that is committed and cannot be brought out: nothing is lost, and the next command that can finishes it."""

import errno
import os
import shutil
from pathlib import Path

import duckdb
import pytest
from builders.series import lively, releases_in, write_series

from reanon_dagster.cli import main
from reanon_dagster.releasing import gate
from reanon_dagster.storage import published_folder


@pytest.fixture
def series(tmp_path: Path) -> Path:
    return write_series(tmp_path, snapshots=lively(2, 72))


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_release_that_cannot_be_brought_out_is_told_and_finished_by_the_next_command(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as disk:
        disk.setattr(published_folder, "move_to_public", full)
        assert main(["publish", str(series), "--quiet"]) == 1
        told = capsys.readouterr().err
        assert "clinic r1: the release passed every check and is recorded, but its files could not be published" in told
        assert "No space left on device" in told
        for command in ("status", "publish", "backfill"):
            assert main([command, str(series), "--quiet"]) == 1
            assert "No space left on device" in capsys.readouterr().err
        trace = tmp_path / "private" / "trace.csv"
        assert main(["trace", str(series), "--release", "r1", "--out", str(trace), "--quiet"]) == 0  # reading goes on
    assert not (tmp_path / "published" / "clinic" / "r1").exists()
    assert main(["status", str(series), "--quiet"]) == 0
    assert main(["verify", str(tmp_path / "published" / "clinic"), "--quiet"]) == 0
    assert main(["publish", str(series), "--quiet"]) == 0
    assert releases_in(tmp_path / "published" / "clinic") == ["r1", "r2"]


def test_a_published_folder_that_cannot_be_written_is_refused_before_the_commit(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def closed(_: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(published_folder, "_probe", closed)
    assert main(["publish", str(series), "--quiet"]) == 1
    told = capsys.readouterr().err
    assert "the published folder cannot be written to (Read-only file system); nothing was changed" in told
    monkeypatch.undo()
    with duckdb.connect(str(tmp_path / "private" / "clinic" / "store.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM private.releases").fetchone() == (0,)
    assert main(["publish", str(series), "--quiet"]) == 0


def test_whatever_becomes_visible_is_in_the_private_head_file_first(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    heads, move = gate.write_heads, published_folder.move_to_public
    monkeypatch.setattr(gate, "write_heads", lambda *given: order.append("heads") or heads(*given))  # type: ignore[func-returns-value]
    monkeypatch.setattr(published_folder, "move_to_public", lambda *given: order.append("seen") or move(*given))  # type: ignore[func-returns-value]
    assert main(["publish", str(series), "--quiet"]) == 0
    assert order == ["heads", "seen", "heads"]


def test_strange_things_in_the_staging_folder_are_removed(series: Path, tmp_path: Path) -> None:
    assert main(["publish", str(series), "--quiet"]) == 0
    staging = tmp_path / "private" / "clinic" / "staging"
    (staging / "folder").mkdir()
    (staging / "notes.txt").write_text("x")
    (staging / "link").symlink_to(tmp_path / "snapshots")
    assert main(["status", str(series), "--quiet"]) == 0
    assert list(staging.iterdir()) == []
    assert (tmp_path / "snapshots" / "r1.csv").exists()


def test_the_store_and_its_folder_are_flushed_before_the_key_is_relied_on(
    series: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    assert main(["publish", str(series), "--quiet"]) == 0
    first = flushed.index("table.csv")
    assert any(name.startswith(".pseudonym.key") for name in flushed[:first])
    assert any(name.startswith(".store.duckdb") for name in flushed[:first])
    assert flushed[:first].count("clinic") >= 2
    assert {"private"} <= set(flushed[:first])


def test_errors_of_the_disk_are_sentences(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(published_folder, "write_files", full)
    assert main(["publish", str(series), "--quiet"]) == 1
    assert capsys.readouterr().err.startswith(
        "reanon: the disk is full, so a file could not be written; free some space"
    )
    monkeypatch.undo()

    def broken(*_: object, **__: object) -> None:
        raise KeyError("Zacharias-000001")

    monkeypatch.setattr(published_folder, "write_files", broken)
    assert main(["publish", str(series), "--quiet"]) == 1
    told = capsys.readouterr().err
    assert "unexpected KeyError in test_recovery.py" in told
    assert "Zacharias" not in told
    monkeypatch.setenv("REANON_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["publish", str(series), "--quiet"])
    shutil.rmtree(tmp_path / "private")
