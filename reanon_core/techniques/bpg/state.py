"""What BPG remembers between releases: the neighbourhood of everybody ever published."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from reanon_core.model.arrays import Int32, Int64, frozen
from reanon_core.model.codebook import Codebook, CodedState
from reanon_core.model.packing import Packable

VERSION = 1


@dataclass(frozen=True, eq=False)
class BpgState(CodedState):
    """Who can be told apart from whom by everything published so far, and the values that were published of them.

    The people of one neighbourhood were shown together, or not at all, in every release. A column is what one release
    published of them; columns that are the same for all of them are kept once.
    """

    time: int
    persons: Int64  # [p] ascending: everybody ever published
    neighbourhood: Int32  # [p] 0 .. a - 1
    columns: Int32  # [a] how many different columns each neighbourhood has
    values: Int32  # [v] the columns of each person, person by person
    offsets: Int64  # [a + 1] where the signature of each neighbourhood begins in `releases`
    releases: Int32  # [r] the signatures: in which releases, counted from 1, a neighbourhood was published
    extent: Int64  # [2, d] least and greatest code seen of each attribute; [2, 0] before the first release
    last: Int32  # [p] the value that was published last of each person; -1 for whoever was invented
    qi: Int32  # [d, p] their quasi-identifiers then; [0, 0] before the first release
    met: int
    """Which walls the series has met so far (see withholding.py)."""
    reserve: int
    """The reserve of the latest release; 0 before the first."""

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in ("persons", "offsets", "extent"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        for name in ("neighbourhood", "columns", "values", "releases", "last", "qi"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))

    @property
    def neighbourhoods(self) -> int:
        """How many neighbourhoods there are."""
        return len(self.columns)

    @cached_property
    def value_starts(self) -> Int64:
        """Where each person's values begin [p + 1]."""
        starts = np.zeros(len(self.persons) + 1, dtype=np.int64)
        np.cumsum(self.columns[self.neighbourhood], out=starts[1:])
        return starts

    @staticmethod
    def initial() -> "BpgState":
        """Nothing was published yet."""
        none = np.empty(0, np.int32)
        return BpgState(
            time=0,
            persons=np.empty(0, np.int64),
            neighbourhood=none,
            columns=none,
            values=none,
            offsets=np.zeros(1, np.int64),
            releases=none,
            extent=np.empty((2, 0), np.int64),
            last=none,
            qi=np.empty((0, 0), np.int32),
            met=0,
            reserve=0,
        )

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
        return {
            "version": VERSION,
            "time": self.time,
            "persons": self.persons,
            "neighbourhood": self.neighbourhood,
            "columns": self.columns,
            "values": self.values,
            "offsets": self.offsets,
            "releases": self.releases,
            "extent": self.extent,
            "last": self.last,
            "qi": self.qi,
            "met": self.met,
            "reserve": self.reserve,
            **self.codebook.packed(),
        }

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "BpgState":
        """The state that was packed."""
        if packed["version"] != VERSION:
            raise ValueError(f"state version {packed['version']} is not {VERSION}")
        arrays = {name: value for name, value in packed.items() if isinstance(value, np.ndarray)}
        return BpgState(
            cast("int", packed["time"]),
            cast("Int64", arrays["persons"]),
            cast("Int32", arrays["neighbourhood"]),
            cast("Int32", arrays["columns"]),
            cast("Int32", arrays["values"]),
            cast("Int64", arrays["offsets"]),
            cast("Int32", arrays["releases"]),
            cast("Int64", arrays["extent"]),
            cast("Int32", arrays["last"]),
            cast("Int32", arrays["qi"]),
            cast("int", packed["met"]),
            cast("int", packed["reserve"]),
            codebook=Codebook.restored(packed),
        )
