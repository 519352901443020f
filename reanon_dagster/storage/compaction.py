"""The store in a file without free blocks: what was deleted or replaced is nowhere in it any more."""

from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused
from reanon_dagster.storage import encryption
from reanon_dagster.storage.connection import STORE, attach, exclusively_opened
from reanon_dagster.storage.durable_file import flush

if TYPE_CHECKING:
    import duckdb

COMPACTED = ".store.compacted"
"""The new file until it is complete."""


def compact(folder: Path) -> tuple[int, int]:
    """Rewrite the store, and return its bytes before and after. A kill leaves the old file or the new one.

    Raises: Refused if another process holds the store, or if the copy differs from it; the store is unchanged then.
    """
    path, copy = folder / STORE, folder / COMPACTED
    log = path.with_name(f"{STORE}.wal")
    _remove(copy)
    sizes = []

    def exchange() -> None:
        if log.exists():
            raise Refused("the store's log could not be cleared, so the store was not compacted; try again")
        flush(copy)
        copy.replace(path)
        flush(folder)

    try:
        with exclusively_opened(folder, afterwards=exchange) as connection:
            sizes.append(sum(one.stat().st_size for one in (path, log) if one.exists()))
            connection.execute("CHECKPOINT")
            _copy(connection, copy)
        return sizes[0], path.stat().st_size
    finally:
        _remove(copy)


def _copy(connection: "duckdb.DuckDBPyConnection", copy: Path) -> None:
    """Copy every table to a new file, and compare the number of their rows."""
    found = connection.execute("SELECT current_database()").fetchone()
    own = "" if found is None else str(found[0])
    attach(connection, copy, "compacted", encryption.store_key(copy.parent))
    connection.execute(f'COPY FROM DATABASE "{own}" TO compacted')
    if _sizes(connection, own) != _sizes(connection, "compacted"):
        raise Refused("the copy of the store differs from it, so the store was not compacted; nothing was changed")
    connection.execute("CHECKPOINT compacted")
    connection.execute("DETACH compacted")


def _sizes(connection: "duckdb.DuckDBPyConnection", database: str) -> dict[str, int]:
    """The number of rows of each table of a database, by name."""
    query = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY ALL"
    tables = [f'"{schema}"."{name}"' for schema, name in connection.execute(query, [database]).fetchall()]
    sizes = {}
    for table in tables:
        found = connection.execute(f'SELECT count(*) FROM "{database}".{table}').fetchone()  # noqa: S608  names of ours
        sizes[table] = -1 if found is None else int(found[0])
    return sizes


def _remove(copy: Path) -> None:
    for path in (copy, copy.with_name(f"{copy.name}.wal")):
        path.unlink(missing_ok=True)
