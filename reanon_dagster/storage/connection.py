"""Connections to a series' DuckDB file: one writer at a time, held briefly, with a sentence for every error."""

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused
from reanon_dagster.storage import encryption
from reanon_dagster.storage.database import Database, hold
from reanon_dagster.storage.durable_file import flush, temporary_file
from reanon_dagster.storage.pseudonym_key import private_folder
from reanon_dagster.storage.store_tables import VERSION, store_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

STORE = "store.duckdb"
LOCKED = "could not set lock"
"""What DuckDB says if another process holds the file."""
FULL = "no space left"
"""What DuckDB says if the disk is full."""
PATIENCE = 20.0
"""Seconds to wait for another process to release the file."""
LEAST_MEMORY = 200_000_000
"""DuckDB fails with less."""
BUSY = "another process is working on this series; try again when it has finished"
UNKNOWN_KEY = "wrong encryption key"
NO_KEY = "without a key"
NOT_ENCRYPTED = "is not encrypted"
"""What DuckDB says about keys."""


@contextmanager
def opened(
    folder: Path, *, read_only: bool, patience: float = PATIENCE, memory_limit: int | None = None
) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A connection to the store in this private folder, which is created if it is missing.

    DuckDB takes at most about so many bytes as the limit says, and spills the rest to a folder beside the store.

    Raises: Refused if another process holds the file for longer than `patience` seconds, or if the store cannot be
    read or written; InvalidParameter if the key that encrypts it is missing.
    """
    if not read_only:
        private_folder(folder)
    with opened_with(encryption.store_key(folder), folder, read_only=read_only, patience=patience) as connection:
        if memory_limit is None:
            yield connection
            return
        connection.execute(f"SET memory_limit = '{max(memory_limit, LEAST_MEMORY)}B'")
        try:
            yield connection
        finally:
            connection.execute("RESET memory_limit")


@contextmanager
def opened_with(
    key: str | None, folder: Path, *, read_only: bool, patience: float = PATIENCE
) -> "Iterator[duckdb.DuckDBPyConnection]":
    """The same with a given key, whatever the series declares; None for a store that is not encrypted.

    Raises: Refused.
    """
    path, until = folder / STORE, time.monotonic() + patience
    while True:
        with exclusive(folder):
            held = _held(path, key, read_only=read_only, final=time.monotonic() > until)
        if held is not None:
            break
        time.sleep(0.05)
    with _let_go(path, held) as connection:
        require_version(connection)
        yield connection


@contextmanager
def exclusively_opened(
    folder: Path, *, afterwards: Callable[[], None] | None = None, patience: float = PATIENCE
) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A connection during which no other process can open the store, and `afterwards` neither: to exchange the file.

    Raises: Refused if another process holds the file for longer than `patience` seconds, or if the store cannot be
    read or written.
    """
    private_folder(folder)
    path, key, until = folder / STORE, encryption.store_key(folder), time.monotonic() + patience
    while True:
        with exclusive(folder):
            held = _held(path, key, read_only=False, final=time.monotonic() > until)
            if held is not None:
                with _let_go(path, held) as connection:
                    require_version(connection)
                    yield connection
                if afterwards is not None:
                    afterwards()
                return
        time.sleep(0.05)


def require_version(connection: "duckdb.DuckDBPyConnection") -> None:
    """Refuse a store that another version of reanon made.

    Raises: Refused.
    """
    found = store_version(connection)
    if found not in {None, str(VERSION)}:
        said = f"version {found}" if found else "no version"
        raise Refused(
            f"the private store has {said}, and this version of reanon reads version {VERSION} only; a series of an "
            f"earlier development version cannot be continued, so begin a new series in another folder"
        )


def attach(connection: "duckdb.DuckDBPyConnection", path: Path, name: str, key: str | None) -> None:
    """Attach another database file that only its owner can read, and create it if it is missing."""
    mask = os.umask(0o077)
    try:
        quoted = str(path).replace("'", "''")
        keyed, given = ("", None) if key is None else (" (ENCRYPTION_KEY $key)", {"key": key})
        connection.execute(f"ATTACH '{quoted}' AS {name}{keyed}", given)
    finally:
        os.umask(mask)


@contextmanager
def _let_go(path: Path, held: Database) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A connection; what DuckDB says becomes a sentence of ours."""
    import duckdb

    try:
        with held.cursor() as connection:
            yield connection
    except duckdb.Error as error:
        raise Refused(_trouble(path, error)) from error


def _held(path: Path, key: str | None, *, read_only: bool, final: bool) -> Database | None:
    """The store, held for this process; None if another one holds it.

    Requires: no other process connects meanwhile.

    Raises: Refused if the file cannot be opened, or if another process holds it and this was the final attempt.
    """
    import duckdb

    mask = os.umask(0o077)  # only the owner may read the file and its log
    try:
        if not read_only and not has_bytes(path):
            _create(path, key)
        held = hold(path, key, read_only=read_only)
    except duckdb.Error as error:
        if LOCKED not in str(error).lower():
            raise Refused(_trouble(path, error)) from error
        held = None
    finally:
        os.umask(mask)
    if held is None and final:
        raise Refused(BUSY)
    return held


def has_bytes(path: Path) -> bool:
    """Whether there is a file with content: an empty one was left by a process that was killed before it wrote."""
    return path.exists() and path.stat().st_size > 0


@contextmanager
def exclusive(folder: Path) -> "Iterator[None]":
    """Let one process at a time connect: DuckDB checks for the file and creates it without a lock between the two.

    Without this, a process could open the file before its first bytes are written, or create it again over a commit.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # and release the lock


def _create(path: Path, key: str | None) -> None:
    """An empty store, whole or not there at all: DuckDB's own first bytes are several writes."""
    temporary = temporary_file(path)
    held = hold(temporary, key, read_only=False)
    if held is None:
        raise Refused(BUSY)
    with held.cursor():
        pass
    flush(temporary)
    temporary.replace(path)
    flush(path.parent)


def _trouble(path: Path, error: "duckdb.Error") -> str:
    """What is wrong with the store. DuckDB's own text may quote values, so it stays out."""
    text = str(error).lower()
    about_keys = {
        NO_KEY: encryption.encrypted_sentence,
        NOT_ENCRYPTED: encryption.plain_sentence,
        UNKNOWN_KEY: encryption.wrong_key_sentence,
    }
    for said, sentence in about_keys.items():
        if said in text:
            return sentence(path.name)
    if FULL in text:
        return f"the disk is full, so the private store {path.name} could not be written; free some space and try again"
    if "permission denied" in text:
        return f"the private store {path.name} cannot be opened: permission denied"
    return (
        f"the private store {path.name} cannot be used ({type(error).__name__}): it is damaged, or was made by a later "
        f"version of DuckDB; run `reanon doctor`, or restore it from a backup"
    )
