"""Arrays as tables of the store: written as a stream, and read some rows at a time into memory or into columns on disk.

A packed array is one value to DuckDB, which takes many times its size to store it; a table takes almost nothing.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from reanon_core.engine.column_folder import Column, ColumnFolder
from reanon_core.model.arrays import AnyArray, forget_pages, slices
from reanon_core.model.packing import Packable
from reanon_core.protocols import Memory
from reanon_dagster.storage.arrow_rows import arrow_rows

if TYPE_CHECKING:
    import duckdb

NUMBERS_WORTH_A_TABLE = 1 << 18
IN_TABLES = "in tables of their own"
"""The packed field that says which arrays have a table of their own, and their shapes."""
ARRAY_OF = " array of "
"""What stands in the name of a table between the array and its owner."""
VALUE = "value"
NUMBER = "number of the row"
ROWS_AT_ONCE = 8 * 122_880
"""How many rows of a table are read at a time: a multiple of the rows that DuckDB stores together."""


@dataclass(frozen=True, eq=False)
class ArrayInMemory:
    """An array that is written like a column on disk."""

    array: AnyArray

    def write(self, start: int, values: AnyArray) -> None:
        """Put these rows into the array, from row `start` on."""
        self.array[..., start : start + values.shape[-1]] = values

    def mapped(self) -> AnyArray:
        """The whole array."""
        return self.array


def new_column(folder: ColumnFolder | None, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Column | ArrayInMemory:
    """A column in the folder; without a folder, in memory."""
    return ArrayInMemory(np.empty(shape, dtype)) if folder is None else folder.created("people", dtype, shape)


def write_arrays(connection: "duckdb.DuckDBPyConnection", owner: str, memory: Memory) -> dict[str, Packable]:
    """Write long arrays to tables, drop the tables of earlier ones, and return what is left to pack."""
    long = {name: value for name, value in memory.items() if _is_long(value)}
    for name in _stored_arrays(connection, owner) - set(long):
        connection.execute(f"DROP TABLE {array_table(owner, name)}")
    for name, value in long.items():
        write_table(connection, array_table(owner, name), {VALUE: np.asarray(value).reshape(-1)})
    rest = {name: value for name, value in memory.items() if name not in long}
    shapes = {name: np.shape(value) for name, value in long.items()}
    return rest | {IN_TABLES: json.dumps(shapes)} if long else rest


def read_arrays(
    connection: "duckdb.DuckDBPyConnection", owner: str, packed: Mapping[str, Packable], folder: ColumnFolder | None
) -> dict[str, Packable]:
    """The memory with the arrays that have tables of their own; with a folder, they are mapped from columns there."""
    memory = {name: value for name, value in packed.items() if name != IN_TABLES}
    for name, shape in json.loads(str(packed.get(IN_TABLES, "{}"))).items():
        column, start = None, 0
        for found in row_batches(connection, array_table(owner, name)):
            values = found[VALUE]
            column = column or new_column(folder, values.dtype, (int(np.prod(shape, dtype=np.int64)),))
            column.write(start, values)
            start += len(values)
        if column is not None:
            memory[name] = column.mapped().reshape(shape)
    return memory


def write_table(connection: "duckdb.DuckDBPyConnection", table: str, columns: Mapping[str, AnyArray]) -> None:
    """Make the table anew from columns of equal length."""
    connection.register("new_rows", arrow_rows(_parts(columns)))
    connection.execute(f"CREATE OR REPLACE TABLE {table} AS FROM new_rows")
    connection.unregister("new_rows")
    forget_pages(*columns.values())  # DuckDB reads the last rows after the stream has ended


def row_batches(connection: "duckdb.DuckDBPyConnection", table: str) -> Iterator[dict[str, Any]]:
    """The rows of a table in the order in which they were written, some at a time; at least one batch."""
    query = f"SELECT coalesce(max(rowid) + 1, 0) FROM {table}"  # noqa: S608  a name of ours
    for part in slices(connection.execute(query).fetchall()[0][0], ROWS_AT_ONCE):
        # DuckDB reads rows in their order, and sorting them again would take longer than reading them.
        where = f"WHERE rowid >= {part.start} AND rowid < {part.stop}"
        query = f'SELECT rowid AS "{NUMBER}", * FROM {table} {where}'  # noqa: S608  a name of ours, and numbers
        found = connection.execute(query).fetchnumpy()
        number = found.pop(NUMBER)
        if not np.all(number[1:] > number[:-1]):
            order = np.argsort(number)
            found = {name: column[order] for name, column in found.items()}
        yield found


def table_rows(connection: "duckdb.DuckDBPyConnection", table: str) -> int:
    """The number of rows of a table."""
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])  # noqa: S608  a name of ours


def array_table(owner: str, name: str) -> str:
    """The table of one array of a state or of what a check remembers."""
    return 'private."' + f"{name}{_of(owner)}".replace('"', '""') + '"'


def private_tables(connection: "duckdb.DuckDBPyConnection") -> list[str]:
    """The names of the private tables."""
    query = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'private'"
    return [name for (name,) in connection.execute(query).fetchall()]


def _of(owner: str) -> str:
    return f"{ARRAY_OF}{owner}"


def _stored_arrays(connection: "duckdb.DuckDBPyConnection", owner: str) -> set[str]:
    """The names of the arrays that have tables of their own."""
    tables = private_tables(connection)
    return {name.removesuffix(_of(owner)) for name in tables if name.endswith(_of(owner))}


def _is_long(value: Packable) -> bool:
    """Whether it is an array of many numbers that DuckDB stores as they are."""
    if not isinstance(value, np.ndarray) or value.size < NUMBERS_WORTH_A_TABLE:
        return False
    return value.dtype.kind in "biu" or value.dtype == np.float64


def _parts(columns: Mapping[str, AnyArray]) -> Iterator[dict[str, AnyArray]]:
    for part in slices(len(next(iter(columns.values())))):
        yield {name: column[part] for name, column in columns.items()}
        forget_pages(*columns.values())
