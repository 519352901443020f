"""A file of a snapshot whose rows are read batch by batch."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class StreamedFile:
    """What is known of a file before its rows are read, and how to read them."""

    schema: "pa.Schema"
    """Those of the requested columns that exist."""
    names: Sequence[str]
    """The names of all columns."""
    digest: str
    """The sha256 of the file's bytes."""
    rows: int
    """The file has at most so many rows."""
    size: int
    """The bytes of the file, without compression of the whole."""
    batches: "Callable[[int], Iterator[pa.Table]]"
    """From a number of rows to batches of at most so many, in order."""


def file_digest(path: Path) -> str:
    """The sha256 of a file's bytes, read in blocks.

    Raises: OSError.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
