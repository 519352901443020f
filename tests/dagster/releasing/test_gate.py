"""The gate: a failed check, a tampered candidate, a kill at any moment."""

import dataclasses
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from builders.faults import Forgetful
from builders.series import DEFAULT_BRAKES, SERIES, lively, people, plainly_published, releases_in, write_series

from reanon_core.model.errors import Refused
from reanon_core.model.release import Release
from reanon_dagster.cli import main
from reanon_dagster.releasing import gate
from reanon_dagster.releasing.release import make_candidate
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import published_folder, store_writer

TODAY = date(2030, 1, 1)


@pytest.fixture
def series(tmp_path: Path) -> Path:
    return write_series(tmp_path, snapshots=lively())


def published(folder: Path) -> list[str]:
    there = folder / "published" / "clinic"
    return releases_in(there)


def test_a_release_that_fails_its_check_is_not_published_and_blocks_the_next(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as faulty:
        faulty.setitem(sys.modules["reanon_core.catalog"].TECHNIQUES, "m-invariance", Forgetful)
        assert main(["backfill", str(series), "--quiet"]) == 1
    assert "m-invariance fails" in capsys.readouterr().err
    assert published(tmp_path) == ["r1"]
    main(["status", str(series)])
    assert "refused" in capsys.readouterr().out
    assert main(["publish", str(series), "--release", "r3"]) == 1
    assert main(["backfill", str(series), "--quiet"]) == 0  # with the fault mended it goes on where it stopped
    assert published(tmp_path) == ["r1", "r2", "r3", "r4", "r5"]


def test_a_candidate_that_is_not_what_was_judged_is_refused(series: Path, tmp_path: Path) -> None:
    loaded = load_series(series)
    candidate = make_candidate(loaded, read_view(loaded), "r1", TODAY)
    assert candidate is not None
    release = candidate.entry.release
    swapped = release.sensitive.copy()
    swapped[:2] = swapped[1::-1]
    entry = dataclasses.replace(candidate.entry, release=Release(release.group, np.roll(swapped, 1), release.boxes))
    with pytest.raises(Refused, match="not what its checks judged"):
        gate.accept(loaded, dataclasses.replace(candidate, entry=entry))
    assert published(tmp_path) == []
    assert read_view(loaded).records == []


def test_a_candidate_without_verdicts_is_refused(series: Path) -> None:
    loaded = load_series(series)
    candidate = make_candidate(loaded, read_view(loaded), "r1", TODAY)
    assert candidate is not None
    with pytest.raises(Refused, match="not judged"):
        gate.accept(loaded, dataclasses.replace(candidate, verdicts=()))


def test_a_candidate_prepared_before_another_was_published_is_refused(series: Path) -> None:
    loaded = load_series(series)
    early = make_candidate(loaded, read_view(loaded), "r1", TODAY)
    late = make_candidate(loaded, read_view(loaded), "r1", TODAY)
    assert early is not None
    assert late is not None
    gate.accept(loaded, early)
    with pytest.raises(Exception, match="in the meantime"):
        gate.accept(loaded, late)


@pytest.mark.parametrize("moment", ["before the commit", "after the commit"])
def test_a_failure_around_the_commit_leaves_the_old_or_the_new_release(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    main(["publish", str(series), "--quiet"])
    with monkeypatch.context() as broken:
        target = (store_writer, "commit") if moment == "before the commit" else (published_folder, "move_to_public")

        def fail(*_: object) -> None:
            raise KeyboardInterrupt

        broken.setattr(*target, fail)
        main(["publish", str(series), "--quiet"])
    assert published(tmp_path) == ["r1"]
    assert main(["publish", str(series), "--quiet"]) == 0
    assert published(tmp_path) == (["r1", "r2"] if moment == "before the commit" else ["r1", "r2", "r3"])
    assert main(["audit", str(series), "--quiet"]) == 0


def require_whole_releases(folder: Path) -> None:
    """Whatever is out is whole, and the chain of manifests holds."""
    previous = None
    for name in published(folder):
        path = folder / "published" / "clinic" / name
        text = (path / "manifest.json").read_bytes()
        manifest = json.loads(text)
        assert manifest["previous_manifest"] == previous
        for file, described in manifest["files"].items():
            assert hashlib.sha256((path / file).read_bytes()).hexdigest() == described["sha256"]
        previous = hashlib.sha256(text).hexdigest()


@pytest.mark.slow  # tests/trust kills at file calls in every run
def test_a_kill_at_any_moment_leaves_whole_releases_and_the_next_command_goes_on(tmp_path: Path) -> None:
    text = SERIES.replace("[r1, r2, r3, r4, r5]", str([f"r{i:02d}" for i in range(1, 17)]))
    snapshots = {f"r{i:02d}": people(1500) for i in range(1, 17)}
    series = write_series(tmp_path, text=text, snapshots=snapshots)
    command = [sys.executable, "-m", "reanon_dagster.cli", "backfill", str(series), "--quiet"]
    chance = random.Random(4)
    for _ in range(5):
        process = subprocess.Popen(command)
        began, before = time.monotonic(), len(published(tmp_path))
        # Wait until this process is at work on releases, then a random moment more.
        while len(published(tmp_path)) == before and process.poll() is None and time.monotonic() - began < 30:
            time.sleep(0.005)
        time.sleep(chance.random() * 0.15)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        require_whole_releases(tmp_path)
        if len(published(tmp_path)) == 16:
            break
    assert main(["backfill", str(series), "--quiet"]) == 0
    require_whole_releases(tmp_path)
    assert len(published(tmp_path)) == 16
    assert main(["audit", str(series), "--attack", "intersection", "--quiet"]) == 0


def test_a_store_that_was_killed_before_its_first_byte_is_begun_again(series: Path, tmp_path: Path) -> None:
    store = tmp_path / "private" / "clinic" / "store.duckdb"
    store.parent.mkdir(parents=True)
    store.touch()
    assert main(["publish", str(series), "--quiet"]) == 0
    assert published(tmp_path) == ["r1"]


def test_lost_memory_is_refused(series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["publish", str(series), "--quiet"])
    (tmp_path / "private").rename(tmp_path / "lost")
    assert main(["publish", str(series)]) == 1
    assert "could expose people" in capsys.readouterr().err
    (tmp_path / "lost").rename(tmp_path / "private")
    key = tmp_path / "private" / "clinic" / "pseudonym.key"
    right = key.read_bytes()
    for wrong in (bytes(16), None):
        key.unlink()
        if wrong is not None:
            key.write_bytes(wrong)
        assert main(["publish", str(series)]) == 1
        assert "restore it from a backup" in capsys.readouterr().err
        key.write_bytes(right)
    assert main(["publish", str(series), "--quiet"]) == 0


def test_a_snapshot_that_drifted_too_far_is_refused_where_the_series_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshots = {"r1": people(120), "r2": people(60)}
    series = write_series(tmp_path, text=DEFAULT_BRAKES + "max_drift: 0.3\n", snapshots=snapshots)
    assert main(["backfill", str(series)]) == 1
    assert "120 people before, 60 now (-50.0%), and max_drift is 0.3" in capsys.readouterr().err
    series.write_text(plainly_published(DEFAULT_BRAKES + "max_drift: 0.6\n"))
    assert main(["backfill", str(series), "--quiet"]) == 0
