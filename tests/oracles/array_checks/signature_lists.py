"""The judge's table of signatures where there are many sensitive values: each signature is listed once."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from oracles.array_checks.groups import ValueCounts
from oracles.array_checks.person_runs import any_of, inserted, runs_of
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.protocols import Memory

NUMBERS = "numbers"
"""The field of the memory that tells lists from masks."""


@dataclass(frozen=True, eq=False)
class SignatureLists:
    """Every person ever published with each of their signatures, as numbers in a list of distinct signatures."""

    persons: Int64  # [p] ascending; a person with several signatures has several rows
    number: Int32  # [p]
    offsets: Int64  # [s + 1]
    values: Int32  # [offsets[-1]] ascending within a signature

    @staticmethod
    def restored(memory: Memory) -> "SignatureLists":
        """The table that was packed."""
        return SignatureLists(
            np.asarray(memory["persons"], dtype=np.int64),
            np.asarray(memory[NUMBERS], dtype=np.int32),
            np.asarray(memory["offsets"], dtype=np.int64),
            np.asarray(memory["values"], dtype=np.int32),
        )

    def packed(self) -> Memory:
        """The table as named arrays."""
        return {"persons": self.persons, NUMBERS: self.number, "offsets": self.offsets, "values": self.values}

    def compare(self, persons: Int64, counts: ValueCounts, hosting: Int32) -> "ListComparison":
        """Compare the signatures of one release with all earlier ones of the same people.

        Requires: persons strictly ascending.
        """
        known, of_group = self._extended(counts)
        number = of_group[hosting]
        runs = runs_of(self.persons, persons)
        equal = self.number[runs.earlier] == number[runs.current]
        size = len(persons)
        unseen = ~any_of(runs.current[equal], size)
        other = runs.current[~equal]
        overlap = known.share_a_value(self.number[runs.earlier[~equal]], number[other])
        stays, target = inserted(len(self.persons), runs.end[unseen])
        merged, numbers = np.empty(len(stays), dtype=np.int64), np.empty(len(stays), dtype=np.int32)
        merged[target], merged[stays] = persons[unseen], self.persons
        numbers[target], numbers[stays] = number[unseen], self.number
        return ListComparison(
            known=runs.end > runs.start,
            different=any_of(other, size),
            overlapping=any_of(other[overlap], size),
            after=SignatureLists(merged, numbers, known.offsets, known.values),
        )

    def _extended(self, counts: ValueCounts) -> tuple["SignatureLists", Int32]:
        """The table with the signatures of the groups at the end of its list, and the number of each group's."""
        numbers = {signature: number for number, signature in enumerate(_bytes(self.offsets, self.values))}
        before = len(numbers)
        starts = np.searchsorted(counts.group, np.arange(counts.groups + 1))
        own = counts.value.astype(np.int32)
        of_group = np.empty(counts.groups, dtype=np.int32)
        for group, signature in enumerate(_bytes(starts, own)):
            of_group[group] = numbers.setdefault(signature, len(numbers))
        more = [np.frombuffer(signature, dtype=np.int32) for signature in list(numbers)[before:]]
        ends = self.offsets[-1] + np.cumsum([len(values) for values in more], dtype=np.int64)
        values = np.concatenate([self.values, *more])
        return SignatureLists(self.persons, self.number, np.concatenate([self.offsets, ends]), values), of_group

    def share_a_value(self, one: Int32, other: Int32) -> Bool:
        """Whether the two signatures of each pair share a value."""
        width = int(self.values.max(initial=0)) + 1
        shared = np.intersect1d(self._keys(one, width), self._keys(other, width))
        return any_of(shared // width, len(one))

    def _keys(self, number: Int32, width: int) -> Int64:
        """The values of these signatures, each with the place of its signature."""
        sizes = np.diff(self.offsets)[number]
        place = np.repeat(np.arange(len(number)), sizes)
        within = np.arange(len(place)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        keys: Int64 = place * width + self.values[self.offsets[number][place] + within]
        return keys


@dataclass(frozen=True, eq=False)
class ListComparison:
    """How the signature of each person of one release relates to their earlier ones."""

    known: Bool  # [n] published before
    different: Bool  # [n] had a different signature
    overlapping: Bool  # [n] had a different signature that shares a value with this one
    after: SignatureLists
    """The table with this release in it."""


def _bytes(offsets: Int64, values: Int32) -> Iterable[bytes]:
    """Each signature as bytes: equal bytes are equal signatures."""
    flat, width = values.tobytes(), values.itemsize
    return (flat[start * width : end * width] for start, end in pairwise(offsets.tolist()))
