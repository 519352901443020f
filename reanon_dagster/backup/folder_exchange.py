"""Exchanges two folders in one step, so that a kill leaves either the old or the new one in place."""

import ctypes
import errno
import os
from pathlib import Path

AT_FDCWD = -100
RENAME_EXCHANGE = 2
UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def exchange(one: Path, other: Path) -> None:
    """Exchange the names of two folders on one file system.

    Where the system cannot do both in one step, they are three renames; a kill between them leaves a folder of another
    name beside the place, and nothing in it.

    Raises: OSError.
    """
    if _exchanged(one, other):
        return
    between = other.with_name(f"{one.name}.between")
    other.rename(between)
    one.rename(other)
    between.rename(one)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether the system could exchange the two."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))
