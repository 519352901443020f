"""csv and parquet files that no series describes: releases, and lists of people."""

import csv
import io
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_core.tables.snapshot_table import listed_names
from reanon_dagster.sources.kinds.columnar_files import read_parquet
from reanon_dagster.sources.kinds.csv_files import read_csv

if TYPE_CHECKING:
    import pyarrow as pa

_SEPARATORS = ",;\t "
_HEAD = 1 << 16
_AS_TEXT = "save it as csv in utf-8, with column names on the first line and , or ; between the values"


@dataclass(frozen=True, eq=False)
class ExternalFile:
    """Those of the requested columns that a file has, and the names of all its columns."""

    data: "pa.Table"
    names: Sequence[str]
    label: str
    """What error messages call the file."""

    def column(self, name: str, form: str = "") -> "pa.ChunkedArray":
        """The column of that name; `form` tells the reader in which other forms it could be written.

        Raises: InvalidSnapshot if the file does not have it.
        """
        if name not in self.data.column_names:
            advice = f"the columns are {listed_names(self.names)}"
            raise InvalidSnapshot(Problem(f"column {name}", f"be there{form}", help=advice))
        return self.data[name]

    def with_label(self, problems: Sequence[Problem]) -> list[Problem]:
        """The problems of columns, with the file in front."""
        return [replace(problem, what=f"{self.label}: {problem.what}") for problem in problems]


def read_external_file(path: Path, columns: Sequence[str]) -> ExternalFile:
    """Those of the columns that a csv or parquet file has; csv values are text.

    Raises: InvalidSnapshot if the file cannot be read.
    """
    label = str(path)
    if path.suffix.lower() not in {".csv", ".parquet"}:
        raise InvalidSnapshot(Problem(label, "be a csv or a parquet file, and end in .csv or .parquet"))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidSnapshot(Problem(label, "exist and be readable", help=error.strerror)) from None
    if path.suffix.lower() == ".parquet":
        return ExternalFile(*read_parquet(content, columns, label), label)
    return _csv(content, columns, label)


def _csv(content: bytes, columns: Sequence[str], label: str) -> ExternalFile:
    """The columns as text, with null for empty, under the separator that gives the most columns."""
    separator = max(_SEPARATORS, key=lambda one: _count_columns(content, one, columns))
    content = _with_name_for_row_names(content, separator)
    try:
        return ExternalFile(*read_csv(content, columns, label, separator=separator), label)
    except InvalidSnapshot as error:  # no series file has a source.separator for it
        problems = [replace(one, help=_AS_TEXT) if "source." in (one.help or "") else one for one in error.problems]
        raise InvalidSnapshot(problems) from None


def texts(name: str, column: "pa.ChunkedArray") -> "pa.StringArray":
    """Values of any plain type as text; a missing value is empty text.

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
    """Floats as integers if they all are whole: pandas turns 34 into 34.0 in a column with a missing value."""
    import pyarrow as pa
    from pyarrow import compute

    column = compute.if_else(compute.is_nan(column), None, column)
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def _count_columns(content: bytes, separator: str, columns: Sequence[str]) -> tuple[int, int]:
    """How many of the requested columns, and how many at all, the first line has with this separator."""
    names = next(_first_lines(content, separator), [])
    return len(set(columns) & set(names)), len(names)


def _with_name_for_row_names(content: bytes, separator: str) -> bytes:
    """The file with an empty name before the others, if R's write.table has left out the name of its row names."""
    lines = list(islice(_first_lines(content, separator), 2))
    longer = len(lines) == 2 and len(lines[1]) == len(lines[0]) + 1
    if not longer or not lines[1][-1] or content.startswith((b"\n", b"\r")):  # lines may end with a separator
        return content
    return f'""{separator}'.encode() + content.removeprefix(BOM_UTF8)


def _first_lines(content: bytes, separator: str) -> Iterator[list[str]]:
    """The values of the first lines that are not blank."""
    head = io.StringIO(content[:_HEAD].decode("utf-8-sig", errors="replace"), newline="")
    return (line for line in csv.reader(head, delimiter=separator) if line)
