"""The library that counts, faults and records file calls: compiled where gcc is, loaded with LD_PRELOAD.

A process runs under it from its start (`ensure_loaded`), and nothing happens before it is armed. Forked children
inherit it, so one warm process can try a fault at every call.
"""

import ctypes
import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

SOURCE = Path(__file__).with_name("file_calls.c")
LOADED = "REANON_TRUST_LIBRARY"
"""The variable that names the library to the process that runs under it."""

OPEN, WRITE, NAME, REMOVE, FLUSH, SIZE, RIGHTS = (1 << bit for bit in range(7))
"""Kinds of calls, as file_calls.c has them."""


class Mode(IntEnum):
    """What the library does, as file_calls.c has it."""

    OFF, COUNT, KILL, TORN, FAIL_ONCE, FAIL_ON, RECORD = range(7)


@dataclass(frozen=True)
class Fault:
    """What meets which call."""

    name: str
    mode: Mode
    error: int = 0
    kinds: int = 0
    """The kinds of calls that it can meet; 0: all."""


KILL = Fault("kill -9 before the call", Mode.KILL)
TORN = Fault("kill -9 in the middle of a write", Mode.TORN, kinds=WRITE)
FULL = Fault("disk full from the call on", Mode.FAIL_ON, errno.ENOSPC, OPEN | WRITE | NAME | SIZE | FLUSH)
FULL_ONCE = Fault("disk full at one call", Mode.FAIL_ONCE, errno.ENOSPC, OPEN | WRITE | NAME | SIZE | FLUSH)
BROKEN = Fault("input/output error at one call", Mode.FAIL_ONCE, errno.EIO)
FORBIDDEN = Fault("permission denied from the call on", Mode.FAIL_ON, errno.EACCES, OPEN | NAME | REMOVE | RIGHTS)
KILLS = (KILL, TORN)
ERRORS = (FULL, FULL_ONCE, BROKEN, FORBIDDEN)


def why_not() -> str | None:
    """Why the library cannot be used here; None if it can."""
    if sys.platform != "linux":
        return "LD_PRELOAD and /proc need Linux"
    return None if shutil.which("gcc") else "gcc is not installed"


def compiled() -> Path:
    """The library, compiled once for each version of its source."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"reanon-trust-{os.getuid()}-{digest}.so"
    if not path.exists():
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "library.so"
            subprocess.run(
                ["gcc", "-O1", "-fPIC", "-shared", "-o", made, SOURCE, "-ldl", "-lpthread"],
                check=True,
                capture_output=True,
            )
            beside = path.with_suffix(f".{os.getpid()}")
            shutil.copy(made, beside)
            beside.rename(path)
    return path


def environment() -> dict[str, str]:
    """The environment of a process that runs under the library, if it can be used."""
    if why_not() is not None:
        return dict(os.environ)
    library = str(compiled())
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "LD_PRELOAD": library, LOADED: library}


def is_loaded() -> bool:
    """Whether this process runs under the library."""
    return LOADED in os.environ


def ensure_loaded() -> None:
    """Run this Python process again under the library, unless it already does or cannot."""
    if not is_loaded() and why_not() is None:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment())


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(os.environ[LOADED])
    library.trust_arm.argtypes = [ctypes.c_char_p, *[ctypes.c_int, ctypes.c_long], *[ctypes.c_int] * 3]
    library.trust_arm.restype = None
    library.trust_calls_of.restype = ctypes.c_long
    library.trust_shift.argtypes = [ctypes.c_longlong]
    return library


def arm(folder: Path, fault: Fault, at: int = 0, log: int = -1) -> None:
    """From now on, meet calls below the folder; the first call is number 1."""
    _library().trust_arm(str(folder.resolve()).encode(), fault.mode, at, fault.error, fault.kinds, log)


def disarm() -> None:
    """Let all calls through again."""
    _library().trust_disarm()


def calls(kinds: int = 0) -> int:
    """The calls of these kinds, or of all, since the library was armed."""
    return int(_library().trust_calls_of(kinds))


def shift_clock(seconds: int) -> None:
    """Move the clock of this process."""
    _library().trust_shift(seconds)
