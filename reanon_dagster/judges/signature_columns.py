"""The signatures of groups and people as columns on disk: a bit for each sensitive value."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.engine.column_folder import Column, forget_pages
from reanon_core.model.arrays import Int32, Int64, UInt64
from reanon_dagster.judges.grouped_values import values_by_group
from reanon_dagster.judges.judged_release import JudgedRelease

BITS = 64
"""The number of bits of a word."""


@dataclass(frozen=True)
class MaskColumn:
    """A file of signatures, each of them several words one after the other."""

    column: Column

    @property
    def words(self) -> int:
        """The words of a signature."""
        return self.column.shape[1]

    def write(self, start: int, masks: UInt64) -> None:
        """Put these signatures into the file, from number `start` on."""
        self._flat.write(start * self.words, masks.reshape(-1))

    def read(self, start: int, stop: int) -> UInt64:
        """The signatures from number `start` to before `stop`."""
        words = self._flat.read(start * self.words, stop * self.words)
        return cast("UInt64", words).reshape(-1, self.words)

    def mapped(self) -> UInt64:
        """All signatures as a read-only array."""
        return cast("UInt64", np.asarray(self.column.mapped()))

    @property
    def _flat(self) -> Column:
        return Column(self.column.path, self.column.dtype, (self.column.shape[0] * self.words,))


def words_of(values: int) -> int:
    """How many words a signature has where there are so many sensitive values."""
    return max(1, -(-values // BITS))


def group_signatures(judged: JudgedRelease, words: int) -> UInt64:
    """The signature of each group [groups, words].

    Paper: [XT07] Definition 16. A mask, not a hash: equal masks are equal signatures.
    Requires: the release is readable and not silent.
    """
    release = judged.entry.release
    target = MaskColumn(judged.space.temporary("group-signatures", np.uint64, (release.boxes.count, words)))
    parts = values_by_group(release.group, release.sensitive, judged.sizes, judged.space, group_bytes=8 * words)
    for part in parts:
        masks = np.zeros((len(part.ends), words), np.uint64)
        _set_values(part.ends, part.values, masks)
        target.write(part.first, masks)
    return target.mapped()


def fill_person_signatures(judged: JudgedRelease, of_group: UInt64, target: MaskColumn) -> None:
    """Write the signature of the group that hosts each traced person, in the order of the trace."""
    hosting = judged.hosting
    for first, stop in judged.space.parts(len(of_group), 8 * target.words):
        for place in judged.space.chunks(len(hosting), hosting):
            people = place.stop - place.start
            masks = target.read(place.start, place.stop) if first else np.zeros((people, target.words), np.uint64)
            _copy_signatures(of_group, hosting[place], first, stop, masks)
            target.write(place.start, masks)
        forget_pages(of_group)


@compiled
def _set_values(ends: Int64, values: Int32, masks: UInt64) -> None:
    begin = 0
    for group in range(len(ends)):
        for row in range(begin, ends[group]):
            masks[group, values[row] // BITS] |= np.uint64(1) << np.uint64(values[row] % BITS)
        begin = ends[group]


@compiled
def _copy_signatures(of_group: UInt64, hosting: Int32, first: int, stop: int, masks: UInt64) -> None:
    for person in range(len(hosting)):
        if first <= hosting[person] < stop:
            for word in range(masks.shape[1]):
                masks[person, word] = of_group[hosting[person], word]
