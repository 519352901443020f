"""csv files batch by batch, with the values and the problems of `read_csv`."""

import hashlib
import io
from codecs import BOM_UTF8, lookup
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.sources.kinds.compressed_files import CODECS
from reanon_dagster.sources.kinds.csv_files import (
    HEAD,
    csv_options,
    csv_problem,
    has_line_end,
    header_names,
    uneven_rows,
)
from reanon_dagster.sources.kinds.size_limit import require_size
from reanon_dagster.sources.kinds.streamed_file import StreamedFile

if TYPE_CHECKING:
    import pyarrow as pa

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
        for batch in _parsed(path, codec, text, separator, present, wrong, label):
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


def _parsed(
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
