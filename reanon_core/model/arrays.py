"""Array types of the model, and how to freeze them."""

import mmap
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]
UInt64: TypeAlias = npt.NDArray[np.uint64]
UInt8: TypeAlias = npt.NDArray[np.uint8]
Int8: TypeAlias = npt.NDArray[np.int8]
Int16: TypeAlias = npt.NDArray[np.int16]
Bool: TypeAlias = npt.NDArray[np.bool_]
Float64: TypeAlias = npt.NDArray[np.float64]
AnyArray: TypeAlias = npt.NDArray[np.generic]

MISSING = int(np.iinfo(np.int32).min)
"""The code of a missing quasi-identifier value: it sorts before all others."""

SLICE = 32 * 122_880
"""So many rows of a long column are worked on at a time: a multiple of the rows that DuckDB stores together."""


def frozen(array: npt.ArrayLike, dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """A contiguous read-only array of the given type, copied only if necessary.

    Ensures: the caller's own array stays writable.
    """
    result = np.ascontiguousarray(array, dtype=dtype)
    if result is array or result.base is not None:
        result = result.view()
    result.flags.writeable = False
    return result


def slices(rows: int, most: int | None = None) -> Iterator[slice]:
    """So many rows as slices of at most SLICE rows, or of another number; one empty slice if there are none."""
    step = SLICE if most is None else most
    for start in range(0, max(1, rows), step):
        yield slice(start, min(start + step, rows))


def joint_slices(ascending: Sequence[Int64], most: int) -> Iterator[tuple[slice, ...]]:
    """A slice of each of these arrays at a time, of at most so many entries; equal entries are in the same slices.

    All entries of a turn are smaller than those of the next one.

    Requires: each array ascends, without an entry twice; `most` is at least 1.
    """
    starts = [0] * len(ascending)
    while any(start < len(array) for start, array in zip(starts, ascending, strict=True)):
        ahead = zip(starts, ascending, strict=True)
        last = min(array[min(start + most, len(array)) - 1] for start, array in ahead if start < len(array))
        ends = [int(array.searchsorted(last, side="right")) for array in ascending]
        yield tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))
        starts = ends


def forget_pages(*arrays: AnyArray) -> None:
    """Let the operating system take the memory of mapped arrays back; the next access reads the file again."""
    for array in arrays:
        base: object = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap):
            base.madvise(mmap.MADV_DONTNEED)
