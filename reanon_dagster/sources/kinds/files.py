"""Snapshots in files, one for each release: csv or parquet, by the file's ending."""

import codecs
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, field_validator

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.field_types import Text
from reanon_dagster.sources.kinds.csv_files import read_csv
from reanon_dagster.sources.kinds.parquet_files import read_parquet
from reanon_dagster.sources.kinds.source import PLACEHOLDER, Source, SourceTable, file_version, relative

if TYPE_CHECKING:
    import pyarrow as pa


class FileSource(Source):
    """Snapshots in files, one for each release."""

    title: ClassVar[str] = "files"

    path: Text = Field(description="The snapshot's file, csv or parquet by its ending, with {release} in its name.")
    separator: Text = Field(default=",", description='The character between two values of a csv line; "tab" for a tab.')
    encoding: Text = Field(default="utf-8", description="The encoding of a csv file.")

    @field_validator("path")
    @classmethod
    def _has_placeholder(cls, value: str) -> str:
        if PLACEHOLDER not in value:
            raise ValueError("contain {release}; such as releases/{release}.csv")
        if PurePath(value).suffix.lower() not in FORMATS:
            raise ValueError(f"end in {' or '.join(FORMATS)}")
        return value

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

    @property
    def format(self) -> str:
        """The file's ending."""
        return PurePath(self.path).suffix.lower().removeprefix(".")

    def exists(self, folder: Path, release: str) -> bool:
        """Whether the file is there."""
        return self._file(folder, release).is_file()

    def version(self, folder: Path, release: str) -> str:
        """The file's time of change and size."""
        try:
            return file_version(self._file(folder, release))
        except FileNotFoundError:
            raise self.missing(folder, release) from None

    def read(self, folder: Path, release: str, columns: Sequence[str]) -> SourceTable:
        """The columns of the file that exist."""
        label = self.describe(folder, release)
        reader = FORMATS[PurePath(self.path).suffix.lower()]
        content = self._bytes(folder, release)  # read once: what is digested is what is parsed
        data, names = reader(self, content, columns, label)
        return SourceTable(data, names, label, _sha256(content))

    def describe(self, folder: Path, release: str) -> str:
        """The file's path."""
        return relative(folder, self._file(folder, release))

    def digest(self, folder: Path, release: str) -> str:
        """The sha256 of the file's bytes."""
        return _sha256(self._bytes(folder, release))

    def private_paths(self) -> Mapping[str, str]:
        """The snapshots are private."""
        return {"path": self.path}

    def _file(self, folder: Path, release: str) -> Path:
        return folder / self.path.replace(PLACEHOLDER, release)

    def _bytes(self, folder: Path, release: str) -> bytes:
        try:
            return self._file(folder, release).read_bytes()
        except FileNotFoundError:
            raise self.missing(folder, release) from None
        except OSError as error:
            raise InvalidSnapshot(Problem(self.describe(folder, release), "be readable", help=error.strerror)) from None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _csv(source: FileSource, content: bytes, columns: Sequence[str], label: str) -> tuple["pa.Table", list[str]]:
    return read_csv(content, columns, label, separator=source.separator, encoding=source.encoding)


def _parquet(_: FileSource, content: bytes, columns: Sequence[str], label: str) -> tuple["pa.Table", list[str]]:
    return read_parquet(content, columns, label)


FORMATS: dict[str, Callable[[FileSource, bytes, Sequence[str], str], tuple["pa.Table", list[str]]]] = {
    ".csv": _csv,
    ".parquet": _parquet,
}
"""The readers by the file's ending."""
