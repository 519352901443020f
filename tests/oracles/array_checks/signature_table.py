"""The judge's own table of the signatures with which each person was published."""

from dataclasses import dataclass

import numpy as np

from oracles.array_checks.groups import BITS, ValueCounts, signatures
from oracles.array_checks.person_runs import any_of, inserted, runs_of
from oracles.array_checks.signature_lists import NUMBERS, ListComparison, SignatureLists
from reanon_core.model.arrays import Bool, Int32, Int64, UInt64
from reanon_core.protocols import Memory

WIDEST = 16
"""The most words of a mask."""


@dataclass(frozen=True, eq=False)
class SignatureTable:
    """Every person ever published with each of their signatures: one row for each distinct pair."""

    persons: Int64  # [p] ascending; a person with several signatures has several rows
    masks: UInt64  # [p, words] one bit for each sensitive value

    @staticmethod
    def empty() -> "SignatureTable":
        """The table before the first release."""
        return SignatureTable(np.empty(0, np.int64), np.empty((0, 1), np.uint64))

    @staticmethod
    def restored(memory: Memory) -> "SignatureTable | SignatureLists":
        """The table that was packed."""
        if NUMBERS in memory:
            return SignatureLists.restored(memory)
        return SignatureTable(
            np.asarray(memory["persons"], dtype=np.int64),
            np.asarray(memory["signatures"], dtype=np.uint64),
        )

    def packed(self) -> Memory:
        """The table as named arrays."""
        return {"persons": self.persons, "signatures": self.masks}

    def compare(self, persons: Int64, counts: ValueCounts, hosting: Int32) -> "Comparison | ListComparison":
        """Compare the signatures of one release with all earlier ones of the same people.

        `counts` are those of the groups, and `hosting` [n] is each person's group. Masks of many values would be mostly
        zeros, and cost memory for every person and value: beyond WIDEST words the table becomes lists.

        Requires: persons strictly ascending.
        """
        if counts.values > WIDEST * BITS:
            return self._listed().compare(persons, counts, hosting)
        old, new = _same_width(self.masks, signatures(counts)[hosting])
        if not len(self.persons):
            no_one = np.zeros(len(persons), dtype=np.bool_)
            return Comparison(no_one, no_one, no_one, SignatureTable(persons, new))
        runs = runs_of(self.persons, persons)
        equal, overlap = _relations(old, runs.earlier, new, runs.current)
        size = len(persons)
        unseen = ~any_of(runs.current[equal], size)
        return Comparison(
            known=runs.end > runs.start,
            different=any_of(runs.current[~equal], size),
            overlapping=any_of(runs.current[~equal & overlap], size),
            after=_inserted(self.persons, old, persons[unseen], new[unseen], runs.end[unseen]),
        )

    def _listed(self) -> SignatureLists:
        """The same table with lists in place of masks."""
        distinct, number = np.unique(self.masks, axis=0, return_inverse=True)
        bits = np.unpackbits(distinct.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        signature, value = np.nonzero(bits)
        offsets = np.searchsorted(signature, np.arange(len(distinct) + 1))
        return SignatureLists(self.persons, number.reshape(-1).astype(np.int32), offsets, value.astype(np.int32))


@dataclass(frozen=True, eq=False)
class Comparison:
    """How the signature of each person of one release relates to their earlier ones."""

    known: Bool  # [n] published before
    different: Bool  # [n] had a different signature
    overlapping: Bool  # [n] had a different signature that shares a value with this one
    after: SignatureTable
    """The table with this release in it."""


def _same_width(old: UInt64, new: UInt64) -> tuple[UInt64, UInt64]:
    """Both with as many words as the wider one: the list of sensitive values only grows."""
    words = max(old.shape[1], new.shape[1])
    return _widened(old, words), _widened(new, words)


def _widened(masks: UInt64, words: int) -> UInt64:
    if masks.shape[1] == words:
        return masks
    wide = np.zeros((len(masks), words), dtype=np.uint64)
    wide[:, : masks.shape[1]] = masks
    return wide


def _relations(old: UInt64, earlier: Int64, new: UInt64, current: Int64) -> tuple[Bool, Bool]:
    """Whether the two signatures of each pair are equal, and whether they share a value."""
    equal = np.ones(len(current), dtype=np.bool_)
    overlap = np.zeros(len(current), dtype=np.bool_)
    for word in range(old.shape[1]):  # word by word: a reduction over a short axis is slow
        before, now = old[earlier, word], new[current, word]
        equal &= before == now
        overlap |= (before & now) != 0
    return equal, overlap


def _inserted(persons: Int64, masks: UInt64, more: Int64, more_masks: UInt64, at: Int64) -> SignatureTable:
    """The table with more rows, each inserted before the old row `at`, so that persons stay ascending."""
    if not len(more):
        return SignatureTable(persons, masks)
    stays, target = inserted(len(persons), at)
    merged = np.empty(len(stays), dtype=np.int64)
    merged_masks = np.empty((len(stays), masks.shape[1]), dtype=np.uint64)
    merged[target], merged[stays] = more, persons
    merged_masks[target], merged_masks[stays] = more_masks, masks
    return SignatureTable(merged, merged_masks)
