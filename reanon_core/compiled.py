"""The one decorator for compiled inner loops: typed, cached on disk, without the interpreter lock."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile the function with numba at its first call and keep the result on disk."""
    return cast("F", numba.njit(cache=True, nogil=True)(function))
