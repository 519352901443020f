"""Files that survive a power failure: flushed before they are seen, whole or not there at all; some are private."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def flush(path: Path) -> None:
    """Write a file or the entries of a folder to the disk, so that they survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes, *, mode: int, by_way_of: Path | None = None) -> None:
    """Put this content in place of the file, if there is one: a reader sees the old content or the new one.

    The new content is first written to a hidden file beside it, or beside the path `by_way_of`, which must be on the
    same file system: a kill leaves it there.

    Raises: OSError; the old file is then still there.
    """
    temporary = temporary_file(path if by_way_of is None else by_way_of)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)  # whatever the umask is
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush(path.parent)


def temporary_file(path: Path) -> Path:
    """A hidden name beside the file, which no other process uses."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def leftover_files(folder: Path, name: str) -> list[Path]:
    """The temporary files that killed processes left beside this file."""
    return sorted(folder.glob(f".{name}.????????????????"))


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
