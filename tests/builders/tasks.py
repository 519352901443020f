"""Small tasks over columns and pieces on disk, as an engine runs them: workers import this module."""

import os
import stat
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from reanon_core.engine.column_folder import Column, ColumnFolder
from reanon_core.engine.engine import Engine
from reanon_core.engine.pieces import Pieces, read_pieces, write_pieces
from reanon_core.model.errors import Refused
from reanon_core.threads import threads

PARTS = 3


@dataclass(frozen=True)
class Scatter:
    """Rows of a column, to be put into pieces by their remainder."""

    column: Column
    start: int
    stop: int
    path: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Gather:
    """One part of all pieces, to be sorted and written into a column."""

    pieces: tuple[Pieces, ...]
    part: int
    into: Column
    start: int


def scatter(task: Scatter) -> Pieces:
    time.sleep(task.seconds)
    values = task.column.read(task.start, task.stop)
    return write_pieces(task.path, (values % PARTS).astype(np.int32), PARTS, {"value": values})


def gather(task: Gather) -> int:
    values = np.sort(read_pieces(task.pieces, task.part)["value"])
    task.into.write(task.start, values)
    return len(values)


def sort_by_remainder(engine: Engine, values: np.ndarray, chunks: int, seconds: float = 0.0) -> np.ndarray:
    """The values by their remainder, and sorted within each, computed in two rounds of tasks."""
    folder = engine.folder
    column, into = folder.written("values", values), folder.created("sorted", values.dtype, values.shape)
    cuts = np.linspace(0, len(values), chunks + 1).astype(int).tolist()
    tasks = [Scatter(column, start, stop, folder.new_path("pieces"), seconds) for start, stop in pairwise(cuts)]
    pieces = tuple(engine.run(scatter, tasks, [task.stop - task.start for task in tasks]))
    rows = [sum(one.starts[part + 1] - one.starts[part] for one in pieces) for part in range(PARTS)]
    starts = np.concatenate([[0], np.cumsum(rows)]).tolist()
    gathers = [Gather(pieces, part, into, starts[part]) for part in range(PARTS)]
    assert engine.run(gather, gathers, rows) == rows
    return into.read(0, len(values))


def sorted_by_remainder(values: np.ndarray) -> np.ndarray:
    """The same, by numpy."""
    return values[np.lexsort((values, values % PARTS))]


def open_files(folder: str) -> list[str]:
    """What other users could read or enter in a folder, seen from the task."""
    return [str(path) for path in Path(folder).rglob("*") if stat.S_IMODE(path.lstat().st_mode) & 0o077]


def thread_count(_: int) -> int:
    return threads()


def refuse(number: int) -> int:
    if number == 1:
        raise Refused("the technique cannot keep its promise")
    return number


def fail(number: int) -> int:
    if number == 1:
        raise KeyError("the diagnosis of a person")
    return number


def die_once(path: str) -> int:
    """End the process of the worker without a word, the first time."""
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), 9)
    return 7


def hold(folder: str) -> str:
    """Say that the task runs, and run for a while."""
    ColumnFolder(folder)
    (Path(folder) / f"running-{os.getpid()}").touch()
    time.sleep(60)
    return folder
