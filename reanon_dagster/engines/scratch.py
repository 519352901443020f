"""Scratch folders: private, one for each run, removed at its end or, after a crash, at the beginning of the next."""

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
SCRATCH, RUN, LOCK = "scratch", "run-", ".lock"
PATIENCE = 10.0
"""Seconds in which processes that are ending may still put files into a folder that is removed."""


@contextmanager
def scratch_folder(place: Path) -> Iterator[Path]:
    """A new folder in this one that only its owner can open; the folders of killed processes are removed first."""
    place.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    place.chmod(PRIVATE_FOLDER)
    with _locked(place / LOCK, fcntl.LOCK_EX):  # nobody sweeps between the creation of a folder and of its lock
        _remove_abandoned(place)
        folder = place / f"{RUN}{secrets.token_hex(8)}"
        folder.mkdir(mode=PRIVATE_FOLDER)
        held = _open(folder / LOCK)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        try:
            remove(folder)
        finally:
            os.close(held)


def sweep(place: Path) -> None:
    """Remove the folders of killed processes; nothing if there is no such place."""
    if place.is_dir():
        with _locked(place / LOCK, fcntl.LOCK_EX):
            _remove_abandoned(place)


def abandoned_folders(place: Path) -> list[Path]:
    """The folders whose process is gone, which is one that no longer holds its lock."""
    abandoned = []
    for folder in sorted(place.glob(f"{RUN}*")):
        with suppress(BlockingIOError, FileNotFoundError), _locked(folder / LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
            abandoned.append(folder)
    return abandoned


def _remove_abandoned(place: Path) -> None:
    """Remove the folders of killed processes.

    Requires: the place is locked, so that no one begins a folder meanwhile.
    """
    for folder in abandoned_folders(place):
        remove(folder)


def remove(folder: Path) -> None:
    """Remove the folder with everything in it.

    Raises: OSError if something is still there after some seconds.
    """
    end = time.monotonic() + PATIENCE
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        if time.monotonic() > end:
            shutil.rmtree(folder)
        time.sleep(0.1)


def write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner can read, whatever the umask is."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE), "w", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE_FILE)
