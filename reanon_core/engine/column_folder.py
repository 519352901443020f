"""Columns on disk: fixed-width numbers in flat files of a private folder."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from reanon_core.model.arrays import AnyArray
from reanon_core.model.arrays import forget_pages as forget_pages  # noqa: PLC0414  for those who map columns

Numbers: TypeAlias = npt.NDArray[Any]
"""An array whose type only its column knows."""
PRIVATE_FILE = 0o600


@dataclass(frozen=True)
class Column:
    """A column on disk, or several of equal length one behind the other."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    """The last dimension is that of the rows."""
    start: int = 0
    """Where it begins in the file."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.shape[-1]

    def read(self, start: int, stop: int) -> Numbers:
        """The rows from `start` to before `stop`, copied into memory."""
        shape = (*self.shape[:-1], stop - start)
        rows = np.empty(shape, self.dtype)
        with Path(self.path).open("rb", buffering=0) as file:
            for number, part in self._parts(rows):
                file.seek(self._offset(number, start))
                read_fully(file.fileno(), part)
        return rows

    def write(self, start: int, values: AnyArray) -> None:
        """Put these rows into the file, from row `start` on; another task may write other rows meanwhile."""
        values = np.ascontiguousarray(values, self.dtype)
        if values.shape[:-1] != self.shape[:-1] or start + values.shape[-1] > self.rows:
            raise ValueError(f"rows of shape {values.shape} do not fit at {start} into a column of shape {self.shape}")
        with Path(self.path).open("r+b", buffering=0) as file:
            for number, part in self._parts(values):
                os.lseek(file.fileno(), self._offset(number, start), os.SEEK_SET)
                _write_fully(file.fileno(), part)

    def write_at(self, rows: AnyArray, values: AnyArray) -> None:
        """Put values into some rows, which need not follow each other."""
        if len(rows):
            mapped = np.memmap(self.path, self.dtype, "r+", self.start, self.shape)
            mapped[rows] = values
            mapped.flush()  # workers on other machines must see it

    def mapped(self) -> Numbers:
        """The whole column as a read-only array whose memory the operating system may take back at any time."""
        if 0 in self.shape:
            empty = np.empty(self.shape, self.dtype)
            empty.flags.writeable = False
            return empty
        return np.memmap(self.path, self.dtype, "r", self.start, self.shape)

    def part(self, number: int) -> "Column":
        """One of several columns that are one behind the other."""
        return Column(self.path, self.dtype, self.shape[1:], self._offset(number, 0))

    def _offset(self, number: int, row: int) -> int:
        return self.start + (number * self.rows + row) * np.dtype(self.dtype).itemsize

    @staticmethod
    def _parts(values: AnyArray) -> Iterator[tuple[int, AnyArray]]:
        return enumerate(values.reshape(-1, values.shape[-1]) if values.size else ())


@dataclass(frozen=True)
class ColumnFolder:
    """A private folder that holds the columns of one release while it is computed."""

    path: str
    _numbers: "count[int]" = field(default_factory=count, compare=False, repr=False)

    def created(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Column:
        """A new column of zeros."""
        column = Column(self.new_path(name), np.dtype(dtype).str, shape)
        descriptor = os.open(column.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE)
        try:
            os.truncate(descriptor, int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize)
        finally:
            os.close(descriptor)
        return column

    def written(self, name: str, values: AnyArray) -> Column:
        """A column with these values."""
        column = self.created(name, values.dtype, values.shape)
        column.write(0, values)
        return column

    def column_of(self, name: str, values: AnyArray) -> Column:
        """The column of this folder that an array was mapped from; a new one for any other array."""
        mapped = values
        while isinstance(mapped.base, np.ndarray):
            mapped = mapped.base
        if isinstance(mapped, np.memmap) and Path(str(mapped.filename)).parent == Path(self.path):
            same_place = mapped.__array_interface__["data"][0] == values.__array_interface__["data"][0]
            if same_place and mapped.dtype == values.dtype and mapped.shape == values.shape and mapped.offset == 0:
                return Column(str(mapped.filename), values.dtype.str, values.shape)
        return self.written(name, values)

    def new_path(self, name: str) -> str:
        """The path of a file that does not exist yet."""
        return str(Path(self.path) / f"{next(self._numbers):04}-{name}")


def bytes_of(array: AnyArray) -> memoryview:
    """The bytes of a contiguous array, without a copy."""
    return array.data.cast("B") if array.size else memoryview(b"")


def read_fully(descriptor: int, part: AnyArray) -> None:
    """Fill an array from a file."""
    view = bytes_of(part)
    while view:
        done = os.readv(descriptor, [view])
        if not done:
            raise OSError("a column ends before its last row")
        view = view[done:]


def _write_fully(descriptor: int, part: AnyArray) -> None:
    view = bytes_of(part)
    while view:
        view = view[os.write(descriptor, view) :]
