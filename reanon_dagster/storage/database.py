"""DuckDB files that this process holds open. To attach one to a DuckDB that runs already takes a tenth of the time."""

import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_dagster.storage import encryption

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

NAME = "store"
"""The name of the file in its DuckDB."""
_GUARD = threading.RLock()
_RUNNING: "dict[tuple[int, Path, str | None], Database]" = {}
"""Every DuckDB that holds a file, and the last one that held one; by process, because threads do not survive a fork."""


@dataclass
class Database:
    """A DuckDB of its own for one file, which is attached while somebody uses it. All its users share what they see."""

    path: Path
    key: str | None = field(repr=False)
    engine: "duckdb.DuckDBPyConnection"
    read_only: bool = False
    users: int = 0
    failed: bool = field(default=False, repr=False)
    """Whether a use ended with an error: after some of them a DuckDB must begin anew."""

    @contextmanager
    def cursor(self) -> "Iterator[duckdb.DuckDBPyConnection]":
        """A connection for one of the users, who is gone at the end."""
        try:
            with self.engine.cursor() as connection:
                connection.execute(f"USE {NAME}")
                yield connection
        except BaseException:
            self.failed = True
            raise
        finally:
            self._let_go()

    def attach(self, *, read_only: bool) -> None:
        """Open the file.

        Raises: duckdb.Error.
        """
        quoted = str(self.path).replace("'", "''")
        options = [*(["READ_ONLY"] if read_only else []), *([] if self.key is None else ["ENCRYPTION_KEY $key"])]
        text = f"ATTACH '{quoted}' AS {NAME}" + (f" ({', '.join(options)})" if options else "")
        self.engine.execute(text, None if self.key is None else {"key": self.key})
        self.read_only = read_only

    def _let_go(self) -> None:
        with _GUARD:
            self.users -= 1
            if self.users:
                return
            if self.failed:
                self.end()
                return
            try:
                self.engine.execute(f"DETACH {NAME}")
            except BaseException:
                self.end()
                raise

    def end(self) -> None:
        """Close the file, and forget this DuckDB."""
        _RUNNING.pop(_place(self.path, self.key), None)
        self.engine.close()


def hold(path: Path, key: str | None, *, read_only: bool) -> Database | None:
    """The file for one more user in this process, created if it is missing and may be written.

    None if this process holds it in the other mode. Within a process all users share one database.

    Raises: duckdb.Error; InvalidParameter if it is encrypted, and the extension for it is missing.
    """
    with _GUARD:
        place = _place(path, key)
        for other, idle in list(_RUNNING.items()):
            if other != place and other[0] == os.getpid() and not idle.users:
                idle.end()
        found = _RUNNING.get(place)
        if found is None:
            found = _RUNNING[place] = _begun(path, key)
        elif found.users:
            if found.read_only != read_only:
                return None
            found.users += 1
            return found
        try:
            found.attach(read_only=read_only)
        except BaseException:
            found.end()
            raise
        found.users = 1
        return found


def _place(path: Path, key: str | None) -> tuple[int, Path, str | None]:
    return os.getpid(), path.resolve(), key


def _begun(path: Path, key: str | None) -> Database:
    """A DuckDB without the file. What it spills lies beside the file, and is encrypted if the file is.

    Raises: InvalidParameter without the extension.
    """
    import duckdb

    engine = duckdb.connect(":memory:", config=encryption.settings(path))
    try:
        if key is not None:
            encryption.prepare(engine)
        engine.execute(encryption.WITHOUT_LOG)
    except BaseException:
        with suppress(duckdb.Error):
            engine.close()
        raise
    return Database(path, key, engine)
