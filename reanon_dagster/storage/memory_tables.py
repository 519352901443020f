"""The state and what the checks remember: a row for each person in a table of the store, and the rest packed.

A memory of few people is packed whole, which is faster then.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.model.arrays import AnyArray
from reanon_core.model.packing import Packable, pack, unpack
from reanon_core.protocols import Memory

if TYPE_CHECKING:
    import duckdb

PEOPLE_WORTH_A_TABLE = 100_000
PERSONS = "persons"
"""The array that has an entry for each row of the table."""
IN_TABLE = "in the table"
"""The packed field that says which arrays are in the table, and how."""
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


def read_state(connection: "duckdb.DuckDBPyConnection", position: int) -> Memory | None:
    """The state after this release; None if a later one has replaced it."""
    found = connection.execute("SELECT data FROM private.states WHERE position = ?", [position]).fetchone()
    return None if found is None else _read(connection, STATE, found[0])


def read_memories(connection: "duckdb.DuckDBPyConnection", position: int) -> dict[str, Memory]:
    """What each check remembers after this release, by its name."""
    found = connection.execute("SELECT judge, data FROM private.memories WHERE position = ?", [position]).fetchall()
    return {check: _read(connection, check, data) for check, data in found}


def _table(owner: str) -> str:
    return '"people of ' + owner.replace('"', '""') + '"'


def _written(connection: "duckdb.DuckDBPyConnection", owner: str, memory: Memory) -> bytes:
    """Make the table anew, and return the packed rest. A row that was only updated would leave its old self behind."""
    import pyarrow as pa

    columns, rest = divided(memory)
    if columns:
        connection.register("new_rows", pa.table(columns))
        connection.execute(f"CREATE OR REPLACE TABLE private.{_table(owner)} AS FROM new_rows")
        connection.unregister("new_rows")
    else:
        connection.execute(f"DROP TABLE IF EXISTS private.{_table(owner)}")
    return pack(rest)


def _read(connection: "duckdb.DuckDBPyConnection", owner: str, data: bytes) -> Memory:
    rest = unpack(data)
    if IN_TABLE not in rest:
        return rest
    columns = connection.execute(f"FROM private.{_table(owner)} ORDER BY rowid").fetchnumpy()
    return joined(columns, rest)


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
        own = [column for title, column in columns.items() if title.rpartition(" ")[0] == name]
        memory[name] = np.ascontiguousarray(own[0] if dimensions == 1 else np.stack(own, axis=axis))
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
