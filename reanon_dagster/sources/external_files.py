"""Files that others made, csv or parquet, without a series that says how they are written."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_core.tables.snapshot_table import listed_names
from reanon_dagster.sources.kinds.csv_files import read_csv
from reanon_dagster.sources.kinds.parquet_files import read_parquet

if TYPE_CHECKING:
    import pyarrow as pa

_SEPARATORS = ",;\t"
_HEAD = 1 << 16
_AS_TEXT = "save it as csv in utf-8, with column names on the first line and , or ; between the values"


@dataclass(frozen=True, eq=False)
class Given:
    """The wanted columns of a file that are there, and the names of all its columns."""

    data: "pa.Table"
    names: Sequence[str]
    shown: str

    def column(self, name: str, form: str = "") -> "pa.ChunkedArray":
        """The column of that name; `form` says in which other forms it could be there.

        Raises: InvalidSnapshot if it is not there.
        """
        if name not in self.data.column_names:
            advice = f"the columns are {listed_names(self.names)}"
            raise InvalidSnapshot(Problem(f"column {name}", f"be there{form}", help=advice))
        return self.data[name]

    def told(self, problems: Sequence[Problem]) -> list[Problem]:
        """The problems of columns, with the file in front."""
        return [replace(problem, what=f"{self.shown}: {problem.what}") for problem in problems]


def read_given(path: Path, wanted: Sequence[str]) -> Given:
    """The wanted columns of a csv or parquet file; csv values are text.

    Raises: InvalidSnapshot if the file cannot be read.
    """
    shown = str(path)
    if path.suffix.lower() not in {".csv", ".parquet"}:
        raise InvalidSnapshot(Problem(shown, "be a csv or a parquet file, and end in .csv or .parquet"))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidSnapshot(Problem(shown, "exist and be readable", help=error.strerror)) from None
    if path.suffix.lower() == ".parquet":
        return Given(*read_parquet(content, wanted, shown), shown)
    return _csv(content, wanted, shown)


def _csv(content: bytes, wanted: Sequence[str], shown: str) -> Given:
    """The columns as text, with null for empty; the separator is the one that gives the most columns."""
    separator = max(_SEPARATORS, key=lambda one: _columns(content, one, wanted))
    try:
        return Given(*read_csv(content, wanted, shown, separator=separator), shown)
    except InvalidSnapshot as error:  # a file of others has no source.separator that could be set
        problems = [replace(one, help=_AS_TEXT) if "source." in (one.help or "") else one for one in error.problems]
        raise InvalidSnapshot(problems) from None


def texts(name: str, column: "pa.ChunkedArray") -> "pa.StringArray":
    """Values of any plain type as text, without nulls: what is not there is empty.

    Raises: InvalidSnapshot for types that have no text.
    """
    import pyarrow as pa

    kind = column.type
    try:
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        if pa.types.is_floating(column.type):
            column = _whole_numbers(column)
        return column.cast(pa.string()).combine_chunks().fill_null("")
    except pa.ArrowException:
        raise InvalidSnapshot(Problem(name, "be text, numbers or dates", f"type {kind}")) from None


def _whole_numbers(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Floats as whole numbers where they all are: pandas makes 34.0 of 34 where a value is missing."""
    import pyarrow as pa
    from pyarrow import compute

    column = compute.if_else(compute.is_nan(column), None, column)
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def _columns(content: bytes, separator: str, wanted: Sequence[str]) -> tuple[int, int]:
    """How many wanted columns, and how many at all, the first line has with this separator."""
    head = io.StringIO(content[:_HEAD].decode("utf-8-sig", errors="replace"), newline="")
    names = next((line for line in csv.reader(head, delimiter=separator) if line), [])
    return len(set(wanted) & set(names)), len(names)
