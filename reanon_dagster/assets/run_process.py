"""The process in which a run works: written to the run as a tag, so that a run whose process is gone can be ended."""

import os
import platform
from contextlib import suppress
from pathlib import Path

TAG = "reanon/process"
"""The run's tag: machine, start of the machine, process, start of the process."""
SERIES, RELEASE = "reanon/series", "reanon/release"
"""The tags of a run that name its series and its release: a quarter is 2024-Q2 there."""
PROC = Path("/proc")


def this_process() -> str | None:
    """What identifies this process as long as the machine runs; None where the system does not tell."""
    return _described(os.getpid())


def is_gone(tag: str | None) -> bool:
    """Whether the process of a tag has ended. One that is not known, or of another machine, counts as alive."""
    if tag is None:
        return False
    node, _, process, _ = tag.split(" ")
    return node == platform.node() and _described(int(process)) != tag


def _described(process: int) -> str | None:
    with suppress(OSError):
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        with suppress(OSError):
            begun = (PROC / str(process) / "stat").read_text().rpartition(")")[2].split()[19]
            return f"{platform.node()} {boot} {process} {begun}"
        return f"{platform.node()} {boot} {process} ended"
    return None
