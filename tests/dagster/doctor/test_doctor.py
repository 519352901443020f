"""`reanon doctor`: what is safe is repaired, and what is not is told."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from builders.series import SERIES, lively, write_series

from reanon_dagster.cli import main
from reanon_dagster.storage import published_folder

DECOUPLED = SERIES + "publish: {form: decoupled, k: 5}\n"


def two_releases(folder: Path, text: str) -> Path:
    series = write_series(folder, text=text, snapshots=lively(3, 72))
    assert main(["backfill", str(series), "--to", "r2", "--quiet"]) == 0
    return folder


@pytest.fixture(scope="module")
def _published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_releases(tmp_path_factory.mktemp("published"), SERIES)


@pytest.fixture
def folder(_published: Path, tmp_path: Path) -> Path:
    shutil.copytree(_published, tmp_path / "here")
    return tmp_path / "here"


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def doctor(folder: Path, *options: str) -> tuple[int, dict[str, set[str]]]:
    """The exit code, and the outcomes by what was examined."""
    out = folder / "doctor.json"
    code = main(["doctor", str(folder / "series.yaml"), "--quiet", "--json", str(out), *options])
    found: dict[str, set[str]] = {}
    for remark in json.loads(out.read_text())["remarks"]:
        found.setdefault(remark["what"], set()).add(remark["outcome"])
    return code, found


def test_a_sound_series_is_left_as_it_is(folder: Path) -> None:
    before = digests(folder / "published")
    assert doctor(folder)[0] == 0  # it may give free blocks back
    code, found = doctor(folder)
    assert code == 0
    assert set().union(*found.values()) == {"sound"}
    assert digests(folder / "published") == before


@pytest.mark.parametrize("text", [SERIES, DECOUPLED], ids=["boxes", "decoupled"])
def test_published_files_are_rebuilt_with_the_same_digests(tmp_path: Path, text: str) -> None:
    folder = two_releases(tmp_path, text)
    before = digests(folder / "published")
    there = folder / "published" / "clinic"
    shutil.rmtree(there / "r1")
    damaged = sorted(there.joinpath("r2").iterdir())
    damaged[0].unlink()
    damaged[1].write_bytes(b"x")
    (there / "r2" / "manifest.json").write_text("{}")
    assert main(["publish", str(folder / "series.yaml"), "--quiet"]) == 1
    code, found = doctor(folder, "--dry-run")
    assert (code, found["published files"] >= {"can be repaired"}) == (1, True)
    assert digests(folder / "published") != before
    code, found = doctor(folder)
    assert code == 0
    assert "repaired" in found["published files"]
    assert digests(folder / "published") == before
    assert not list((folder / "private" / "clinic" / "rebuilt").iterdir())
    assert main(["publish", str(folder / "series.yaml"), "--quiet"]) == 0


def test_bytes_that_cannot_be_rebuilt_are_told_and_not_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = next((folder / "published" / "clinic" / "r1").glob("*.csv"))
    lost.unlink()
    real = published_folder.write_files
    monkeypatch.setattr(
        "reanon_dagster.doctor.published.write_files", lambda *given: real(*given) | {lost.name: "another"}
    )
    code, found = doctor(folder)
    assert (code, found["published files"]) == (1, {"wrong"})
    assert not lost.exists()


def test_a_kill_during_a_repair_leaves_nothing_in_a_release(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the folder of a release is published: a file that its manifest does not list fails every command."""
    release, real = folder / "published" / "clinic" / "r1", published_folder.replace_file
    lost = next(release.glob("*.csv"))
    lost.unlink()
    ways: list[Path] = []

    def noted(path: Path, content: bytes, *, mode: int, by_way_of: Path) -> None:
        ways.append(by_way_of)
        real(path, content, mode=mode, by_way_of=by_way_of)

    monkeypatch.setattr(published_folder, "replace_file", noted)
    assert doctor(folder)[0] == 0
    assert lost.exists()
    assert [way.parent for way in ways] == [folder / "published"]
    left = folder / "published" / f".{ways[0].name}.0123456789abcdef"
    left.write_text("x")
    os.utime(left, (0, 0))
    assert doctor(folder)[1]["temporary files"] == {"repaired"}
    assert not left.exists()


def test_permissions_and_leftovers_are_repaired(folder: Path) -> None:
    private = folder / "private" / "clinic"
    (private / "store.duckdb").chmod(0o644)
    private.chmod(0o755)
    left = private / ".store.duckdb.0123456789abcdef"
    left.write_text("x")
    os.utime(left, (0, 0))
    code, found = doctor(folder)
    assert code == 0
    assert found["permissions of the private folder"] == {"repaired"}
    assert found["temporary files"] == {"repaired"}
    assert not left.exists()
    assert {path.stat().st_mode & 0o077 for path in (private, *private.rglob("*"))} == {0}


def test_a_damaged_head_file_is_written_again_from_what_is_published(folder: Path) -> None:
    head = folder / "private" / "clinic" / "head.json"
    right = head.read_text()
    head.write_text("{")
    assert main(["publish", str(folder / "series.yaml"), "--quiet"]) == 1
    assert doctor(folder)[1]["head files"] == {"repaired"}
    assert head.read_text() == right


def test_an_older_store_is_not_repaired(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(folder / "private", tmp_path / "older")
    assert main(["publish", str(folder / "series.yaml"), "--quiet"]) == 0
    shutil.rmtree(folder / "private")
    shutil.copytree(tmp_path / "older", folder / "private")
    (folder / "private" / "clinic" / "head.json").write_text("{")
    before = digests(folder / "published")
    code, found = doctor(folder)
    assert code == 1
    assert found["head files"] == {"wrong"}
    assert found["published files"] == {"wrong"}
    assert digests(folder / "published") == before
    assert "restore the latest private folder from a backup" in capsys.readouterr().err


def test_a_store_that_cannot_be_read_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = folder / "private" / "clinic" / "store.duckdb"
    content = bytearray(store.read_bytes())
    content[20000:60000] = bytes(40000)
    store.write_bytes(content)
    code, found = doctor(folder)
    assert code == 1
    assert found["the private store"] == {"wrong"}
    assert "restore it from a backup" in capsys.readouterr().err


def test_a_series_that_was_never_published_is_sound(tmp_path: Path) -> None:
    series = write_series(tmp_path, snapshots=lively(1, 72))
    assert main(["doctor", str(series), "--quiet"]) == 0
    assert not (tmp_path / "published").exists()


def test_free_blocks_are_given_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reanon_dagster.doctor.private_files.FREE", -1.0)
    store = folder / "private" / "clinic" / "store.duckdb"
    code, found = doctor(folder)
    assert (code, found["free blocks of the store"]) == (0, {"repaired"})
    assert store.stat().st_mode & 0o777 == 0o600
    assert main(["publish", str(folder / "series.yaml"), "--quiet"]) == 0
    assert main(["audit", str(folder / "series.yaml"), "--attack", "intersection", "--quiet"]) == 0
