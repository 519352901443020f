"""Whom a release asks for: the predicate of series.yaml, evaluated over the columns of its snapshot."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int32
from reanon_core.model.coding import decode
from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_core.model.schema import QuasiIdentifier
from reanon_core.tables.release_table import value_array
from reanon_dagster.series.selections import TABLE, Selection
from reanon_dagster.sources.source_table import Table

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

GUESSES = ("BIGINT", "DOUBLE", "DATE")
"""What a column of text is taken for, if all of it can be read so."""


def more_columns(selection: Selection | None, wanted: Sequence[str]) -> tuple[str, ...]:
    """The columns that the predicate needs beside those that are read anyway. DuckDB does not tell case apart."""
    if selection is None:
        return ()
    known = {name.lower() for name in wanted}
    return tuple(name for name in selection.columns if name.lower() not in known)


def said_by(selection: Selection | None, problems: Sequence[Problem], more: Sequence[str]) -> list[Problem]:
    """The problems of a table, those of a predicate's own columns under its name."""
    whats = {f"column {name}" for name in more}
    return [
        Problem(f"{selection.key}: {problem.what}", problem.rule, problem.value, problem.help)
        if selection is not None and problem.what in whats
        else problem
        for problem in problems
    ]


def coded_values(column: QuasiIdentifier, codes: Int32) -> "pa.Array":
    """A quasi-identifier with the values of its own type, which is what a predicate compares."""
    return value_array(decode(column, codes), codes == MISSING)


def selection_mask_of(selection: Selection, table: Table, typed: "Mapping[str, pa.Array]") -> Bool:
    """For each row of the table whether the predicate is true of it.

    `typed` are the columns of the schema; the others come as the source has them, and text that is all numbers or all
    dates counts as such.

    Raises: InvalidSnapshot if the predicate cannot be evaluated. Only errors about its own text are quoted.
    """
    import duckdb
    import pyarrow as pa

    columns = {name: typed.get(name, table.data[name]) for name in table.data.column_names}
    with duckdb.connect(":memory:", config={"enable_external_access": "false"}) as connection:
        connection.register("given", pa.table(columns))
        shown = ", ".join(
            _read_as(connection, name, guess=name not in typed and pa.types.is_string(column.type))
            for name, column in columns.items()
        )
        try:
            # The columns are quoted, and the predicate was read as a tree of harmless expressions before.
            connection.execute(f"CREATE VIEW {TABLE} AS SELECT {shown} FROM given")  # noqa: S608
            selected = connection.execute(f"SELECT (\n{selection.text}\n) AS asked FROM {TABLE}")  # noqa: S608
            answer = selected.to_arrow_table()["asked"]
        except duckdb.Error as error:
            raise InvalidSnapshot(_failed(selection, error)) from None
    if not pa.types.is_boolean(answer.type):
        raise InvalidSnapshot(Problem(selection.key, "be a condition that is true or false", selection.text))
    known = answer.combine_chunks().fill_null(False)  # noqa: FBT003
    return np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _read_as(connection: "duckdb.DuckDBPyConnection", name: str, *, guess: bool) -> str:
    """A column of the view: as it is, or as what its text says."""
    quoted = '"' + name.replace('"', '""') + '"'
    for kind in GUESSES if guess else ():
        unread = f"SELECT count(*) FROM given WHERE {quoted} IS NOT NULL AND TRY_CAST({quoted} AS {kind}) IS NULL"  # noqa: S608
        found = connection.execute(unread).fetchone()
        if found is not None and found[0] == 0:
            return f"TRY_CAST({quoted} AS {kind}) AS {quoted}"
    return quoted


def _failed(selection: Selection, error: "duckdb.Error") -> Problem:
    import duckdb

    quotable = isinstance(error, duckdb.ParserException | duckdb.BinderException)
    reason = str(error).splitlines()[0] if quotable else type(error).__name__
    return Problem(selection.key, "be a condition that can be evaluated for every row", selection.text, reason)
