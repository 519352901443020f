"""Runs the test suite: the tests that talk to a running Dagster, which mostly wait, run beside all others.

    python tests/suite.py [--all]

What the tests with a server print goes to build/server-tests.txt and is shown at the end. Whatever the tests have
started ends with this process, also if it is interrupted or killed.
"""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from builders.examples import ALL
from builders.guard import end, guarded

ROOT = Path(__file__).parents[1]
PRINTED = ROOT / "build" / "server-tests.txt"
PYTEST = [sys.executable, "-m", "pytest", "-q", "--durations=10", "--durations-min=5"]
TWO_WORKERS = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
SERVER_TESTS = "tests/dagster/server"


def suite(*, slow: bool) -> int:
    """Run all tests, with the slow ones or without; 0 if every one has passed, otherwise pytest's exit code."""
    only_quick = "" if slow else " and not slow"
    environment = {**os.environ, **({ALL: "1"} if slow else {})}
    PRINTED.parent.mkdir(exist_ok=True)
    started: list[subprocess.Popen[bytes]] = []
    try:
        with PRINTED.open("wb") as file:
            command = [*PYTEST, "-m", f"server{only_quick}", SERVER_TESTS]
            started.append(guarded(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT))
        command = [*PYTEST, *TWO_WORKERS, "-m", f"not server{only_quick}", "tests"]
        started.append(guarded(command, cwd=ROOT, env=environment))
        others = started[1].wait()
        print(f"\n{SERVER_TESTS} ran at the same time:", flush=True)
        served = started[0].wait()
        print(PRINTED.read_text(errors="replace"), end="", flush=True)
    finally:
        end(*started)
    return others or served


def main() -> int:
    """Run the tests. A request to end is an interrupt."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="also the tests that are too long for CI")
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return suite(slow=given.all)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
