"""From an Arrow table of people to a coded snapshot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int32
from reanon_core.model.coding import Coded
from reanon_core.model.errors import InvalidSnapshot, Problem, collect_problems, require
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.schema import Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.tables.arrow_columns import coded_column, coded_other, coded_sensitive
from reanon_core.tables.ids import People, people, without_ids

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

_MOST_NAMES = 20
"""How many column names a message lists."""
_LONGEST_NAME = 60


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A table of people, coded."""

    snapshot: Snapshot
    """Its schema knows the values of this and all earlier releases."""
    people: People
    codes: dict[str, Int32]
    """The codes of the quasi-identifiers that the table has, by name, in the order of its rows; empty unless wanted."""


def column_problems(
    names: Sequence[str],
    present: Sequence[str],
    label: str,
    *,
    listed: Sequence[str] | None = None,
    optional: frozenset[str] = frozenset(),
) -> list[Problem]:
    """A problem for each of the names that a table does not have and must have.

    `label` is what a person calls the table, and `listed` the columns that it has there, if `present` are not all.

    Raises: InvalidSnapshot if the table has one of the names more than once.
    """
    twice = [name for name in names if list(present).count(name) > 1]
    if twice:
        raise InvalidSnapshot(Problem(label, "have every column once", ", ".join(twice)))
    there = present if listed is None else listed
    missing = [name for name in names if name not in present and name not in optional]
    if missing and not any(name in there for name in names):
        # What stands in the place of the names may be a person's row, so it is not shown.
        advice = "none of them is there; a csv file must begin with a line of column names"
        return [Problem(label, f"have the columns {listed_names(missing)}", help=advice)]
    advice = f"its columns are {listed_names(there)}"
    return [Problem(f"column {name}", f"be in {label}", help=advice) for name in missing]


def listed_names(names: Sequence[str]) -> str:
    """The names of a table's columns, as many as a message can hold."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (
        ", ".join(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…" for name in names[:_MOST_NAMES])
        + more
    )


def columns_of(table: "pa.Table") -> "dict[str, pa.ChunkedArray]":
    """The columns of a table by name."""
    return dict(zip(table.column_names, table.columns, strict=True))


def coded_columns(
    data: "dict[str, pa.ChunkedArray]",
    schema: Schema,
    *,
    id_column: str,
    key: bytes,
    columns: tuple[str, ...] | None = None,
    problems: Sequence[Problem] = (),
    with_codes: bool = False,
) -> CodedTable:
    """The coded snapshot of a table given by its columns, its ids replaced by pseudonyms under this key of 16 bytes.

    The columns are taken out of `data` one by one, so that their memory is free for the codes. `schema` knows the
    values of earlier releases. `columns` are those that the release is to show, None for all. A column of the schema
    that the table does not have has no codes. `problems` were found before and are reported too. `with_codes` keeps the
    codes in the order of the table.

    Raises: InvalidSnapshot with every problem at once.
    """
    found, ids = list(problems), data.get(id_column)
    who = _taken(data, id_column, found, lambda column: people(id_column, column, key))
    order = None if who is None else who.order
    kept: dict[str, Int32] = {}
    qi: list[Int32 | None] = []
    for column in schema.quasi_identifiers:
        one = _taken(data, column.name, found, partial(coded_column, column))
        if with_codes and one is not None:
            kept[column.name] = one.codes
        qi.append(_in_order(one, order, found))
    secret = _taken(data, schema.sensitive.name, found, partial(coded_sensitive, schema.sensitive))
    others = [
        _taken(data, name, found, partial(coded_other, Sensitive(name=name, values=values)))
        for name, values in zip(schema.other, schema.other_values, strict=True)
    ]
    sensitive = _in_order(secret[0] if secret else None, order, found)
    other = [_in_order(one[0] if one else None, order, found) for one in others]
    require(without_ids(found, ids), InvalidSnapshot)
    if who is None or secret is None or sensitive is None:
        raise AssertionError("a snapshot without problems has all its parts")
    grown = schema.with_sensitive_values(secret[1].values).with_other_values(
        tuple(one[1].values if one else values for one, values in zip(others, schema.other_values, strict=True))
    )
    rows = len(who.order)
    snapshot = Snapshot(
        grown,
        who.persons[who.order],
        _stacked(qi, rows, MISSING),
        sensitive,
        _stacked(other, rows, UNPUBLISHED),
        columns,
    )
    return CodedTable(snapshot, who, kept)


def _in_order(coded: Coded | None, order: Int32 | None, problems: list[Problem]) -> Int32 | None:
    """The codes in the order of the people; None if there are none. Its problems are added to the others."""
    if coded is None:
        return None
    problems += coded.problems
    return coded.codes if order is None else coded.codes[order]


def _stacked(columns: list[Int32 | None], rows: int, absent: int) -> Int32:
    """The columns as one array, int32[columns, rows], and `absent` in those that are not there.

    The list is emptied, so that every column is held once.
    """
    stacked = np.empty((len(columns), rows), dtype=np.int32)
    for number in range(len(columns)):
        column, columns[number] = columns[number], None
        stacked[number] = absent if column is None else column
    return stacked


def restricted(snapshot: Snapshot, selected: Bool, *, answers_queries: bool) -> Snapshot:
    """The whole table with the mask for a technique that answers queries; for others only the selected rows."""
    if answers_queries:
        return replace(snapshot, selected=selected)
    return snapshot.rows(np.flatnonzero(selected), selected=None)


def _taken(
    data: "dict[str, pa.ChunkedArray]",
    name: str,
    problems: list[Problem],
    made: "Callable[[pa.ChunkedArray], T]",
) -> T | None:
    """What is made of a column, which is taken out; None if the column is absent, or wrong."""
    return collect_problems(problems, made, data.pop(name)) if name in data else None
