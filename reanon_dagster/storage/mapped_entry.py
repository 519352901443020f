"""The arrays of a release in the store as columns on disk, read some rows at a time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.engine.column_folder import Column, ColumnFolder
from reanon_core.model.arrays import slices
from reanon_core.model.schema import Schema
from reanon_dagster.storage.entry_codec import ORDER, PEOPLE, table_arrays

if TYPE_CHECKING:
    import duckdb

ROWS_AT_ONCE = 8 * 122_880
"""How many rows of a table are read at a time: a multiple of the rows that DuckDB stores together."""
TRACED = frozenset({"traced", "rows"})
"""The arrays that have an entry for each person who is published."""


class _Disorder(Exception):
    """The rows of a table are not stored in the order in which they are read."""


def mapped_arrays(
    connection: "duckdb.DuckDBPyConnection", position: int, schema: Schema, folder: ColumnFolder
) -> dict[str, Any]:
    """The named arrays of a release, mapped from columns in the folder."""
    return {name: array for table in ORDER for name, array in _mapped(connection, table, position, schema, folder)}


def _mapped(
    connection: "duckdb.DuckDBPyConnection", table: str, position: int, schema: Schema, folder: ColumnFolder
) -> Iterator[tuple[str, Any]]:
    """The arrays of one table by name."""
    shown = "count(*) FILTER (row >= 0)" if table == PEOPLE else "0"
    query = f"SELECT count(*), {shown}, min(rowid), max(rowid) FROM {table} WHERE position = {position}"  # noqa: S608
    rows, traced, first, last = connection.execute(query).fetchall()[0]
    stored = _stored_batches(connection, table, position, range(first, last + 1) if rows else range(0))
    try:
        columns = _written(stored, table, schema, folder, rows, traced)
    except _Disorder:
        columns = _written(_sorted_batches(connection, table, position), table, schema, folder, rows, traced)
    for name, column in columns.items():
        yield name, column.mapped()


def _written(
    batches: Iterator[dict[str, Any]], table: str, schema: Schema, folder: ColumnFolder, rows: int, traced: int
) -> dict[str, Column]:
    """The arrays of a table as columns, batch by batch.

    Raises: _Disorder if a batch does not begin after the end of the batch before.
    """
    columns: dict[str, Column] = {}
    starts: dict[str, int] = {}
    last: int | None = None
    for batch in batches:
        number = batch[ORDER[table]]
        if len(number):
            if not np.all(number[1:] > number[:-1]) or (last is not None and number[0] <= last):
                raise _Disorder
            last = int(number[-1])
        for name, values in table_arrays(table, batch, schema).items():
            if name not in columns:
                length = 0 if values.shape[0] == 0 < values.ndim - 1 else traced if name in TRACED else rows
                columns[name] = folder.created(name, values.dtype, (*values.shape[:-1], length))
                starts[name] = 0
            columns[name].write(starts[name], values)
            starts[name] += values.shape[-1]
    return columns


def _stored_batches(
    connection: "duckdb.DuckDBPyConnection", table: str, position: int, numbers: range
) -> Iterator[dict[str, Any]]:
    """The rows of a release as they are stored; at least one batch."""
    for part in slices(len(numbers), ROWS_AT_ONCE):
        first, end = numbers.start + part.start, numbers.start + part.stop
        # A release was written in order, and sorting its rows again would take longer than reading them.
        where = f"position = {position} AND rowid >= {first} AND rowid < {end}"
        yield connection.execute(f"SELECT * FROM {table} WHERE {where}").fetchnumpy()  # noqa: S608  a name of ours


def _sorted_batches(connection: "duckdb.DuckDBPyConnection", table: str, position: int) -> Iterator[dict[str, Any]]:
    """The rows of a release in the order of their numbers."""
    query = f"SELECT * FROM {table} WHERE position = {position} ORDER BY {ORDER[table]}"  # noqa: S608  a name of ours
    reader = connection.execute(query).to_arrow_reader(ROWS_AT_ONCE)
    for batch in reader:
        yield {name: _numbers(batch[name]) for name in batch.schema.names}


def _numbers(column: Any) -> Any:
    """A column of a batch as an array, masked where it has no number."""
    if not column.null_count:
        return column.to_numpy(zero_copy_only=False)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return np.ma.masked_array(column.fill_null(0).to_numpy(zero_copy_only=False), missing)
