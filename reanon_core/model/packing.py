"""Named arrays and scalars as bytes and back: how states and memories are stored."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping

import numpy as np

from reanon_core.model.arrays import SLICE, AnyArray, forget_pages, slices

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
    arrays = (value for value in fields.values() if isinstance(value, np.ndarray))
    return len(_head(fields)) + sum(array.nbytes for array in arrays)


def _packed_parts(fields: Mapping[str, Packable]) -> Iterator[bytes | memoryview]:
    """The head, and the arrays one after the other."""
    yield _head(fields)
    for name in sorted(fields):
        value = fields[name]
        if isinstance(value, np.ndarray):
            yield from _blocks(value)


def _head(fields: Mapping[str, Packable]) -> bytes:
    described: dict[str, object] = {}
    for name in sorted(fields):
        value = fields[name]
        if isinstance(value, np.ndarray):
            described[name] = {"dtype": value.dtype.str, "shape": value.shape or (1,)}
        else:
            described[name] = value
    text = json.dumps(described, separators=(",", ":")).encode()
    return MAGIC + len(text).to_bytes(8, "little") + text


def _blocks(array: AnyArray) -> Iterator[memoryview]:
    """The values in the order of C, some at a time, and copied only where they do not lie in this order."""
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        for part in slices(flat.size):
            yield flat[part].data
            forget_pages(array)
        return
    row = math.prod(array.shape[1:])
    if row > SLICE:
        for one in array:
            yield from _blocks(one)
        return
    rows = SLICE // max(1, row)
    for start in range(0, len(array), rows):
        yield from _blocks(np.ascontiguousarray(array[start : start + rows]))


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
