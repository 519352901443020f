"""Numbers that are appended part by part, without a second copy of them at the end."""

from typing import Any

import numpy as np
import numpy.typing as npt

from reanon_core.model.arrays import AnyArray


class GrowingList:
    """An array with room for more numbers. Room that is never written takes no memory."""

    def __init__(self, dtype: npt.DTypeLike, room: int) -> None:
        """An empty list."""
        self._numbers: npt.NDArray[Any] = np.empty(room, dtype)
        self._filled = 0

    def extend(self, numbers: AnyArray) -> None:
        """Append numbers."""
        end = self._filled + len(numbers)
        if end > len(self._numbers):
            more = np.empty(2 * end, self._numbers.dtype)
            more[: self._filled] = self._numbers[: self._filled]
            self._numbers = more
        self._numbers[self._filled : end] = numbers
        self._filled = end

    def array(self) -> npt.NDArray[Any]:
        """The numbers so far."""
        return self._numbers[: self._filled]
