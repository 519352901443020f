"""Snapshots in csv files, read as text: types are the schema's business, and 007 stays 007."""

import csv
import io
from codecs import BOM_UTF8, lookup
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.coding import named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.config import FileSource

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.csv

_SEPARATORS = {",": ",", ";": ";", "\t": "tab", "|": "|", ":": ":"}
_HEAD = 1 << 16


def read_csv(data: bytes, source: FileSource, wanted: Sequence[str], shown: str) -> tuple["pa.Table", list[str]]:
    """The wanted columns that are there, as text with null for empty, and the names of all columns.

    Raises: InvalidSnapshot if the file is no csv file of this encoding and separator.
    """
    data = _utf8(data, source.encoding, shown)
    names = _header(data, source.separator)
    if not names:
        raise InvalidSnapshot(Problem(shown, "begin with a line of column names"))
    _require_separator(names, source.separator, wanted, shown)
    twice = [name for name, times in Counter(names).items() if times > 1 and name in wanted]
    if twice:
        raise InvalidSnapshot(Problem(shown, "have every column once", ", ".join(twice)))
    present = [name for name in wanted if name in names]
    return _parsed(data, source.separator, present, shown), names


def _header(data: bytes, separator: str) -> list[str]:
    """The column names."""
    text = io.StringIO(data[:_HEAD].decode("utf-8", errors="replace"), newline="")
    return next((line for line in csv.reader(text, delimiter=separator) if line), [])


def _utf8(data: bytes, encoding: str, shown: str) -> bytes:
    """The bytes as UTF-8 without a byte order mark, with a line end at the end."""
    if lookup(encoding).name not in {"utf-8", "ascii"}:
        data = _decoded(data, encoding, shown).encode()
    data = data.removeprefix(BOM_UTF8)
    return data if data.endswith((b"\n", b"\r")) or not data else data + b"\n"


def _decoded(data: bytes, encoding: str, shown: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem(shown, f"be encoded as {encoding}", f"line {line}", "set source.encoding, such as latin-1")
        raise InvalidSnapshot(problem) from None


def _require_separator(names: Sequence[str], separator: str, wanted: Sequence[str], shown: str) -> None:
    """A file that seems to have one column only was written with another separator."""
    if len(names) > 1 or names[0] in wanted:
        return
    better = max(_SEPARATORS, key=names[0].count)
    found = f"try source.separator: {_SEPARATORS[better]!r}" if better in names[0] else "set source.separator"
    raise InvalidSnapshot(Problem(shown, f"have more than one column between its {separator!r}", help=found))


def _parsed(data: bytes, separator: str, present: Sequence[str], shown: str) -> "pa.Table":
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
    # Line ends inside quotes cost time to look for, and there are none where there are no quotes.
    parse = ParseOptions(delimiter=separator, newlines_in_values=b'"' in data, invalid_row_handler=collect)
    try:
        table = read_csv(pa.BufferReader(data), ReadOptions(), parse, convert)
        if uneven:  # rows are numbered only when they are read one after the other
            uneven.clear()
            read_csv(pa.BufferReader(data), ReadOptions(use_threads=False), parse, convert)
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        _decoded(data, "utf-8", shown)
        # Arrow's own text may quote a row, and with it an id.
        raise InvalidSnapshot(Problem(shown, "be a csv file with column names on its first line")) from None
    if uneven:
        raise InvalidSnapshot(_uneven(uneven, shown))
    return table


def _uneven(numbers: Sequence[int | None], shown: str) -> Problem:
    rows = [number - 2 for number in numbers if number]  # the header is 1, and we count from 0
    mask = np.zeros(max(rows, default=0) + 1, dtype=bool)
    mask[rows] = True
    where = named_rows(mask) if rows else f"{len(numbers)} rows"
    advice = "put values that hold the separator into double quotes"
    return Problem(shown, "have as many values in each row as there are column names", where, advice)
