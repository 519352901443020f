"""What Mondrian remembers between releases: their number, and the range of undeclared domains."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from reanon_core.model.arrays import Int64
from reanon_core.model.codebook import Codebook, CodedState
from reanon_core.model.packing import Packable

VERSION = 1


@dataclass(frozen=True, eq=False)
class MondrianState(CodedState):
    """The number of releases, and the range of codes seen."""

    time: int
    extent: Int64  # [2, d] least and greatest code seen of each attribute; [2, 0] before the first release

    @staticmethod
    def initial() -> "MondrianState":
        """The state before the first release."""
        return MondrianState(0, np.empty((2, 0), np.int64))

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
        return {"version": VERSION, "time": self.time, "extent": self.extent, **self.codebook.packed()}

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "MondrianState":
        """The state that was packed."""
        if packed["version"] != VERSION:
            raise ValueError(f"this Mondrian state has version {packed['version']}; only version {VERSION} can be read")
        extent = cast("Int64", packed["extent"])
        return MondrianState(cast("int", packed["time"]), extent, codebook=Codebook.restored(packed))
