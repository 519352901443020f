"""The people whom the trace names: where they are in the snapshot, and which published rows are theirs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.engine.column_folder import forget_pages
from reanon_core.model.arrays import Bool, Int8, Int32, Int64
from reanon_core.model.snapshot import INVENTED
from reanon_dagster.judges.distinct_numbers import distinct_numbers
from reanon_dagster.judges.judged_release import NOWHERE, JudgedRelease

Bits = np.ndarray[tuple[int], np.dtype[np.uint8]]
"""A bit for each row, eight to a byte."""


class TracedPart(NamedTuple):
    """Some consecutive people of the trace."""

    place: slice
    """Where they are in the trace."""
    position: Int64  # [part] where they are in the snapshot, if they are in it
    found: Bool  # [part] whether they are in it


@dataclass(frozen=True)
class TracedPeople:
    """The trace of a release against its snapshot."""

    judged: JudgedRelease

    def parts(self) -> Iterator[TracedPart]:
        """The people of the trace in its order, a chunk at a time."""
        persons, traced = self.judged.entry.snapshot.persons, self.judged.entry.trace.persons
        snapshot = self.judged.entry.snapshot
        read = (persons, traced, self.judged.entry.trace.rows, snapshot.qi, snapshot.sensitive, snapshot.other)
        for place in self.judged.space.chunks(len(traced), *read):
            part = traced[place]
            if np.array_equal(persons[place], part):  # no one is withheld so far, which is the common case
                yield TracedPart(place, np.arange(place.start, place.stop), np.ones(len(part), np.bool_))
                continue
            position = persons.searchsorted(part)
            found = position < len(persons)
            found[found] = persons[position[found]] == part[found]
            yield TracedPart(place, position, found)

    def links(self) -> Iterator[tuple[Int64, Int32, Int32]]:
        """The position in the snapshot, the row and the group of each person who has all three; others are left out.

        Requires: the trace has a row for each person.
        """
        rows, hosting = self.judged.entry.trace.rows, self.judged.hosting
        for part in self.parts():
            forget_pages(hosting)
            row, group = rows[part.place], hosting[part.place]
            good = part.found & (group != NOWHERE)
            links = (part.position, row, group) if good.all() else (part.position[good], row[good], group[good])
            for numbers in links:
                numbers.flags.writeable = False  # so that loops are compiled once, for arrays that are read
            yield links

    @cached_property
    def traced_rows(self) -> Bits:
        """Which published rows are traced."""
        rows = self.judged.entry.trace.rows
        bits = _no_bits(self.judged.entry.release.size)
        for part in self.judged.space.chunks(len(rows), rows):
            _set_bits(bits, self.judged.entry.release.size, rows[part])
        return bits

    @cached_property
    def invented_rows(self) -> Bits:
        """Which published rows are traced to a person whom the snapshot marks as invented.

        A row of several people is judged by the last of them.
        """
        entry = self.judged.entry
        bits = _no_bits(entry.release.size)
        origin, readable = entry.snapshot.origin, len(entry.trace.persons) == len(entry.trace.rows)
        if origin is not None and readable:
            for part in self.parts():
                rows = entry.trace.rows[part.place][part.found]
                _set_invented(bits, entry.release.size, rows, origin[part.position[part.found]])
        return bits

    def flaws(self) -> dict[str, int]:
        """Paper: [XT07] Definition 2, property 2: each person has a generalized tuple, and no tuple is two people's."""
        trace, space = self.judged.entry.trace, self.judged.space
        existing = len(trace.rows) - self.judged.outside(trace.rows, self.judged.entry.release.size)
        pairs = space.chunks(max(0, len(trace.persons) - 1), trace.persons)
        descents = sum(_count(trace.persons[pair.start + 1 : pair.stop + 1] < trace.persons[pair]) for pair in pairs)
        # In an ascending trace every person who is not above the one before is the same person again.
        repeated = (
            len(trace.persons) - distinct_numbers(trace.persons, space)
            if descents
            else self.judged.disorder(trace.persons)
        )
        return {
            "traced people who are not in the snapshot": sum(_count(~part.found) for part in self.parts()),
            "traced rows that do not exist": len(trace.rows) - existing,
            "people with more than one row": repeated,
            "rows of more than one person": existing - count_bits(self.traced_rows),
            "trace out of order": descents,
        }


def count_bits(bits: Bits) -> int:
    """How many bits are set."""
    return int(np.bitwise_count(bits).sum())


def distinct_rows(rows: Int32, size: int) -> int:
    """How many different rows are listed, of a table of this size."""
    bits = _no_bits(size)
    _set_bits(bits, size, rows)
    return count_bits(bits)


def _no_bits(size: int) -> Bits:
    return np.zeros(-(-size // 8), np.uint8)


def _count(flags: Bool) -> int:
    return int(np.count_nonzero(flags))


@compiled
def _set_bits(bits: Bits, size: int, rows: Int32) -> None:
    for row in rows:
        if 0 <= row < size:
            bits[row >> 3] |= np.uint8(1 << (row & 7))


@compiled
def _set_invented(bits: Bits, size: int, rows: Int32, origin: Int8) -> None:
    for place in range(len(rows)):
        row = rows[place]
        if 0 <= row < size:
            bit = np.uint8(1 << (row & 7))
            bits[row >> 3] &= np.uint8(255) ^ bit
            if origin[place] == INVENTED:
                bits[row >> 3] |= bit
