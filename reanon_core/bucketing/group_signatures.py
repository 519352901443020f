"""The signature of each group of a release: the values that it shows."""

from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64, UInt64, forget_pages, slices
from reanon_core.model.release import Release

BITS = 64
AT_ONCE = 1 << 18
"""So many rows, or groups, are worked on at a time."""


class SignedGroups(NamedTuple):
    """The groups of a release by their signatures."""

    signature: Int32  # [g] the number of each group's signature
    layers: Int32  # [g] how often the group shows each of its values
    depth: Int64  # [s] how often all groups of a signature together show each of its values


def signed_groups(release: Release, values: int, signatures: Signatures) -> tuple[SignedGroups, Signatures]:
    """The groups with their signatures, and the list with the new ones at its end, in the order of the groups.

    `values` is the number of sensitive values. Sets are compared 64 values at a time, so that there is one mask for
    each group in memory, however many values there are.

    Requires: every group shows each of its values equally often.
    """
    number = np.zeros(release.boxes.count, dtype=np.int32)
    shown: list[Signature] = [()]
    for first in range(0, max(1, values), BITS):  # a release without rows may have no values yet
        shown = _divide(number, shown, _masks(release, first), first)
    known = dict(signatures.number)
    of_set = np.array([known.setdefault(signature, len(known)) for signature in shown], dtype=np.int32)
    after = signatures.extended(list(known)[signatures.count :])
    for part in slices(len(number), AT_ONCE):
        number[part] = of_set[number[part]]
    layers = _group_sizes(release)
    depth = np.zeros(after.count, dtype=np.int64)
    for part in slices(len(number), AT_ONCE):
        layers[part] //= np.diff(after.offsets)[number[part]]
        depth += np.bincount(number[part], weights=layers[part], minlength=after.count).astype(np.int64)
    return SignedGroups(number, layers, depth), after


def _masks(release: Release, first: int) -> UInt64:
    """Which of the 64 values from `first` on each group shows, as a bit mask [g]."""
    masks = np.zeros(release.boxes.count, dtype=np.uint64)
    for part in slices(release.size, AT_ONCE):
        _mark_values(release.group[part], release.sensitive[part], first, masks)
        forget_pages(release.group, release.sensitive)
    return masks


def _divide(number: Int32, shown: list[Signature], masks: UInt64, first: int) -> list[Signature]:
    """Divide sets of groups by a mask of values from `first` on, and return the values of each set.

    `number` [g] is the set of each group, before and after. Sets are numbered in the order of the groups.
    """
    sets: dict[tuple[int, int], int] = {}
    for part in slices(len(number), AT_ONCE):
        before, mask = number[part], masks[part]
        distinct, which = np.unique(mask, return_inverse=True)
        _, example, which = np.unique(
            before.astype(np.int64) * len(distinct) + which, return_index=True, return_inverse=True
        )
        of_pair = np.empty(len(example), dtype=np.int32)
        for pair in np.argsort(example).tolist():
            group = example[pair]
            of_pair[pair] = sets.setdefault((int(before[group]), int(mask[group])), len(sets))
        number[part] = of_pair[which]
    return [shown[earlier] + _values_of(bits, first) for earlier, bits in sets]


def _values_of(bits: int, first: int) -> Signature:
    return tuple(first + bit for bit in range(BITS) if bits >> bit & 1)


def _group_sizes(release: Release) -> Int32:
    """The number of rows of each group."""
    sizes = np.zeros(release.boxes.count, dtype=np.int32)
    for part in slices(release.size, AT_ONCE):
        _count_rows(release.group[part], sizes)
        forget_pages(release.group)
    return sizes


@compiled
def _mark_values(group: Int32, sensitive: Int32, first: int, masks: UInt64) -> None:
    """Set the bit of each row's value in the mask of its group, if it is one of the 64 values from `first` on."""
    for row in range(len(group)):
        bit = sensitive[row] - first
        if 0 <= bit < BITS:
            masks[group[row]] |= np.uint64(1) << np.uint64(bit)


@compiled
def _count_rows(group: Int32, sizes: Int32) -> None:
    for row in range(len(group)):
        sizes[group[row]] += 1
