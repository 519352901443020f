"""The judge's own table of the signatures with which each person was published."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Bool, Int64, UInt64
from reanon_core.protocols import Memory


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
    def restored(memory: Memory) -> "SignatureTable":
        """The table that was packed."""
        return SignatureTable(
            np.asarray(memory["persons"], dtype=np.int64),
            np.asarray(memory["signatures"], dtype=np.uint64),
        )

    def packed(self) -> Memory:
        """The table as named arrays."""
        return {"persons": self.persons, "signatures": self.masks}

    def compare(self, persons: Int64, masks: UInt64) -> "Comparison":
        """Compare the signatures of one release with all earlier ones of the same people.

        Requires: persons strictly ascending.
        """
        old, new = _same_width(self.masks, masks)
        start = self.persons.searchsorted(persons, side="left")
        end = start + _run_lengths(self.persons, start, persons)
        current, earlier = _pairs(start, end)
        equal, overlap = _relations(old, earlier, new, current)
        size = len(persons)
        seen = _any(current[equal], size)
        merged = _inserted(self.persons, old, persons[~seen], new[~seen], end[~seen])
        return Comparison(
            known=end > start,
            different=_any(current[~equal], size),
            overlapping=_any(current[~equal & overlap], size),
            after=merged,
        )


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


def _run_lengths(table: Int64, start: Int64, persons: Int64) -> Int64:
    """How many rows of the sorted table each person has; the first would be at `start`."""
    lengths = np.zeros(len(persons), dtype=np.int64)
    open_ = np.flatnonzero(start < len(table))
    at = start[open_]
    while len(open_):  # one turn more than the most signatures of a person: nearly always two
        here = table[at] == persons[open_]
        open_, at = open_[here], at[here] + 1
        lengths[open_] += 1
        inside = at < len(table)
        open_, at = open_[inside], at[inside]
    return lengths


def _pairs(start: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Every (index, position) with start[index] <= position < end[index]."""
    lengths = end - start
    index = np.repeat(np.arange(len(start)), lengths)
    offset = np.arange(len(index)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return index, start[index] + offset


def _relations(old: UInt64, earlier: Int64, new: UInt64, current: Int64) -> tuple[Bool, Bool]:
    """Whether the two signatures of each pair are equal, and whether they share a value."""
    equal = np.ones(len(current), dtype=np.bool_)
    overlap = np.zeros(len(current), dtype=np.bool_)
    for word in range(old.shape[1]):  # word by word: a reduction over a short axis is slow
        before, now = old[earlier, word], new[current, word]
        equal &= before == now
        overlap |= (before & now) != 0
    return equal, overlap


def _any(index: Int64, size: int) -> Bool:
    found = np.zeros(size, dtype=np.bool_)
    found[index] = True
    return found


def _inserted(persons: Int64, masks: UInt64, more: Int64, more_masks: UInt64, at: Int64) -> SignatureTable:
    """The table with more rows, each inserted before the old row `at`, so that persons stay ascending."""
    if not len(more):
        return SignatureTable(persons, masks)
    target = at + np.arange(len(more))
    stays = np.ones(len(persons) + len(more), dtype=np.bool_)
    stays[target] = False
    merged = np.empty(len(stays), dtype=np.int64)
    merged_masks = np.empty((len(stays), masks.shape[1]), dtype=np.uint64)
    merged[target], merged[stays] = more, persons
    merged_masks[target], merged_masks[stays] = more_masks, masks
    return SignatureTable(merged, merged_masks)
