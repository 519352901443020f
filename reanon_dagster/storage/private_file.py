"""Files that only their owner can read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from reanon_dagster.storage.durable_file import flush, temporary_file


@contextmanager
def new_private_file(path: Path) -> Iterator[BinaryIO]:
    """A file that is created for its owner alone, complete and flushed or not there at all.

    Raises: FileExistsError if it is there, also as a link.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        flush(path.parent)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def replaced_private_file(path: Path) -> Iterator[BinaryIO]:
    """A file for its owner alone that takes the place of the one that is there, complete and flushed or not at all."""
    temporary = temporary_file(path)
    with new_private_file(temporary) as file:
        yield file
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    flush(path.parent)
