"""What an engine is, and the one that works in this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.threads import in_threads

T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """Where tasks are run."""

    @property
    def folder(self) -> ColumnFolder:
        """The private folder of columns and pieces, which every worker sees under the same path."""
        ...

    @property
    def chunk_rows(self) -> int:
        """So many rows fit into the memory of one task. The release does not depend on it."""
        ...

    def run(self, function: Callable[[T], R], tasks: Sequence[T], sizes: Sequence[int]) -> list[R]:
        """What the function returns for each task, in their order; the largest tasks begin first.

        Requires: a function of a module, which gives the same files if it is run twice, even at the same time; tasks
        and results that can be pickled and hold no row of a person; tasks that do not depend on each other.
        """
        ...


@dataclass(frozen=True)
class EmbeddedEngine:
    """Tasks run in the threads of this process."""

    folder: ColumnFolder
    chunk_rows: int

    def run(self, function: Callable[[T], R], tasks: Sequence[T], sizes: Sequence[int]) -> list[R]:
        """What the function returns for each task, in their order."""
        return in_threads(function, tasks, sizes)
