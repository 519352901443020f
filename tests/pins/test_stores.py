"""Stores as 0.1.0 left them before the last release: this version reads them and goes on as 0.1.0 would have."""

import hashlib
import json
import stat
import tarfile
from pathlib import Path

import dagster as dg
import duckdb
import pytest
from builders.assets import Maker
from builders.long_lists import sampled

from pins.case import Case
from pins.cases import CASES, CONTINUED_IN_EVERY_RUN, STAGED, STORES
from pins.runner import SEED, STORED, answers, differences, pinned, published, run
from reanon_dagster.cli import main

PINNED = pinned()


def unpacked(case: Case, folder: Path) -> Path:
    """The series file of a store, with everything as it was."""
    with tarfile.open(STORED / f"{case.name}.tar.xz") as archive:
        archive.extractall(folder, filter="tar")  # unlike "data" it keeps the modes of folders
    return folder / "series.yaml"


def modes(path: Path) -> set[tuple[str, int]]:
    """The modes of everything private: (kind, mode)."""
    private = path.parent / "private"
    return {
        ("folder" if file.is_dir() else "file", stat.S_IMODE(file.stat().st_mode))
        for file in (private, *private.rglob("*"))
    }


CLOSED = {("folder", 0o700), ("file", 0o600)}


@pytest.mark.parametrize("name", sampled(STORES, CONTINUED_IN_EVERY_RUN))
def test_status_tells_how_an_old_store_stands(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[name]
    path = unpacked(case, tmp_path / "series")
    before = published(path, case)
    assert before == {release: PINNED[name]["releases"][release] for release in case.releases[:-1]}
    assert main(["status", str(path)]) == 0
    told = capsys.readouterr().out
    assert all(release in told for release in case.releases)
    assert published(path, case) == before
    assert modes(path) == CLOSED


@pytest.mark.parametrize("name", sampled(STORES, CONTINUED_IN_EVERY_RUN))
def test_an_old_store_is_continued_as_if_nothing_had_happened(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = unpacked(case, tmp_path / "series")
    assert run("publish", path, "--seed", SEED + len(case.releases) - 1) == 0
    assert differences(answers(path, case, tmp_path), PINNED[name]) == []
    assert modes(path) == CLOSED
    before, last = (path.parent / "published" / name / release for release in case.releases[-2:])
    manifest = json.loads((last / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["previous_manifest"] == hashlib.sha256((before / "manifest.json").read_bytes()).hexdigest()
    assert run("publish", path, "--release", case.releases[-1]) == 0  # nothing to do
    assert published(path, case) == PINNED[name]["releases"]


@pytest.mark.parametrize("name", sampled(STAGED, STAGED[-1:]))
def test_dagster_makes_a_release_anew_whose_candidate_the_old_version_had_stored(name: str, tmp_path: Path) -> None:
    case, last = CASES[name], CASES[name].releases[-1]
    path = unpacked(case, tmp_path / "series")
    store = path.parent / "private" / name / "store.duckdb"
    waiting = "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'candidates'"
    with duckdb.connect(str(store), read_only=True) as connection:
        assert connection.execute(waiting).fetchone() == (1,)
    with dg.DagsterInstance.ephemeral() as instance:
        assert Maker(path, instance).make(last).success
    assert sorted(published(path, case)) == sorted(case.releases)
    with duckdb.connect(str(store), read_only=True) as connection:
        assert connection.execute(waiting).fetchone() == (0,)
    assert modes(path) == CLOSED
