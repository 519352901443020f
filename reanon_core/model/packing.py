"""Named arrays and scalars as bytes and back: how states and memories are stored."""

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from reanon_core.model.arrays import AnyArray

MAGIC = b"REANON1\n"

Packable = AnyArray | int | str


def pack(fields: Mapping[str, Packable]) -> bytes:
    """One byte string that holds every field. Equal fields give equal bytes."""
    return b"".join(_packed_parts(fields))


def packed_digest(fields: Mapping[str, Packable]) -> str:
    """The sha256 of the packed fields, without a copy of their arrays."""
    digest = hashlib.sha256()
    for part in _packed_parts(fields):
        digest.update(part)
    return digest.hexdigest()


def packed_size(fields: Mapping[str, Packable]) -> int:
    """The number of the packed bytes."""
    return sum(memoryview(part).nbytes for part in _packed_parts(fields))


def _packed_parts(fields: Mapping[str, Packable]) -> list[bytes | memoryview]:
    """The head, and the arrays one after the other."""
    head: dict[str, object] = {}
    arrays: list[memoryview] = []
    for name in sorted(fields):
        value = fields[name]
        if isinstance(value, np.ndarray):
            array = np.ascontiguousarray(value)
            head[name] = {"dtype": array.dtype.str, "shape": array.shape}
            arrays.append(array.data)
        else:
            head[name] = value
    text = json.dumps(head, separators=(",", ":")).encode()
    return [MAGIC, len(text).to_bytes(8, "little"), text, *arrays]


def unpack(data: bytes) -> dict[str, Packable]:
    """The fields that were packed.

    Raises: ValueError for bytes that `pack` did not make, or that are incomplete.
    """
    start = len(MAGIC) + 8
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError("these bytes were not packed by reanon")
    length = int.from_bytes(data[len(MAGIC) : start], "little")
    head = json.loads(data[start : start + length])
    offset = start + length
    fields: dict[str, Packable] = {}
    for name, described in head.items():
        if isinstance(described, dict):
            dtype = np.dtype(described["dtype"])
            count = int(np.prod(described["shape"], dtype=np.int64))
            if offset + count * dtype.itemsize > len(data):
                raise ValueError("the packed bytes are truncated")
            array = np.frombuffer(data, dtype=dtype, count=count, offset=offset)
            fields[name] = array.reshape(described["shape"]).copy()  # the bytes may be unaligned; arrays must not be
            offset += count * dtype.itemsize
        else:
            fields[name] = described
    if offset != len(data):
        raise ValueError("there are more bytes than were packed")
    return fields
