"""The rows that a release selects: the predicate of series.yaml, evaluated over the columns of its snapshot."""

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

SETTINGS: dict[str, str | bool | int | float | list[str]] = {"enable_external_access": "false", "temp_directory": ""}
"""No files: rows of the snapshot must not spill into the working folder."""
GUESSES = ("BIGINT", "DOUBLE", "DATE")
"""The types that a column of text is tried as; all of its values must parse."""


def selection_columns(selection: Selection | None, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that the predicate needs beyond those that are read anyway. DuckDB ignores case."""
    if selection is None:
        return ()
    known = {name.lower() for name in columns}
    return tuple(name for name in selection.columns if name.lower() not in known)


def selection_problems(selection: Selection | None, problems: Sequence[Problem], more: Sequence[str]) -> list[Problem]:
    """The problems of a table; those of columns that only the predicate needs get the predicate's key in front."""
    whats = {f"column {name}" for name in more}
    return [
        Problem(f"{selection.key}: {problem.what}", problem.rule, problem.value, problem.help)
        if selection is not None and problem.what in whats
        else problem
        for problem in problems
    ]


def typed_values(column: QuasiIdentifier, codes: Int32) -> "pa.Array":
    """The values of a quasi-identifier, in their own type: that is what a predicate compares."""
    return value_array(decode(column, codes), codes == MISSING)


def evaluate_selection(selection: Selection, table: Table, typed: "Mapping[str, pa.Array]") -> Bool:
    """For each row of the table whether the predicate is true.

    `typed` holds columns of the schema; the others come as the source has them, and text that is all numbers or all
    dates is converted.

    Raises: InvalidSnapshot if the predicate cannot be evaluated. Only errors about its own text are quoted.
    """
    import duckdb
    import pyarrow as pa

    columns = {name: typed.get(name, table.data[name]) for name in table.data.column_names}
    with duckdb.connect(":memory:", config=SETTINGS) as connection:
        try:
            connection.register("rows", pa.table(columns))
            converted = ", ".join(
                _converted(connection, name, guess=name not in typed and pa.types.is_string(column.type))
                for name, column in columns.items()
            )
            # The columns are quoted, and the predicate was parsed as a tree of allowed expressions.
            connection.execute(f"CREATE VIEW {TABLE} AS SELECT {converted} FROM rows")  # noqa: S608
            selected = connection.execute(f"SELECT (\n{selection.text}\n) AS selected FROM {TABLE}")  # noqa: S608
            answer = selected.to_arrow_table()["selected"]
        except duckdb.Error as error:
            raise InvalidSnapshot(_failed(selection, error)) from None
    if not pa.types.is_boolean(answer.type):
        raise InvalidSnapshot(Problem(selection.key, "be a condition that is true or false", selection.text))
    known = answer.combine_chunks().fill_null(False)  # noqa: FBT003
    return np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _converted(connection: "duckdb.DuckDBPyConnection", name: str, *, guess: bool) -> str:
    """A column of the view: as it is, or converted to the first type that fits."""
    quoted = '"' + name.replace('"', '""') + '"'
    for kind in GUESSES if guess else ():
        unparsed = f"SELECT count(*) FROM rows WHERE {quoted} IS NOT NULL AND TRY_CAST({quoted} AS {kind}) IS NULL"  # noqa: S608
        count = connection.execute(unparsed).fetchone()
        if count is not None and count[0] == 0:
            return f"TRY_CAST({quoted} AS {kind}) AS {quoted}"
    return quoted


def _failed(selection: Selection, error: "duckdb.Error") -> Problem:
    import duckdb

    quotable = isinstance(error, duckdb.ParserException | duckdb.BinderException)
    reason = str(error).splitlines()[0] if quotable else type(error).__name__
    return Problem(selection.key, "be a condition that can be evaluated for every row", selection.text, reason)
