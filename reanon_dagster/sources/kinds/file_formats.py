"""The formats of files by the ending of their names. A new format is a line here."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from reanon_dagster.sources.kinds.arrow_files import read_arrow
from reanon_dagster.sources.kinds.compressed_files import CODECS, decompressed
from reanon_dagster.sources.kinds.csv_files import read_csv
from reanon_dagster.sources.kinds.csv_streams import csv_batches
from reanon_dagster.sources.kinds.excel_files import read_excel
from reanon_dagster.sources.kinds.file_keys import FileKeys
from reanon_dagster.sources.kinds.parquet_files import parquet_batches, read_parquet
from reanon_dagster.sources.kinds.size_limit import most_bytes
from reanon_dagster.sources.kinds.stata_spss_sas_files import PROGRAMS, read_statistics_file
from reanon_dagster.sources.kinds.streamed_file import StreamedFile

if TYPE_CHECKING:
    import pyarrow as pa

Columns: TypeAlias = "tuple[pa.Table, list[str]]"
Reader: TypeAlias = Callable[[FileKeys, bytes, Sequence[str], str], Columns]
Streamer: TypeAlias = Callable[[FileKeys, Path, Sequence[str], str], StreamedFile | None]


def _csv(keys: FileKeys, content: bytes, columns: Sequence[str], label: str) -> Columns:
    return read_csv(content, columns, label, separator=keys.separator, encoding=keys.encoding)


def _compressed(codec: str, keys: FileKeys, content: bytes, columns: Sequence[str], label: str) -> Columns:
    return _csv(keys, decompressed(content, codec, most_bytes(keys.max_size), label), columns, label)


def _parquet(keys: FileKeys, content: bytes, columns: Sequence[str], label: str) -> Columns:
    return read_parquet(content, columns, label, encoded=[name for name in columns if name != keys.id])


def _arrow(_: FileKeys, content: bytes, columns: Sequence[str], label: str) -> Columns:
    return read_arrow(content, columns, label)


def _excel(keys: FileKeys, content: bytes, columns: Sequence[str], label: str) -> Columns:
    limit = most_bytes(keys.max_size)
    return read_excel(content, columns, label, sheet=keys.sheet, id_column=keys.id, limit=limit)


def _statistics(ending: str, keys: FileKeys, content: bytes, columns: Sequence[str], label: str) -> Columns:
    return read_statistics_file(content, columns, label, ending=ending, id_column=keys.id, labels=keys.labels)


FORMATS: dict[str, Reader] = {
    ".csv": _csv,
    **{f".csv{codec}": partial(_compressed, codec) for codec in CODECS},
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".xlsx": _excel,
    **{ending: partial(_statistics, ending) for ending in PROGRAMS},
}
"""The readers by ending."""


def _streamed_csv(
    codec: str | None, keys: FileKeys, path: Path, columns: Sequence[str], label: str
) -> StreamedFile | None:
    limit = None if keys.max_size is None else most_bytes(keys.max_size)
    return csv_batches(path, columns, label, separator=keys.separator, encoding=keys.encoding, codec=codec, limit=limit)


def _streamed_parquet(keys: FileKeys, path: Path, columns: Sequence[str], label: str) -> StreamedFile:
    return parquet_batches(path, columns, label, encoded=[name for name in columns if name != keys.id])


STREAMS: dict[str, Streamer] = {
    ".csv": partial(_streamed_csv, None),
    **{f".csv{codec}": partial(_streamed_csv, codec) for codec in CODECS},
    ".parquet": _streamed_parquet,
}
"""What reads the files of an ending batch by batch; files of other formats are read at once."""


def ending_of(path: str) -> str | None:
    """The ending of a file's name that has a reader; None if it has none."""
    return max((ending for ending in FORMATS if path.lower().endswith(ending)), key=len, default=None)
