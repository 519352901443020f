"""A test run that is cut short leaves no process behind: neither server nor run, database or browser."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from builders.series import lively, write_series

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]

TESTS = Path(__file__).parents[2]
MARK = "REANON_TEST_RUN"
SCRIPT = """
import sys, time
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from builders.browser import browsing, chromium
from builders.deployment import running
with ExitStack() as stack:
    if find_spec("psycopg2"):
        from builders.postgres import postgres, programs
        if programs():
            stack.enter_context(postgres())
    if chromium():
        stack.enter_context(browsing())
    server = stack.enter_context(running(Path(sys.argv[2]) / "home", {"clinic": Path(sys.argv[2])}))
    run = server.launch_run("clinic", {"dagster/partition": "r1"})
    begun = lambda: server.find_runs(runIds=[run], statuses=["STARTED"]) or None
    server.wait(begun, 180, "the run to begin")
    print("ready", flush=True)
    time.sleep(600)
"""
SECONDS = 30.0


def processes() -> Iterator[tuple[int, int, str, bool]]:
    """Every process: its id, its parent's, when it began, and whether it is more than a dead entry."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            values = (folder / "stat").read_text().rpartition(")")[2].split()
            yield int(folder.name), int(values[1]), values[19], values[0] != "Z"


def descendants(ancestor: int) -> dict[int, str]:
    """The processes below one, with the times at which they began."""
    found = {ancestor: ""}
    listed = sorted(processes(), key=lambda process: int(process[2]))
    for _ in range(10):  # a child may have begun in the same moment as its parent
        found |= {process: begun for process, parent, begun, _ in listed if parent in found}
    del found[ancestor]
    return found


def marked(mark: str) -> set[int]:
    """The processes with the mark in their environment."""
    found = set()
    for process, *_ in processes():
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in Path(f"/proc/{process}/environ").read_bytes():
                found.add(process)
    return found


def test_when_a_test_run_is_killed_everything_it_has_started_ends(tmp_path: Path) -> None:
    write_series(tmp_path, snapshots=lively(1))
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(TESTS), str(tmp_path)],
        env={**os.environ, MARK: tmp_path.name, "PYTHONWARNINGS": ""},
        stdout=subprocess.PIPE,
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            below = descendants(child.pid)
            names = " ".join(Path(f"/proc/{process}/cmdline").read_text() for process in below)
            for program in ("dagster_webserver", "_daemon", "api\0grpc", "multiprocessing.spawn"):
                assert program in names, program
        finally:
            child.send_signal(signal.SIGKILL)
    until = time.monotonic() + SECONDS

    def alive() -> set[int]:
        same = {process for process, _, begun, lives in processes() if lives and below.get(process) == begun}
        return same | marked(tmp_path.name)

    while alive() and time.monotonic() < until:
        time.sleep(0.2)
    assert alive() == set()
