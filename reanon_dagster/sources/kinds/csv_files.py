"""csv files, read as text: the schema decides about types, and 007 stays 007.

`read_csv` reads a file at once; `csv_batches` reads it batch by batch, with the same values and problems.
"""

import csv
import hashlib
import io
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, lookup
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from reanon_core.model.coding import named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.sources.kinds.column_rules import require_once
from reanon_dagster.sources.kinds.size_limit import CODECS, GZIP, ZSTD, require_size
from reanon_dagster.sources.kinds.source import StreamedFile

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.csv

_SEPARATORS = {",": ",", ";": ";", "\t": "tab", "|": "|", ":": ":"}
HEAD = 1 << 16
"""So many bytes hold the line of column names."""
_FORMATS = {
    GZIP: "gzip",
    ZSTD: "zstd",
    b"PK\x03\x04": "zip",
    b"PAR1": "parquet",
    BOM_UTF16_LE: "utf-16 utf-16-le",
    BOM_UTF16_BE: "utf-16 utf-16-be",
}
"""How files begin that are often taken for csv."""
_ADVICE = {
    "gzip": "it is compressed with gzip; let its name end in .csv.gz",
    "zstd": "it is compressed with zstd; let its name end in .csv.zst",
    "zip": "it is a zip archive or an Excel workbook; unpack it, or let the name of a workbook end in .xlsx",
    "parquet": "it is a parquet file; let its name end in .parquet",
    "utf-16 utf-16-le": "it is encoded as UTF-16; set source.encoding: utf-16",
    "utf-16 utf-16-be": "it is encoded as UTF-16; set source.encoding: utf-16",
}


def read_csv(
    data: bytes, columns: Sequence[str], label: str, *, separator: str = ",", encoding: str = "utf-8"
) -> tuple["pa.Table", list[str]]:
    """Those of the columns that exist, as text with null for empty, and the names of all columns.

    Raises: InvalidSnapshot if this is no csv file of this encoding and separator.
    """
    _require_text(data, encoding, label)
    data = _utf8(data, encoding, label)
    names = _names(data, columns, label, separator)
    present = [name for name in columns if name in names]
    return _parsed(data, separator, present, label), names


def header_names(head: bytes, columns: Sequence[str], label: str, *, separator: str, encoding: str) -> list[str]:
    """The names of all columns, from the first HEAD bytes of a file in UTF-8.

    Raises: InvalidSnapshot.
    """
    _require_text(head, encoding, label)
    return _names(head.removeprefix(BOM_UTF8), columns, label, separator)


def _names(data: bytes, columns: Sequence[str], label: str, separator: str) -> list[str]:
    names = _header(data, separator, label)
    if not names:
        raise InvalidSnapshot(Problem(label, "begin with a line of column names"))
    _require_separator(names, separator, columns, label)
    require_once(names, columns, label)
    return names


def _require_text(data: bytes, encoding: str, label: str) -> None:
    """Refuse what is no text of this encoding, and say what it is."""
    for start, what in _FORMATS.items():
        if data.startswith(start) and lookup(encoding).name not in what.split():
            raise InvalidSnapshot(Problem(label, f"be a csv file encoded as {encoding}", help=_ADVICE[what]))
    if b"\0" in data[:HEAD] and not lookup(encoding).name.startswith(("utf-16", "utf-32")):
        rule = "be text without NUL characters"
        raise InvalidSnapshot(Problem(label, rule, help="if it was saved as Unicode text, set source.encoding: utf-16"))


def _header(data: bytes, separator: str, label: str) -> list[str]:
    """The column names.

    Raises: InvalidSnapshot if a quote is not closed on the first line: the names would contain rows of the data.
    """
    text = io.StringIO(data[:HEAD].decode("utf-8", errors="replace"), newline="")
    names = next((line for line in csv.reader(text, delimiter=separator) if line), [])
    if any("\n" in name or "\r" in name for name in names):
        rule = "have all column names on its first line"
        raise InvalidSnapshot(Problem(label, rule, help="a quote that opens there is not closed there"))
    return names


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
    from pyarrow.csv import ReadOptions, read_csv

    if not present:  # to Arrow, no columns are all columns
        return pa.table({})
    uneven: list[int | None] = []
    parse, convert = csv_options(separator, present, quoted=b'"' in data, uneven=uneven)
    try:
        table = read_csv(pa.BufferReader(data), ReadOptions(), parse, convert)
        if uneven:  # Arrow numbers rows only when it reads them one after the other
            uneven.clear()
            read_csv(pa.BufferReader(data), ReadOptions(use_threads=False), parse, convert)
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        _decoded(data, "utf-8", label)
        # Arrow's own text may quote a row, and with it an id.
        raise InvalidSnapshot(csv_problem(label)) from None
    if uneven:
        raise InvalidSnapshot(uneven_rows(uneven, label))
    if data.count(b'"') % 2 and any(has_line_end(column) for column in table.columns):
        # One value holds the rows up to the end of the file, ids included, and a message would quote it.
        raise InvalidSnapshot(Problem(label, "close every quote", help='write a quote inside a value as two: ""'))
    return table


def csv_options(
    separator: str, present: Sequence[str], *, quoted: bool, uneven: list[int | None]
) -> "tuple[pyarrow.csv.ParseOptions, pyarrow.csv.ConvertOptions]":
    """How Arrow parses a file; the numbers of rows with too many or too few values are added to `uneven`."""
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions

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
    return ParseOptions(delimiter=separator, newlines_in_values=quoted, invalid_row_handler=collect), convert


def csv_problem(label: str) -> Problem:
    """The problem of a file that is no csv file."""
    return Problem(label, "be a csv file with column names on its first line")


def has_line_end(column: "pa.ChunkedArray") -> bool:
    """Whether a value of the column goes on in another line."""
    from pyarrow import compute

    return bool(compute.any(compute.match_substring(column, "\n")).as_py())


def uneven_rows(numbers: Sequence[int | None], label: str) -> Problem:
    """The problem of rows with too many or too few values."""
    rows = [number - 2 for number in numbers if number]  # the header is 1, and we count from 0
    mask = np.zeros(max(rows, default=0) + 1, dtype=bool)
    mask[rows] = True
    where = named_rows(mask) if rows else f"{len(numbers)} rows"
    advice = "put values that contain the separator in double quotes"
    return Problem(label, "have as many values in each row as there are column names", where, advice)


_BLOCK = 1 << 22


@dataclass(frozen=True)
class _Text:
    """What the bytes of a csv file are, seen once from the beginning to the end."""

    digest: str
    """The sha256 of the file, compressed as it is."""
    head: bytes
    size: int
    quotes: int
    lines: int
    ends: bool
    """Whether its last line ends."""


def csv_batches(
    path: Path,
    columns: Sequence[str],
    label: str,
    *,
    separator: str,
    encoding: str,
    codec: str | None,
    limit: int | None,
) -> StreamedFile | None:
    """The file as `read_csv` reads it, batch by batch; None for an encoding other than UTF-8.

    `codec` is the ending of a compressed file, which may unpack to so many bytes as the limit says.

    Raises: InvalidSnapshot.
    """
    import pyarrow as pa

    if lookup(encoding).name not in {"utf-8", "ascii"}:
        return None
    try:
        text = _seen(path, codec, limit, label)
    except OSError:
        raise InvalidSnapshot(Problem(label, "be a whole file that can be read")) from None
    names = header_names(text.head, columns, label, separator=separator, encoding=encoding)
    present = [name for name in dict.fromkeys(columns) if name in names]
    schema = pa.schema([(name, pa.string()) for name in present])

    def batches(most: int) -> Iterator["pa.Table"]:
        wrong: list[int | None] = []
        for batch in _parsed_batches(path, codec, text, separator, present, wrong, label):
            if wrong:
                break
            table = pa.Table.from_batches([batch])
            if text.quotes % 2 and any(has_line_end(column) for column in table.columns):
                raise InvalidSnapshot(Problem(label, "close every quote"))
            for start in range(0, table.num_rows, most):
                yield table.slice(start, most)
        if wrong:
            raise InvalidSnapshot(uneven_rows(wrong, label))

    return StreamedFile(schema, names, text.digest, text.lines + 1, text.size, batches)


def _seen(path: Path, codec: str | None, limit: int | None, label: str) -> _Text:
    digest, head, last = hashlib.sha256(), b"", b""
    size = quotes = lines = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    with _bytes(path, codec) as stream:
        while block := stream.read(_BLOCK):
            head += block[: max(0, HEAD + len(BOM_UTF8) - len(head))]
            size, last = size + len(block), block[-1:]
            quotes, lines = quotes + block.count(b'"'), lines + block.count(b"\n") + block.count(b"\r")
            if limit is not None:
                require_size(size, limit, label)
    return _Text(digest.hexdigest(), head, size, quotes, lines, last in {b"\n", b"\r"} or not size)


def _bytes(path: Path, codec: str | None) -> BinaryIO:
    """The bytes of the file, unpacked."""
    import pyarrow as pa

    if codec is None:
        return path.open("rb")
    return pa.CompressedInputStream(pa.OSFile(str(path)), CODECS[codec][0])  # type: ignore[no-any-return]


def _parsed_batches(
    path: Path,
    codec: str | None,
    text: _Text,
    separator: str,
    present: Sequence[str],
    wrong: list[int | None],
    label: str,
) -> Iterator["pa.RecordBatch"]:
    """The batches of Arrow's own size; the rows with too many or too few values are skipped, and added to `wrong`."""
    import pyarrow as pa
    from pyarrow.csv import ReadOptions, open_csv

    if not present:  # to Arrow, no columns are all columns
        return
    parse, convert = csv_options(separator, present, quoted=text.quotes > 0, uneven=wrong)
    try:
        with (
            _bytes(path, codec) as stream,
            open_csv(pa.PythonFile(_Whole(stream, ends=text.ends), "r"), ReadOptions(), parse, convert) as reader,
        ):
            yield from reader
    except (pa.ArrowException, OSError):
        raise InvalidSnapshot(csv_problem(label)) from None


class _Whole(io.RawIOBase):
    """The text without a byte order mark, with a line end at the end."""

    def __init__(self, stream: BinaryIO, *, ends: bool) -> None:
        self._stream, self._ends = stream, ends
        start = stream.read(len(BOM_UTF8))
        self._begin = b"" if start == BOM_UTF8 else start

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer only at the end: Arrow takes what it gets for a block of whole lines."""
        parts, missing = [self._begin], size - len(self._begin)
        self._begin = b""
        while missing > 0 and (block := self._stream.read(missing)):
            parts.append(bytes(block))
            missing -= len(block)
        if missing > 0 and not self._ends:
            self._ends = True
            parts.append(b"\n")
        return b"".join(parts)
