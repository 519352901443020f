"""The state and what the checks remember: a row for each person in a table, other long arrays in tables of their own.

The rest is packed. A memory of few people is packed whole, which is faster then.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.engine.column_folder import Column, ColumnFolder
from reanon_core.model.arrays import AnyArray
from reanon_core.model.packing import Packable, pack, unpack
from reanon_core.protocols import Memory
from reanon_dagster.storage.array_tables import (
    ARRAY_OF,
    ArrayInMemory,
    new_column,
    private_tables,
    read_arrays,
    row_batches,
    table_rows,
    write_arrays,
    write_table,
)

if TYPE_CHECKING:
    import duckdb

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
