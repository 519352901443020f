"""Tables that queries run over: rows live in DuckDB, in this process, and arrays go in and out."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.model.arrays import AnyArray, forget_pages
from reanon_core.threads import threads

if TYPE_CHECKING:
    import duckdb

BATCH = 1 << 17
"""So many rows are read at a time."""
LEAST_MEMORY = 48 << 20
"""DuckDB joins nothing with less."""
ORDERED = "ordered"
PRIVATE_FOLDER = 0o700


@dataclass(frozen=True)
class Room:
    """How much memory tables may take, and the private folder that holds what does not fit."""

    limit_bytes: int
    folder: ColumnFolder


class Tables:
    """Named tables, and what queries say about them. Nothing of them outlives the connection."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection", room: Room | None) -> None:
        """Tables of a connection; with a room, long arrays that come out are mapped from its folder."""
        self._connection, self._room = connection, room
        self._arrays: list[AnyArray] = []

    def add(self, name: str, columns: Mapping[str, AnyArray]) -> None:
        """A table over arrays of one length, which are read where they are."""
        self._arrays += columns.values()
        self._connection.register(name, {column: _forward(values) for column, values in columns.items()})

    def view(self, name: str, query: str) -> None:
        """A name for a query, which is run when it is used."""
        self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")

    def create(self, name: str, query: str, **values: object) -> None:
        """A table with the rows of a query."""
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}", values or None)

    def numbers(self, query: str, **values: object) -> dict[str, Any]:
        """The columns of the one row of a query."""
        found = self._connection.execute(query, values or None)
        names, rows = [column[0] for column in found.description or ()], found.fetchall()
        self._forget()
        return dict(zip(names, rows[0], strict=True))

    def arrays(self, query: str, **values: object) -> dict[str, AnyArray]:
        """The columns of a query without missing values."""
        found = self._connection.execute(query, values or None).fetchnumpy()
        self._forget()
        return {name: np.asarray(column) for name, column in found.items()}

    def long_arrays(self, query: str, order: str) -> dict[str, AnyArray]:
        """The columns of a query in this order; with a room, they are mapped from its folder."""
        if self._room is None:
            return self.arrays(f"{query} ORDER BY {order}")
        self.create(ORDERED, query)
        count = self.numbers(f"SELECT count(*) AS rows FROM {ORDERED}")["rows"]
        reader = self._connection.execute(f"SELECT * FROM {ORDERED} ORDER BY {order}").to_arrow_reader(BATCH)
        columns = {
            field.name: self._room.folder.created(field.name, field.type.to_pandas_dtype(), (count,))
            for field in reader.schema
        }
        begin = 0
        for batch in reader:
            for name, values in zip(batch.schema.names, batch.columns, strict=True):
                columns[name].write(begin, values.to_numpy())
            begin += batch.num_rows
        self._forget()
        return {name: column.mapped() for name, column in columns.items()}

    def _forget(self) -> None:
        """Give the memory of mapped arrays back."""
        if self._room is not None:
            forget_pages(*self._arrays)


@contextmanager
def opened_tables(room: Room | None = None) -> Iterator[Tables]:
    """No tables yet. With a room they spill into its folder; without one they stay in memory."""
    if room is None:
        with _shared(threads()).cursor() as connection:
            yield Tables(connection, None)
        return
    spill = Path(room.folder.new_path("spill"))
    spill.mkdir(mode=PRIVATE_FOLDER)
    try:
        limits: dict[str, str | int] = {
            "memory_limit": f"{max(LEAST_MEMORY, room.limit_bytes) >> 10}KiB",
            "temp_directory": str(spill),
            "threads": threads(),
        }
        with _instance(limits) as connection:
            yield Tables(connection, room)
    finally:
        shutil.rmtree(spill, ignore_errors=True)


def _forward(values: AnyArray) -> AnyArray:
    """The array, copied if its elements are not one behind the other: DuckDB does not read backwards."""
    return np.ascontiguousarray(values) if values.strides[0] > 0 else values.copy()


SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "preserve_insertion_order": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}
"""No files, so that rows never spill into the working folder, and no tables but those that are added."""
_INSTANCES: "dict[tuple[int, int], duckdb.DuckDBPyConnection]" = {}


def _shared(count: int) -> "duckdb.DuckDBPyConnection":
    """An instance for this process, because to begin one costs more than most queries.

    A forked child begins its own: threads do not survive a fork.
    """
    own = (os.getpid(), count)
    if own not in _INSTANCES:
        _INSTANCES[own] = _instance({"threads": count})
    return _INSTANCES[own]


def _instance(limits: Mapping[str, str | int]) -> "duckdb.DuckDBPyConnection":
    import duckdb

    return duckdb.connect(":memory:", config={**SETTINGS, **limits})
