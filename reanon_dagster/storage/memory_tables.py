"""The state and what the checks remember: a row for each person in a table, other long arrays in tables of their own.

Tables are written as a stream, and read some rows at a time into memory or into columns on disk: a packed array is one
value to DuckDB, which takes many times its size to store it; a table takes almost nothing. The rest is packed. A memory
of few people is packed whole, which is faster then.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from reanon_core.engine.column_folder import Column, ColumnFolder
from reanon_core.model import arrays
from reanon_core.model.arrays import AnyArray, forget_pages, slices
from reanon_core.model.packing import Packable, pack, unpack
from reanon_core.protocols import Memory

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

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


BATCH = 122_880
"""The rows that DuckDB stores together."""


def arrow_rows(parts: Iterator[Mapping[str, Any]]) -> "pa.Table | pa.RecordBatchReader":
    """The rows of all parts, given by their columns.

    A table that is registered stays in memory until the end of the transaction, so many rows are a stream.

    Requires: at least one part; every part but the last has SLICE rows.
    """
    import pyarrow as pa

    first = pa.table(dict(next(parts)))
    if first.num_rows < arrays.SLICE:
        return first
    held = [first]

    def batches() -> Iterator["pa.RecordBatch"]:
        yield from held.pop().to_batches(BATCH)
        for part in parts:
            yield from pa.table(dict(part)).to_batches(BATCH)

    return pa.RecordBatchReader.from_batches(first.schema, batches())


PEOPLE_WORTH_A_TABLE = 100_000
PERSONS = "persons"
"""The array that has an entry for each row of the table."""
IN_TABLE = "in the table"
"""The packed field that says which arrays are in the table, and how."""
PEOPLE_OF = "people of "
"""How the name of a table begins that has a row for each person."""
MOST_COLUMNS = 64
"""The most columns that one array of two dimensions becomes."""
STATE = "state"
"""Whose table the state's is; a check's has the name of the check."""


def write_state(connection: "duckdb.DuckDBPyConnection", position: int, state: Memory) -> None:
    """Write the state in place of the one that is there."""
    packed = _written(connection, STATE, state)
    connection.execute("INSERT OR REPLACE INTO private.states VALUES (?, ?)", [position, packed])


def write_memory(connection: "duckdb.DuckDBPyConnection", position: int, check: str, memory: Memory) -> None:
    """Write what a check remembers in place of what is there."""
    packed = _written(connection, check, memory)
    connection.execute("INSERT OR REPLACE INTO private.memories VALUES (?, ?, ?)", [position, check, packed])


def drop_tables_of_others(connection: "duckdb.DuckDBPyConnection", checks: Iterable[str]) -> None:
    """Drop what other checks than these remembered: pseudonyms that no later release would replace."""
    owners = {STATE, *checks}
    for table in private_tables(connection):
        owner = table.removeprefix(PEOPLE_OF) if table.startswith(PEOPLE_OF) else table.partition(ARRAY_OF)[2]
        if owner and owner not in owners:
            name = table.replace('"', '""')
            connection.execute(f'DROP TABLE private."{name}"')


def read_state(
    connection: "duckdb.DuckDBPyConnection", position: int, folder: ColumnFolder | None = None
) -> Memory | None:
    """The state after this release; None if a later one has replaced it.

    With a folder, the arrays with an entry for each of many people are mapped from columns there.
    """
    found = connection.execute("SELECT data FROM private.states WHERE position = ?", [position]).fetchone()
    return None if found is None else _read(connection, STATE, found[0], folder)


def read_memories(
    connection: "duckdb.DuckDBPyConnection", position: int, folder: ColumnFolder | None = None
) -> dict[str, Memory]:
    """What each check remembers after this release, by its name; with a folder, in columns there."""
    found = connection.execute("SELECT judge, data FROM private.memories WHERE position = ?", [position]).fetchall()
    return {check: _read(connection, check, data, folder) for check, data in found}


def _table(owner: str) -> str:
    return f'private."{PEOPLE_OF}' + owner.replace('"', '""') + '"'


def _written(connection: "duckdb.DuckDBPyConnection", owner: str, memory: Memory) -> bytes:
    """Make the tables anew, and return the packed rest. A row that was only updated would leave its old self behind."""
    columns, rest = divided(memory)
    if columns:
        write_table(connection, _table(owner), columns)
    else:
        connection.execute(f"DROP TABLE IF EXISTS {_table(owner)}")
    return pack(write_arrays(connection, owner, rest))


def _read(connection: "duckdb.DuckDBPyConnection", owner: str, data: bytes, folder: ColumnFolder | None) -> Memory:
    rest = read_arrays(connection, owner, unpack(data), folder)
    return rest if IN_TABLE not in rest else _read_people(connection, owner, rest, folder)


def _read_people(
    connection: "duckdb.DuckDBPyConnection", owner: str, rest: Mapping[str, Packable], folder: ColumnFolder | None
) -> Memory:
    """The memory with the arrays that have an entry for each person, read some rows at a time."""
    rows = table_rows(connection, _table(owner))
    shapes = json.loads(str(rest[IN_TABLE]))
    columns: dict[str, Column | ArrayInMemory] = {}
    start = 0
    for found in row_batches(connection, _table(owner)):
        for name, (dimensions, axis) in shapes.items():
            values = _own(found, name, dimensions, axis)
            if name not in columns:
                columns[name] = new_column(folder, values.dtype, _column_shape(values, dimensions, axis, rows))
            if (dimensions, axis) == (2, 1):  # one behind the other, as in memory
                columns[name].write(start * values.shape[1], values.reshape(-1))
            else:
                columns[name].write(start, values)
        start += len(next(iter(found.values())))
    memory = {name: value for name, value in rest.items() if name != IN_TABLE}
    for name, column in columns.items():
        memory[name] = column.mapped().reshape(rows, -1) if shapes[name] == [2, 1] else column.mapped()
    return memory


def _column_shape(values: AnyArray, dimensions: int, axis: int, rows: int) -> tuple[int, ...]:
    if dimensions == 1:
        return (rows,)
    return (rows * values.shape[1],) if axis else (len(values), rows)


def _own(columns: Mapping[str, Any], name: str, dimensions: int, axis: int) -> AnyArray:
    """One array of a memory from its columns."""
    own = [column for title, column in columns.items() if title.rpartition(" ")[0] == name]
    return np.ascontiguousarray(own[0] if dimensions == 1 else np.stack(own, axis=axis))


def divided(memory: Memory) -> tuple[dict[str, AnyArray], dict[str, Packable]]:
    """The arrays with an entry for each person as columns of equal length, and the rest; no columns for few people."""
    persons = memory.get(PERSONS)
    if not isinstance(persons, np.ndarray) or len(persons) < PEOPLE_WORTH_A_TABLE:
        return {}, dict(memory)
    columns: dict[str, AnyArray] = {}
    rest: dict[str, Packable] = {}
    shapes: dict[str, tuple[int, int]] = {}  # dimensions; the one along which the columns are
    for name, value in memory.items():
        axis = _column_axis(value, len(persons))
        if axis is None or not isinstance(value, np.ndarray):
            rest[name] = value
            continue
        shapes[name] = (value.ndim, axis)
        many = [value] if value.ndim == 1 else np.moveaxis(value, axis, 0)
        columns |= {f"{name} {number}": column for number, column in enumerate(many)}
    return columns, {**rest, IN_TABLE: json.dumps(shapes)}


def _column_axis(value: Packable, rows: int) -> int | None:
    """Along which dimension an array is a list of columns of so many rows; None if it is not."""
    if not isinstance(value, np.ndarray):
        return None
    if value.shape == (rows,):
        return 0
    if value.ndim == 2 and 1 <= min(value.shape) <= MOST_COLUMNS and rows in value.shape:
        return 1 if value.shape[0] == rows else 0
    return None
