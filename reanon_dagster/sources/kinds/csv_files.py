"""csv files, read as text: the schema decides about types, and 007 stays 007."""

import csv
import io
from codecs import BOM_UTF8, lookup
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.coding import named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.csv

_SEPARATORS = {",": ",", ";": ";", "\t": "tab", "|": "|", ":": ":"}
_HEAD = 1 << 16


def read_csv(
    data: bytes, columns: Sequence[str], label: str, *, separator: str = ",", encoding: str = "utf-8"
) -> tuple["pa.Table", list[str]]:
    """Those of the columns that exist, as text with null for empty, and the names of all columns.

    Raises: InvalidSnapshot if this is no csv file of this encoding and separator.
    """
    data = _utf8(data, encoding, label)
    names = _header(data, separator)
    if not names:
        raise InvalidSnapshot(Problem(label, "begin with a line of column names"))
    _require_separator(names, separator, columns, label)
    twice = [name for name, times in Counter(names).items() if times > 1 and name in columns]
    if twice:
        raise InvalidSnapshot(Problem(label, "have every column once", ", ".join(twice)))
    present = [name for name in columns if name in names]
    return _parsed(data, separator, present, label), names


def _header(data: bytes, separator: str) -> list[str]:
    """The column names."""
    text = io.StringIO(data[:_HEAD].decode("utf-8", errors="replace"), newline="")
    return next((line for line in csv.reader(text, delimiter=separator) if line), [])


def _utf8(data: bytes, encoding: str, label: str) -> bytes:
    """The bytes as UTF-8 without a byte order mark, with a line end at the end."""
    if lookup(encoding).name not in {"utf-8", "ascii"}:
        data = _decoded(data, encoding, label).encode()
    data = data.removeprefix(BOM_UTF8)
    return data if data.endswith((b"\n", b"\r")) or not data else data + b"\n"


def _decoded(data: bytes, encoding: str, label: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem(label, f"be encoded as {encoding}", f"line {line}", "set source.encoding, such as latin-1")
        raise InvalidSnapshot(problem) from None


def _require_separator(names: Sequence[str], separator: str, columns: Sequence[str], label: str) -> None:
    """Refuse a file that seems to have a single column: it was written with another separator."""
    if len(names) > 1 or names[0] in columns:
        return
    better = max(_SEPARATORS, key=names[0].count)
    advice = f"try source.separator: {_SEPARATORS[better]!r}" if better in names[0] else "set source.separator"
    raise InvalidSnapshot(Problem(label, f"have more than one column between its {separator!r}", help=advice))


def _parsed(data: bytes, separator: str, present: Sequence[str], label: str) -> "pa.Table":
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    if not present:  # to Arrow, no columns are all columns
        return pa.table({})
    uneven: list[int | None] = []

    def collect(row: "pyarrow.csv.InvalidRow") -> str:
        uneven.append(row.number)
        return "skip"

    convert = ConvertOptions(
        column_types=dict.fromkeys(present, pa.string()),
        include_columns=list(present),
        null_values=[""],
        strings_can_be_null=True,
    )
    # Looking for line ends inside quotes costs time, and a file without quotes has none.
    parse = ParseOptions(delimiter=separator, newlines_in_values=b'"' in data, invalid_row_handler=collect)
    try:
        table = read_csv(pa.BufferReader(data), ReadOptions(), parse, convert)
        if uneven:  # Arrow numbers rows only when it reads them one after the other
            uneven.clear()
            read_csv(pa.BufferReader(data), ReadOptions(use_threads=False), parse, convert)
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        _decoded(data, "utf-8", label)
        # Arrow's own text may quote a row, and with it an id.
        raise InvalidSnapshot(Problem(label, "be a csv file with column names on its first line")) from None
    if uneven:
        raise InvalidSnapshot(_uneven(uneven, label))
    return table


def _uneven(numbers: Sequence[int | None], label: str) -> Problem:
    rows = [number - 2 for number in numbers if number]  # the header is 1, and we count from 0
    mask = np.zeros(max(rows, default=0) + 1, dtype=bool)
    mask[rows] = True
    where = named_rows(mask) if rows else f"{len(numbers)} rows"
    advice = "put values that contain the separator in double quotes"
    return Problem(label, "have as many values in each row as there are column names", where, advice)
