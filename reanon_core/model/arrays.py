"""Array types of the model, and how to freeze them."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]
UInt64: TypeAlias = npt.NDArray[np.uint64]
Int8: TypeAlias = npt.NDArray[np.int8]
Int16: TypeAlias = npt.NDArray[np.int16]
Bool: TypeAlias = npt.NDArray[np.bool_]
Float64: TypeAlias = npt.NDArray[np.float64]
AnyArray: TypeAlias = npt.NDArray[np.generic]

MISSING = int(np.iinfo(np.int32).min)
"""The code of a missing quasi-identifier value: it sorts before all others."""


def frozen(array: npt.ArrayLike, dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """A contiguous read-only array of the given type, copied only if necessary.

    Ensures: the caller's own array stays writable.
    """
    result = np.ascontiguousarray(array, dtype=dtype)
    if result is array or result.base is not None:
        result = result.view()
    result.flags.writeable = False
    return result
