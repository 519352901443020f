"""The formats of files: the keys that say how they are read, and the readers by the ending of a name.

A new format is a line here.
"""

import codecs
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pydantic import Field, field_validator

from reanon_dagster.series.field_types import Text, typed
from reanon_dagster.series.memory_size import Size
from reanon_dagster.sources.kinds.columnar_files import parquet_batches, read_arrow, read_parquet
from reanon_dagster.sources.kinds.csv_files import csv_batches, read_csv
from reanon_dagster.sources.kinds.excel_files import read_excel
from reanon_dagster.sources.kinds.size_limit import CODECS, decompressed, most_bytes
from reanon_dagster.sources.kinds.source import Source, StreamedFile
from reanon_dagster.sources.kinds.stata_spss_sas_files import PROGRAMS, read_statistics_file

if TYPE_CHECKING:
    import pyarrow as pa


class FileKeys(Source):
    """How the files of a source are read."""

    separator: Text = Field(default=",", description='The character between two values of a csv line; "tab" for a tab.')
    encoding: Text = Field(default="utf-8", description="The encoding of a csv file.")
    sheet: Text | None = Field(default=None, description="The sheet of an Excel workbook. Default: its only sheet.")
    labels: bool = Field(
        default=True,
        description="Whether Stata and SPSS columns with value labels are read as those labels; otherwise as numbers.",
    )
    max_size: Size | None = Field(
        default=None,
        description="How much a compressed file may unpack to, such as 4GB. Default: half of the memory that is free.",
    )

    @field_validator("separator")
    @classmethod
    def _one_character(cls, value: str) -> str:
        value = "\t" if value in {"tab", "\\t"} else value
        if len(value) != 1 or not value.isascii():
            raise ValueError('be one character, such as , or ; or "tab"')
        return value

    @field_validator("encoding")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            codecs.lookup(value)
        except LookupError:
            raise ValueError("be an encoding that Python knows, such as utf-8 or latin-1") from None
        return value

    @field_validator("labels", mode="before")
    @classmethod
    def _typed(cls, value: object) -> object:
        return typed(value)


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
