"""Scratch folders are private, and gone after the run or, after a crash, at the next one."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from reanon_dagster.engines.scratch import scratch_folder, sweep

CRASH = """
import os, sys
from pathlib import Path
from reanon_dagster.engines.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "rows").write_text("private")
    print(folder, flush=True)
    if sys.argv[2] == "die":
        os.kill(os.getpid(), 9)
    sys.stdin.read()
"""


def crashing(place, what):
    command = [sys.executable, "-c", CRASH, str(place), what]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_folder_is_for_its_owner_alone_and_gone_after_an_error(tmp_path):
    mask = os.umask(0)
    try:
        with pytest.raises(KeyboardInterrupt), scratch_folder(tmp_path / "scratch") as folder:  # noqa: PT012
            assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
            (folder / "deep").mkdir()
            (folder / "deep" / "rows").write_text("private")
            raise KeyboardInterrupt
    finally:
        os.umask(mask)
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == [".lock"]


def test_the_folder_of_a_killed_process_is_swept_and_that_of_a_running_one_is_not(tmp_path):
    with crashing(tmp_path, "die") as killed, crashing(tmp_path, "wait") as running:
        left = killed.stdout.readline().strip()
        killed.wait(30)
        kept = running.stdout.readline().strip()
        assert left
        assert kept
        assert left != kept
        with scratch_folder(tmp_path):
            assert not Path(left).exists()
            assert Path(kept, "rows").exists()
        with crashing(tmp_path, "die") as other:
            left = other.stdout.readline().strip()
        assert Path(left).exists()
        sweep(tmp_path)
        sweep(tmp_path / "nowhere")
        assert not Path(left).exists()
        assert Path(kept, "rows").exists()
        running.communicate("", timeout=30)
        assert not Path(kept).exists()
