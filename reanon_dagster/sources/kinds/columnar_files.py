"""Files that store columns with their types: parquet, Arrow, which Feather is too, and Arrow streams."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.sources.kinds.column_rules import require_once
from reanon_dagster.sources.kinds.source import StreamedFile, file_digest

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

MAGIC = b"PAR1"
"""How a parquet file begins and ends."""
BUFFER = 1 << 20
"""The bytes of a column that are read at a time."""


def read_parquet(
    data: bytes, columns: Sequence[str], label: str, *, encoded: Sequence[str] = ()
) -> tuple["pa.Table", list[str]]:
    """Those of the columns that exist, and the names of all columns.

    Text in the columns `encoded` is read as positions in a list of the distinct values, as the file itself has it: that
    takes less time and memory by far, if there are few of them.

    Raises: InvalidSnapshot if this is no parquet file, or one with a column twice.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(data))
        names = list(file.schema_arrow.names)
        texts = _texts(file, encoded)
        if texts:
            file = parquet.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        table = file.read(columns=[name for name in columns if name in names])
    except (pa.ArrowException, OSError, ValueError):  # of Arrow, about bytes: a text that is no UTF-8 is a ValueError
        raise InvalidSnapshot(Problem(label, "be a parquet file that can be read", help=_advice(data))) from None
    require_once(names, columns, label)
    return table, names


def parquet_batches(path: Path, columns: Sequence[str], label: str, *, encoded: Sequence[str] = ()) -> StreamedFile:
    """The file as `read_parquet` reads it, batch by batch.

    Raises: InvalidSnapshot.
    """
    import pyarrow as pa
    from pyarrow import parquet

    digest = file_digest(path)
    try:
        with parquet.ParquetFile(path) as file:
            names, texts = list(file.schema_arrow.names), _texts(file, encoded)
        present = [name for name in dict.fromkeys(columns) if name in names]
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            schema, rows = pa.schema([file.schema_arrow.field(name) for name in present]), file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError, KeyError):
        raise InvalidSnapshot(Problem(label, "be a parquet file that can be read")) from None
    require_once(names, columns, label)

    def batches(most: int) -> Iterator["pa.Table"]:
        try:
            with parquet.ParquetFile(path, read_dictionary=texts, pre_buffer=False, buffer_size=BUFFER) as opened:
                for batch in opened.iter_batches(most, columns=present):
                    yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError, ValueError):
            raise InvalidSnapshot(Problem(label, "be a parquet file that can be read")) from None

    return StreamedFile(schema, names, digest, rows, path.stat().st_size, batches)


def _texts(file: "parquet.ParquetFile", encoded: Sequence[str]) -> list[str]:
    """Those of the columns that are text, and in the file once."""
    names = list(file.schema_arrow.names)
    return [name for name in encoded if names.count(name) == 1 and _is_text(file.schema_arrow.field(name).type)]


def parquet_rows(path: Path) -> int | None:
    """The number of rows that a parquet file says it has; None if it cannot be read."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError, ValueError):  # reading it says what is wrong
        return None


def _is_text(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _advice(data: bytes) -> str:
    """What may have happened to a file that Arrow cannot read."""
    if not data.startswith(MAGIC):
        return "it does not begin as one; let its name end in .csv if it is a csv file"
    if not data.endswith(MAGIC):
        return "it is cut off; copy it again"
    return "it is damaged, or of a kind that Arrow cannot read; write it again"


_FILE = b"ARROW1"
_FEATHER_1 = b"FEA1"
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def read_arrow(content: bytes, columns: Sequence[str], label: str) -> tuple["pa.Table", list[str]]:
    """Those of the columns that exist, and the names of all columns.

    Raises: InvalidSnapshot if this is no Arrow file or stream, or one with a column twice.
    """
    import pyarrow as pa

    if content.startswith(_FEATHER_1):
        raise InvalidSnapshot(Problem(label, "be a Feather file of version 2", help="write it again with version 2"))
    try:
        table = _table(content)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        advice = "it is damaged, cut off or of another kind; write it again"
        raise InvalidSnapshot(Problem(label, "be an Arrow file that can be read", help=advice)) from None
    names = list(table.column_names)
    require_once(names, columns, label)
    return table.select([name for name in columns if name in names]), names


def _table(content: bytes) -> "pa.Table":
    import pyarrow as pa

    is_file = content.startswith(_FILE)
    if not is_file and not content.endswith(_END_OF_STREAM):
        raise ValueError("a stream that was cut between two batches would be read without its end")
    with (pa.ipc.open_file if is_file else pa.ipc.open_stream)(pa.BufferReader(content)) as reader:
        return reader.read_all()
