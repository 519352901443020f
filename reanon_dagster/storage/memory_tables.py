"""The state and what the checks remember: a row for each person in a table of the store, and the rest packed.

A memory of few people is packed whole, which is faster then.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.engine.column_folder import Column, ColumnFolder
from reanon_core.model.arrays import AnyArray, forget_pages, slices
from reanon_core.model.packing import Packable, pack, unpack
from reanon_core.protocols import Memory
from reanon_dagster.storage.arrow_rows import arrow_rows

if TYPE_CHECKING:
    import duckdb

PEOPLE_WORTH_A_TABLE = 100_000
PERSONS = "persons"
"""The array that has an entry for each row of the table."""
IN_TABLE = "in the table"
"""The packed field that says which arrays are in the table, and how."""
NUMBER = "number of the row"
ROWS_AT_ONCE = 8 * 122_880
"""How many rows of a table are read at a time into columns: a multiple of the rows that DuckDB stores together."""
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
    return '"people of ' + owner.replace('"', '""') + '"'


def _written(connection: "duckdb.DuckDBPyConnection", owner: str, memory: Memory) -> bytes:
    """Make the table anew, and return the packed rest. A row that was only updated would leave its old self behind."""
    columns, rest = divided(memory)
    if not columns:
        connection.execute(f"DROP TABLE IF EXISTS private.{_table(owner)}")
        return pack(rest)
    connection.register("new_rows", arrow_rows(_parts(columns)))
    connection.execute(f"CREATE OR REPLACE TABLE private.{_table(owner)} AS FROM new_rows")
    connection.unregister("new_rows")
    forget_pages(*columns.values())  # DuckDB reads the last rows after the stream has ended
    return pack(rest)


def _parts(columns: Mapping[str, AnyArray]) -> Iterator[dict[str, AnyArray]]:
    for part in slices(len(next(iter(columns.values())))):
        yield {name: column[part] for name, column in columns.items()}
        forget_pages(*columns.values())


def _read(connection: "duckdb.DuckDBPyConnection", owner: str, data: bytes, folder: ColumnFolder | None) -> Memory:
    rest = unpack(data)
    if IN_TABLE not in rest:
        return rest
    if folder is not None:
        return _read_columns(connection, owner, rest, folder)
    columns = connection.execute(f"FROM private.{_table(owner)} ORDER BY rowid").fetchnumpy()
    return joined(columns, rest)


def _read_columns(
    connection: "duckdb.DuckDBPyConnection", owner: str, rest: Mapping[str, Packable], folder: ColumnFolder
) -> Memory:
    """The memory with mapped arrays, read some rows at a time."""
    table = f"private.{_table(owner)}"
    query = f"SELECT count(*), coalesce(max(rowid) + 1, 0) FROM {table}"  # noqa: S608  a name of ours
    rows, end = connection.execute(query).fetchall()[0]
    shapes = json.loads(str(rest[IN_TABLE]))
    columns: dict[str, Column] = {}
    start = 0
    for part in slices(end, ROWS_AT_ONCE):
        # DuckDB reads rows in their order, and sorting them again would take longer than reading them.
        where = f"WHERE rowid >= {part.start} AND rowid < {part.stop}"
        query = f'SELECT rowid AS "{NUMBER}", * FROM {table} {where}'  # noqa: S608  a name of ours, and numbers
        found = connection.execute(query).fetchnumpy()
        number = found.pop(NUMBER)
        if not np.all(number[1:] > number[:-1]):
            order = np.argsort(number)
            found = {name: column[order] for name, column in found.items()}
        for name, (dimensions, axis) in shapes.items():
            values = _own(found, name, dimensions, axis)
            if name not in columns:
                columns[name] = folder.created("people", values.dtype, _column_shape(values, dimensions, axis, rows))
            if (dimensions, axis) == (2, 1):  # one behind the other, as in memory
                columns[name].write(start * values.shape[1], values.reshape(-1))
            else:
                columns[name].write(start, values)
        start += len(number)
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


def joined(columns: Mapping[str, Any], rest: Mapping[str, Packable]) -> dict[str, Packable]:
    """The memory whose arrays were divided."""
    memory = {name: value for name, value in rest.items() if name != IN_TABLE}
    for name, (dimensions, axis) in json.loads(str(rest[IN_TABLE])).items():
        memory[name] = _own(columns, name, dimensions, axis)
    return memory


def _column_axis(value: Packable, rows: int) -> int | None:
    """Along which dimension an array is a list of columns of so many rows; None if it is not."""
    if not isinstance(value, np.ndarray):
        return None
    if value.shape == (rows,):
        return 0
    if value.ndim == 2 and 1 <= min(value.shape) <= MOST_COLUMNS and rows in value.shape:
        return 1 if value.shape[0] == rows else 0
    return None
