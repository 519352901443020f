"""What BPG remembers between releases: the atom of everyone ever published."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from reanon_core.model.arrays import Int32, Int64, frozen
from reanon_core.model.codebook import Codebook, CodedState
from reanon_core.model.packing import Packable

VERSION = 1


@dataclass(frozen=True, eq=False)
class BpgState(CodedState):
    """The atoms of all releases so far, their signatures, and the values that were published of their members.

    The members of an atom were published together, or not at all, in every release. A column is what one release
    published of them; columns that are equal for all members are kept once. The paper calls an atom a neighbourhood.

    Paper: [BPG] signature, neighbourhood (prose).
    """

    time: int
    persons: Int64  # [p] ascending: everyone ever published
    atom: Int32  # [p] 0 .. a - 1
    columns: Int32  # [a] how many different columns each atom has
    values: Int32  # [v] the columns of each person, person by person
    signature_starts: Int64  # [a + 1] where the signature of each atom begins
    signature_releases: Int32  # [r] the signatures: in which releases, counted from 1, an atom was published
    extent: Int64  # [2, d] least and greatest code seen of each attribute; [2, 0] before the first release
    last_value: Int32  # [p] the value that was published last of each person; -1 for an invented person
    last_qi: Int32  # [d, p] their quasi-identifiers then; [0, 0] before the first release
    ghost_value: Int32  # [p] the invented value that stands for a person, or -1; [0] if there is none for anyone
    explained: int
    """The causes of withholding that have been explained to the steward (see withheld_reasons.py)."""
    reserve: int
    """The reserve of the latest release; 0 before the first."""

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in ("persons", "signature_starts", "extent"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        for name in ("atom", "columns", "values", "signature_releases", "last_value", "last_qi", "ghost_value"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))

    @property
    def atoms(self) -> int:
        """How many atoms there are."""
        return len(self.columns)

    @cached_property
    def value_starts(self) -> Int64:
        """Where each person's values begin [p + 1]."""
        starts = np.zeros(len(self.persons) + 1, dtype=np.int64)
        np.cumsum(self.columns[self.atom], out=starts[1:])
        return starts

    @staticmethod
    def initial() -> "BpgState":
        """The state before the first release."""
        none = np.empty(0, np.int32)
        return BpgState(
            time=0,
            persons=np.empty(0, np.int64),
            atom=none,
            columns=none,
            values=none,
            signature_starts=np.zeros(1, np.int64),
            signature_releases=none,
            extent=np.empty((2, 0), np.int64),
            last_value=none,
            last_qi=np.empty((0, 0), np.int32),
            ghost_value=none,
            explained=0,
            reserve=0,
        )

    def without_values_of(self, person: int) -> "BpgState":
        """The state without the record of the person, who from now on counts as invented: they stay in their atom."""
        forgotten = self.persons == person
        qi = np.where(forgotten, 0, self.last_qi) if len(self.last_qi) else self.last_qi
        return replace(self, last_value=np.where(forgotten, -1, self.last_value), last_qi=qi)

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
        return {
            "version": VERSION,
            "time": self.time,
            "persons": self.persons,
            "neighbourhood": self.atom,
            "columns": self.columns,
            "values": self.values,
            "offsets": self.signature_starts,
            "releases": self.signature_releases,
            "extent": self.extent,
            "last": self.last_value,
            "qi": self.last_qi,
            "met": self.explained,
            "reserve": self.reserve,
            **({"ghosts": self.ghost_value} if len(self.ghost_value) else {}),
            **self.codebook.packed(),
        }

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "BpgState":
        """The state that was packed."""
        if packed["version"] != VERSION:
            raise ValueError(f"this BPG state has version {packed['version']}; only version {VERSION} can be read")
        arrays = {name: value for name, value in packed.items() if isinstance(value, np.ndarray)}
        return BpgState(
            time=cast("int", packed["time"]),
            persons=cast("Int64", arrays["persons"]),
            atom=cast("Int32", arrays["neighbourhood"]),
            columns=cast("Int32", arrays["columns"]),
            values=cast("Int32", arrays["values"]),
            signature_starts=cast("Int64", arrays["offsets"]),
            signature_releases=cast("Int32", arrays["releases"]),
            extent=cast("Int64", arrays["extent"]),
            last_value=cast("Int32", arrays["last"]),
            last_qi=cast("Int32", arrays["qi"]),
            ghost_value=cast("Int32", arrays.get("ghosts", np.empty(0, np.int32))),
            explained=cast("int", packed["met"]),
            reserve=cast("int", packed["reserve"]),
            codebook=Codebook.restored(packed),
        )
