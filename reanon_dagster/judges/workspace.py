"""The memory and the private folder that the judges of one release work with."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy.typing as npt

from reanon_core.engine.column_folder import Column, ColumnFolder, forget_pages
from reanon_core.model.arrays import AnyArray

LARGEST_CHUNK = 1 << 18
"""The most rows that are copied at a time: more would not be faster."""
LEAST = 1024
"""The fewest rows or groups that are worked on at a time, however little memory there is."""
FORGETTING = 4
"""After so many chunks the mapped pages that were read are given back."""
CHUNK_BYTES = 512
"""No judge needs more bytes for a row of a chunk."""


@dataclass(frozen=True)
class Workspace:
    """How much memory a judge may take, and where its columns are. The verdict does not depend on either."""

    limit_bytes: int
    folder: ColumnFolder
    _temporary: list[str] = field(default_factory=list, compare=False, repr=False)
    _results: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def part_bytes(self) -> int:
        """The bytes that may be read and written in any order during one pass: the rest is for chunks and results."""
        return self.limit_bytes // 2

    @property
    def least(self) -> int:
        """The fewest rows or groups that are worked on at a time."""
        return LEAST

    def chunks(self, count: int, *mapped: AnyArray) -> Iterator[slice]:
        """Consecutive parts of so many rows, each small enough to be copied several times.

        The arrays that are read along with them give their memory back to the operating system now and then.
        """
        rows = min(LARGEST_CHUNK, max(LEAST, self.limit_bytes // CHUNK_BYTES))
        for number, start in enumerate(range(0, count, rows), 1):
            yield slice(start, min(start + rows, count))
            if number % FORGETTING == 0:
                forget_pages(*mapped)
        forget_pages(*mapped)

    def parts(self, count: int, bytes_each: int) -> list[tuple[int, int]]:
        """Consecutive parts of so many items, first and end, that each fit into the memory; at least one part."""
        items = max(LEAST, self.part_bytes // bytes_each)
        return [(first, min(first + items, count)) for first in range(0, max(count, 1), items)]

    def temporary(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Column:
        """A column of zeros that is deleted with this workspace."""
        column = self.folder.created(name, dtype, shape)
        self._temporary.append(column.path)
        return column

    def result(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Column:
        """A column of zeros that stays, unless the judge fails."""
        column = self.folder.created(name, dtype, shape)
        self._results.append(column.path)
        return column

    def files(self, *, results: bool) -> list[str]:
        """The paths of the temporary columns, and of the results if they are asked for."""
        return [*self._temporary, *(self._results if results else ())]


@contextmanager
def workspace(limit_bytes: int, folder: ColumnFolder) -> Iterator[Workspace]:
    """A workspace that leaves nothing but results in the folder; arrays that are mapped from the rest stay readable."""
    space = Workspace(limit_bytes, folder)
    done = False
    try:
        yield space
        done = True
    finally:
        for path in space.files(results=not done):
            Path(path).unlink(missing_ok=True)
