"""Two processes on one series: a release is published whole and once, and the second process says so."""

import hashlib
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest
from builders.series import begin, lively, releases_in, write_series

from reanon_dagster.cli import main
from reanon_dagster.releasing import series_view
from reanon_dagster.series.series import Series
from reanon_dagster.storage import connection, database
from reanon_dagster.storage.connection import opened


@pytest.fixture
def series(tmp_path: Path) -> Path:
    return write_series(tmp_path, snapshots=lively(releases=3, size=120))


def both(command: list[str], *, pause: float) -> list[tuple[int, str]]:
    """Start a command twice, the second time after a pause, and tell how each ended and what it said."""
    running = []
    for wait in (0, pause):
        time.sleep(wait)
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    return [(process.returncode, said) for process in running for said in [process.communicate(timeout=60)[0]]]


def published(folder: Path) -> list[str]:
    """The releases that are out, each of them whole and linked to the one before."""
    previous, names = None, releases_in(folder / "published" / "clinic")
    for name in names:
        there = folder / "published" / "clinic" / name
        text = (there / "manifest.json").read_bytes()
        manifest = json.loads(text)
        assert manifest["previous_manifest"] == previous
        assert {path.name for path in there.iterdir()} == {*manifest["files"], "manifest.json"}
        for file, described in manifest["files"].items():
            assert hashlib.sha256((there / file).read_bytes()).hexdigest() == described["sha256"]
        previous = hashlib.sha256(text).hexdigest()
    return names


# Without a key the two part when they draw one; with a key both come as far as the gate.
@pytest.mark.parametrize(
    ("pause", "begun"),
    [(0.0, False), pytest.param(0.1, False, marks=pytest.mark.slow), pytest.param(0.0, True, marks=pytest.mark.slow)],
)
def test_a_first_release_that_two_processes_publish_at_once_is_published_once(
    series: Path, tmp_path: Path, pause: float, begun: bool
) -> None:
    if begun:
        begin(series)
    command = [sys.executable, "-m", "reanon_dagster.cli", "publish", str(series), "--release", "r1"]
    ended = both(command, pause=pause)
    for code, said in ended:
        assert "Traceback" not in said
        assert "backup" not in said  # nothing is lost
        if code != 0:
            assert code == 1
            assert "in the meantime; try again" in said
    assert sum("clinic r1: published" in said for _, said in ended) == 1, ended
    assert published(tmp_path) == ["r1"]
    with duckdb.connect(str(tmp_path / "private" / "clinic" / "store.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT release FROM private.releases").fetchall() == [("r1",)]
    assert main(["publish", str(series), "--quiet"]) == 0
    assert published(tmp_path) == ["r1", "r2"]
    assert main(["audit", str(series), "--attack", "intersection", "--quiet"]) == 0
    assert not any((tmp_path / "private" / "clinic" / "staging").iterdir())


def test_only_one_at_a_time_looks_for_the_store_and_makes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold, inside, most = database.hold, [0], [0]

    def slow(path: Path, key: str | None, *, read_only: bool) -> database.Database | None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.1)  # DuckDB looks whether the file is there, and a little later makes it
        held = hold(path, key, read_only=read_only)
        inside[0] -= 1
        return held

    def work(name: str) -> None:
        with opened(tmp_path, read_only=False) as store:
            store.execute(f"CREATE TABLE {name} (x INTEGER)")

    monkeypatch.setattr(connection, "hold", slow)
    with ThreadPoolExecutor() as pool:
        list(pool.map(work, ("one", "two", "three")))
    assert most == [1]


def test_a_release_that_comes_out_while_the_view_is_read_is_not_taken_for_a_lost_memory(
    series: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_unchanged = series_view.require_unchanged

    def be_late(series_: Series, frozen: str | None) -> None:
        monkeypatch.setattr(series_view, "require_unchanged", require_unchanged)
        assert main(["publish", str(series), "--quiet"]) == 0
        require_unchanged(series_, frozen)

    monkeypatch.setattr(series_view, "require_unchanged", be_late)
    assert main(["publish", str(series), "--release", "r1"]) == 1
    assert "in the meantime; try again" in capsys.readouterr().err
