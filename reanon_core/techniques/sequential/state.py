"""What the technique keeps: every person ever published and the worlds' permutations. As secret as the data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.codebook import Codebook, CodedState
from reanon_core.model.packing import Packable
from reanon_core.model.release import UNPUBLISHED
from reanon_core.techniques.sequential.worlds import Worlds

VERSION = 1
UNSEEN = (2**31 - 1, MISSING)
"""The first and last code of a column that was not in the source yet."""


@dataclass(frozen=True, eq=False)
class WorldsState(CodedState):
    """Every person ever published, batch after batch.

    Paper: [ST15] Section 4.2: the permutations are stored, and the worlds follow from them.
    """

    time: int
    persons: Int64  # [n]
    qi: Int32  # [d, n] MISSING where the column was not in the source yet
    sensitive: Int32  # [n]
    other: Int32  # [o, n] UNPUBLISHED where the column was not in the source yet
    images: Int32  # [ell - 1, n] permutations of all people
    cell: Int32  # [n] people who can only leave together
    bucket: Int32  # [n]
    gone: Bool  # [n] people whose whole cell has left
    extent: Int64  # [2, d] least and greatest code of each attribute so far

    @staticmethod
    def initial() -> "WorldsState":
        """The state before the first release."""
        table, column = np.empty((0, 0), np.int32), np.empty(0, np.int32)
        return WorldsState(
            time=0,
            persons=np.empty(0, np.int64),
            qi=table,
            sensitive=column,
            other=table,
            images=table,
            cell=column,
            bucket=column,
            gone=np.empty(0, np.bool_),
            extent=np.empty((2, 0), np.int64),
        )

    @property
    def size(self) -> int:
        """How many people were ever published."""
        return len(self.persons)

    def find(self, persons: Int64) -> Int64:
        """Where each person is, -1 for people who were never published."""
        order = np.argsort(self.persons)
        place = self.persons[order].searchsorted(persons)
        inside = np.minimum(place, max(0, self.size - 1))
        known = (self.persons[order[inside]] == persons) if self.size else np.zeros(len(persons), np.bool_)
        return np.where(known, order[inside] if self.size else 0, -1)

    def add_batch(self, persons: Int64, qi: Int32, sensitive: Int32, other: Int32, worlds: Worlds) -> "WorldsState":
        """The state with one more batch, whose permutations continue those of the earlier batches.

        Paper: [ST15] Section 5.2.
        """
        size = self.size
        first = size == 0
        offset = np.int32(int(self.cell.max(initial=-1)) + 1), np.int32(int(self.bucket.max(initial=-1)) + 1)
        return replace(
            self,
            persons=np.concatenate([self.persons, persons]),
            qi=qi if first else np.concatenate([self.qi, qi], axis=1),
            sensitive=np.concatenate([self.sensitive, sensitive]),
            other=other if first else np.concatenate([self.other, other], axis=1),
            images=worlds.images if first else np.concatenate([self.images, worlds.images + np.int32(size)], axis=1),
            cell=np.concatenate([self.cell, worlds.cell + offset[0]]),
            bucket=np.concatenate([self.bucket, worlds.bucket + offset[1]]),
            gone=np.concatenate([self.gone, np.zeros(len(persons), np.bool_)]),
        )

    def fill_columns(self, place: Int64, qi: Int32, other: Int32) -> "WorldsState":
        """The state with the values of columns that were added to the source since."""
        new_qi, new_other = self.qi.copy(), self.other.copy()
        new_qi[:, place] = np.where(self.qi[:, place] == MISSING, qi, self.qi[:, place])
        new_other[:, place] = np.where(self.other[:, place] == UNPUBLISHED, other, self.other[:, place])
        return replace(self, qi=new_qi, other=new_other)

    @property
    def closed(self) -> Bool:
        """People who share a cell with a forgotten person, bool[n]: a cell leaves as a whole, and theirs has left."""
        forgotten = self.sensitive == UNPUBLISHED
        return np.isin(self.cell, self.cell[forgotten])

    def without_values_of(self, person: int) -> "WorldsState":
        """The state without the person's values. Their cell leaves with them: none of its worlds can go on without."""
        forgotten = self.persons == person
        gone = self.gone | np.isin(self.cell, self.cell[forgotten])
        return replace(
            self,
            qi=np.where(forgotten, MISSING, self.qi).astype(np.int32),
            sensitive=np.where(forgotten, UNPUBLISHED, self.sensitive).astype(np.int32),
            other=np.where(forgotten, UNPUBLISHED, self.other).astype(np.int32),
            gone=gone,
        )

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
        return {
            "version": VERSION,
            "time": self.time,
            "persons": self.persons,
            "qi": self.qi,
            "sensitive": self.sensitive,
            "other": self.other,
            "images": self.images,
            "cell": self.cell,
            "bucket": self.bucket,
            "gone": self.gone,
            "extent": self.extent,
            **self.codebook.packed(),
        }

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "WorldsState":
        """The state that was packed."""
        if packed["version"] != VERSION:
            raise ValueError(f"state version {packed['version']} is not {VERSION}")
        return WorldsState(
            cast("int", packed["time"]),
            cast("Int64", packed["persons"]),
            cast("Int32", packed["qi"]),
            cast("Int32", packed["sensitive"]),
            cast("Int32", packed["other"]),
            cast("Int32", packed["images"]),
            cast("Int32", packed["cell"]),
            cast("Int32", packed["bucket"]),
            cast("Bool", packed["gone"]),
            cast("Int64", packed["extent"]),
            codebook=Codebook.restored(packed),
        )
