"""Runs a command and ends it, with everything it has started, as soon as the process that asked for it is gone.

    python tests/builders/guard.py [--user NAME] COMMAND...

The guard reads its standard input, which ends when the other side closes it, or is killed and so closes it. It runs as
a script that needs the standard library only. On Linux it also ends what has moved into a session of its own.
"""

import argparse
import ctypes
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from pwd import getpwnam
from typing import Any

GRACE = 5.0
"""Seconds in which the command may end by itself."""
SUBREAPER = 36
"""Linux' PR_SET_CHILD_SUBREAPER: whatever outlives its own parent becomes a child of the guard."""


def guarded(command: list[str], *, user: str | None = None, **settings: Any) -> subprocess.Popen[bytes]:
    """Start a command under a guard, in a session of its own; it runs as the user, if one is given."""
    guard = [sys.executable, "-I", "-S", __file__, *(["--user", user] if user else [])]
    return subprocess.Popen([*guard, *command], stdin=subprocess.PIPE, start_new_session=True, **settings)


def end(*processes: subprocess.Popen[bytes]) -> None:
    """End guarded commands and everything that they have started."""
    for process in processes:
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
    for process in processes:
        process.wait(4 * GRACE)


def main() -> int:
    """Run the command until it ends or standard input does; leave no process behind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--user")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # a handler, because a command would inherit that a signal is ignored
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    account = {"user": given.user, "group": getpwnam(given.user).pw_gid, "extra_groups": []} if given.user else {}
    process = subprocess.Popen(given.command, stdin=subprocess.DEVNULL, **account)
    while process.poll() is None:
        closed, _, _ = select.select([sys.stdin], [], [], 0.1)
        if closed:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            break
    if sys.platform == "linux":
        kill_children()
    else:
        os.killpg(0, signal.SIGKILL)
    return process.returncode or 0


def kill_children() -> None:
    """Kill all descendants: as soon as a child has died, its own children are ours."""
    with suppress(ChildProcessError):
        while True:
            for child in children():
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            os.waitpid(-1, 0)


def children() -> list[int]:
    """The processes whose parent is this one, as /proc lists them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(int(folder.name))
    return found


if __name__ == "__main__":
    sys.exit(main())
