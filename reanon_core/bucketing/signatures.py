"""Signatures: the sets of sensitive values among which people are hidden."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64, frozen

Signature = tuple[int, ...]
"""Ascending sensitive codes."""


@dataclass(frozen=True, eq=False)
class Signatures:
    """A numbered list of signatures. A *slot* is one value of one signature.

    Paper: [XT07] Definition 16.
    """

    offsets: Int64  # [s + 1] the slots of signature i are offsets[i] .. offsets[i + 1] - 1
    values: Int32  # [slots] the sensitive value of each slot, ascending within a signature

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        object.__setattr__(self, "offsets", frozen(self.offsets, np.int64))
        object.__setattr__(self, "values", frozen(self.values, np.int32))

    @staticmethod
    def of(signatures: Iterable[Signature]) -> "Signatures":
        """The list of these signatures."""
        listed = list(signatures)
        sizes = np.array([len(signature) for signature in listed], dtype=np.int64)
        values = [value for signature in listed for value in signature]
        return Signatures(np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), np.array(values, dtype=np.int32))

    @property
    def count(self) -> int:
        """The number of signatures."""
        return len(self.offsets) - 1

    @cached_property
    def tuples(self) -> tuple[Signature, ...]:
        """The signatures as tuples."""
        flat = self.values.tolist()
        ends = self.offsets.tolist()
        return tuple(tuple(flat[a:b]) for a, b in pairwise(ends))

    @cached_property
    def number(self) -> dict[Signature, int]:
        """The number of each signature."""
        return {signature: i for i, signature in enumerate(self.tuples)}

    def extended(self, more: Iterable[Signature]) -> "Signatures":
        """The same list with further signatures at its end."""
        added = Signatures.of(more)
        offsets = np.concatenate([self.offsets, self.offsets[-1] + added.offsets[1:]])
        return Signatures(offsets, np.concatenate([self.values, added.values])) if added.count else self

    def per_slot(self, per_signature: Int64) -> Int64:
        """A number for each signature, repeated for each of its slots."""
        return np.repeat(per_signature, np.diff(self.offsets))

    def largest(self, per_slot: Int64) -> Int64:
        """The greatest number over the slots of each signature."""
        if self.count == 0:
            return np.empty(0, np.int64)
        return np.maximum.reduceat(per_slot, self.offsets[:-1])

    def slots(self, signature: Int32, value: Int32) -> Int32:
        """The slot of each (signature, value) pair; -1 where the value is not in the signature."""
        return _slots(self.offsets, self.values, signature, value)


def known_values(signatures: Signatures, values: int, *, declared: bool) -> Bool:
    """The values that the public knows before a release: all if they are declared, else those of earlier releases."""
    known = np.full(values, declared, dtype=np.bool_)
    known[signatures.values] = True
    return known


@compiled
def _slots(offsets: Int64, values: Int32, signature: Int32, value: Int32) -> Int32:
    slots = np.empty(len(signature), dtype=np.int32)
    for row in range(len(signature)):
        low, end = offsets[signature[row]], offsets[signature[row] + 1]
        high = end
        while low < high:
            middle = (low + high) // 2
            if values[middle] < value[row]:
                low = middle + 1
            else:
                high = middle
        slots[row] = low if low < end and values[low] == value[row] else -1
    return slots
