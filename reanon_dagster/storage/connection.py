"""Connections to a series' DuckDB file: one writer at a time, held briefly, with a sentence for a lock error."""

import fcntl
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused
from reanon_dagster.storage.pseudonym_key import private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

STORE = "store.duckdb"
LOCKED = "could not set lock"
"""What DuckDB says if another process holds the file."""
PATIENCE = 20.0
"""Seconds to wait for another process to release the file."""


@contextmanager
def opened(folder: Path, *, read_only: bool, patience: float = PATIENCE) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A connection to the store in this private folder.

    Raises: Refused if another process holds the file for longer than `patience` seconds.
    """
    private_folder(folder)
    path = folder / STORE
    connection = _connected(path, read_only=read_only, until=time.monotonic() + patience)
    try:
        yield connection
    finally:
        connection.close()


def _connected(path: Path, *, read_only: bool, until: float) -> "duckdb.DuckDBPyConnection":
    import duckdb

    mask = os.umask(0o077)  # only the owner may read the file and its log
    try:
        while True:
            try:
                with _exclusive(path.parent):
                    if not read_only and path.exists() and path.stat().st_size == 0:
                        path.unlink()  # a process was killed before it wrote anything
                    return duckdb.connect(str(path), read_only=read_only)
            except duckdb.IOException as error:
                if LOCKED not in str(error).lower():
                    raise Refused(
                        f"the private store {path.name} cannot be opened; restore it from a backup"
                    ) from error
                if time.monotonic() > until:
                    raise Refused("another process is working on this series; try again when it has finished") from None
            time.sleep(0.05)
    finally:
        os.umask(mask)


@contextmanager
def _exclusive(folder: Path) -> "Iterator[None]":
    """Let one process at a time connect: DuckDB checks for the file and creates it without a lock between the two.

    Without this, a process could open the file before its first bytes are written, or create it again over a commit.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # and release the lock
