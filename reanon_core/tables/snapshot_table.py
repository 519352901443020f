"""From an Arrow table of people to a coded snapshot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int32
from reanon_core.model.errors import InvalidSnapshot, Problem, collect_problems, require
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.schema import Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.tables.arrow_columns import coded_column, coded_other, coded_sensitive
from reanon_core.tables.ids import People, people
from reanon_core.tables.quoted_ids import without_ids

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
    """The codes of the quasi-identifiers that the table has, by name, in the order of its rows."""


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


def coded_table(
    data: "pa.Table",
    schema: Schema,
    *,
    id_column: str,
    key: bytes,
    columns: tuple[str, ...] | None = None,
    problems: Sequence[Problem] = (),
) -> CodedTable:
    """The coded snapshot of a table, its ids replaced by pseudonyms under this key of 16 bytes.

    `schema` knows the values of earlier releases. `columns` are those that the release is to show, None for all. A
    column of the schema that the table does not have has no codes. `problems` were found before and are reported too.

    Raises: InvalidSnapshot with every problem at once.
    """
    found = list(problems)
    who = _from(data, id_column, found, lambda column: people(id_column, column, key))
    codes = [_from(data, qi.name, found, partial(coded_column, qi)) for qi in schema.quasi_identifiers]
    secret = _from(data, schema.sensitive.name, found, partial(coded_sensitive, schema.sensitive))
    others = [
        _from(data, name, found, partial(coded_other, Sensitive(name=name, values=values)))
        for name, values in zip(schema.other, schema.other_values, strict=True)
    ]
    coded = [*codes, *(one[0] for one in (secret, *others) if one)]
    found += [problem for one in coded if one for problem in one.problems]
    require(without_ids(found, data, id_column), InvalidSnapshot)
    if who is None or secret is None:
        raise AssertionError("a snapshot without problems has all its parts")
    rows = len(who.order)
    nothing, unpublished = np.full(rows, MISSING, dtype=np.int32), np.full(rows, UNPUBLISHED, dtype=np.int32)
    qi = [nothing if one is None else one.codes[who.order] for one in codes]
    other = [unpublished if one is None else one[0].codes[who.order] for one in others]
    grown = schema.with_sensitive_values(secret[1].values).with_other_values(
        tuple(one[1].values if one else values for one, values in zip(others, schema.other_values, strict=True))
    )
    snapshot = Snapshot(
        grown,
        who.persons[who.order],
        np.stack(qi),
        secret[0].codes[who.order],
        np.array(other, dtype=np.int32).reshape(len(other), rows),
        columns,
    )
    named = {name: one.codes for name, one in zip(schema.names, codes, strict=True) if one is not None}
    return CodedTable(snapshot, who, named)


def restricted(snapshot: Snapshot, selected: Bool, *, answers_queries: bool) -> Snapshot:
    """The whole table with the mask for a technique that answers queries; for others only the selected rows."""
    if answers_queries:
        return replace(snapshot, selected=selected)
    return snapshot.rows(np.flatnonzero(selected), selected=None)


def _from(data: "pa.Table", name: str, problems: list[Problem], made: "Callable[[pa.ChunkedArray], T]") -> T | None:
    """What is made of a column; None if the column is absent, or wrong."""
    return collect_problems(problems, made, data[name]) if name in data.column_names else None
