"""Pieces: the rows that one task leaves for several later tasks, in one file sorted by the task that reads them."""

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reanon_core.engine.column_folder import PRIVATE_FILE, Numbers, bytes_of, read_fully
from reanon_core.kernels.orders import counting_order
from reanon_core.model.arrays import AnyArray, Int32


@dataclass(frozen=True)
class Pieces:
    """A file of rows in parts, and where each part begins. Every field has its own stretch of the file."""

    path: str
    starts: tuple[int, ...]
    """[parts + 1] the first row of each part."""
    fields: tuple[tuple[str, str, int], ...]
    """The name, the dtype and the offset of each field."""


def write_pieces(path: str, part: Int32, parts: int, rows: Mapping[str, AnyArray]) -> Pieces:
    """Write the rows, those of a part together and in their order; rows of a negative part are left out.

    A task that is run again writes the same file again, and a reader sees a whole one.
    """
    kept = np.flatnonzero(part >= 0)
    order = kept[counting_order(part[kept], parts)]
    starts = np.concatenate([[0], np.cumsum(np.bincount(part[kept], minlength=parts))])
    fields, offset = [], 0
    draft = f"{path}.{secrets.token_hex(8)}"
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        for name, values in rows.items():
            fields.append((name, values.dtype.str, offset))
            sorted_values = values[order]
            file.write(bytes_of(sorted_values))
            offset += sorted_values.nbytes
    Path(draft).replace(path)
    return Pieces(path, tuple(starts.tolist()), tuple(fields))


def read_pieces(pieces: Sequence[Pieces], part: int) -> dict[str, Numbers]:
    """The rows of one part, file after file.

    Requires: at least one file; all have the same fields.
    """
    rows = [pieces_of.starts[part + 1] - pieces_of.starts[part] for pieces_of in pieces]
    ends = np.cumsum(rows)
    read = {name: np.empty(int(ends[-1]), dtype) for name, dtype, _ in pieces[0].fields}
    for one, count, end in zip(pieces, rows, ends.tolist(), strict=True):
        if not count:
            continue
        with Path(one.path).open("rb", buffering=0) as file:
            for name, dtype, offset in one.fields:
                file.seek(offset + one.starts[part] * np.dtype(dtype).itemsize)
                read_fully(file.fileno(), read[name][end - count : end])
    return read


def discard(pieces: Iterable[Pieces]) -> None:
    """Delete files that no task reads any more."""
    for one in pieces:
        Path(one.path).unlink(missing_ok=True)
