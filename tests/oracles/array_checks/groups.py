"""The groups of a release as all checks read them: sizes, value counts, signatures."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Int32, Int64, UInt64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import UNPUBLISHED, Release
from reanon_core.model.verdict import Verdict

BITS = 64
"""The number of bits of a word."""


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How often each sensitive value appears in each group: one item for each pair that appears."""

    groups: int
    """The number of groups, those without rows included."""
    values: int
    """The number of sensitive values known so far; at least 1."""
    group: Int32  # [p] ascending
    value: Int32  # [p] ascending within a group
    count: Int32  # [p] at least 1


def group_sizes(release: Release) -> Int64:
    """The number of rows of each group, counterfeits included.

    Requires: `unreadable` is 0.
    """
    return np.bincount(release.group, minlength=release.boxes.count).astype(np.int64, copy=False)


def value_counts(entry: Entry) -> ValueCounts:
    """How often each sensitive value appears in each group.

    Requires: `unreadable` is 0.
    """
    release, values = entry.release, entry.snapshot.schema.sensitive.values
    width = max(1, len(values))
    keys = release.group.astype(np.int64) * width + release.sensitive
    keys.sort()
    first = _first_of_each(keys)
    keys, count = keys[first], np.diff(first, append=len(keys)).astype(np.int32)
    group = (keys // width).astype(np.int32)
    keys %= width
    return ValueCounts(release.boxes.count, width, group, keys.astype(np.int32), count)


def _first_of_each(ascending: Int32 | Int64) -> Int64:
    """The place of the first of each run of equal numbers."""
    differs = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=differs[1:])
    return np.flatnonzero(differs)


def distinct_values(counts: ValueCounts) -> Int64:
    """The number of distinct sensitive values in each group."""
    return np.bincount(counts.group, minlength=counts.groups).astype(np.int64, copy=False)


def largest_counts(counts: ValueCounts) -> Int64:
    """The number of rows with the most frequent value of each group."""
    largest = np.zeros(counts.groups, dtype=np.int64)
    if len(counts.group):
        first = _first_of_each(counts.group)
        largest[counts.group[first]] = np.maximum.reduceat(counts.count, first)
    return largest


def signatures(counts: ValueCounts) -> UInt64:
    """The signature of each group as a bit mask over the sensitive values, uint64[groups, words].

    Paper: [XT07] Definition 16. A mask, not a hash: equal masks are equal signatures.
    """
    words = -(-counts.values // BITS)
    masks = np.zeros(counts.groups * words, dtype=np.uint64)
    if len(counts.group):
        bits = np.uint64(1) << (counts.value % BITS).astype(np.uint64)
        word = counts.group.astype(np.int64) * words + counts.value // BITS  # ascending, as the pairs are
        first = _first_of_each(word)
        masks[word[first]] = np.bitwise_or.reduceat(bits, first)
    return masks.reshape(counts.groups, words)


def hosting_groups(entry: Entry) -> Int32:
    """The group that hosts each traced person, in the order of the trace.

    Paper: [XT07] Definition 2, the generalized hosting group.
    """
    return entry.release.group[entry.trace.rows]


def silent(entry: Entry) -> bool:
    """Whether the release shows no sensitive value, so that a rule about values has nothing to judge."""
    shown = entry.release.shows(entry.snapshot.schema.sensitive.name)
    return not shown and bool((entry.release.sensitive == UNPUBLISHED).all())


def silent_verdict(check: str) -> Verdict:
    """The verdict of a rule about sensitive values on a release that shows none."""
    sentence = "the release shows no sensitive value"
    return Verdict(check, holds=True, observed={"rows with a sensitive value": 0}, sentence=sentence)


def unreadable(entry: Entry) -> int:
    """How many numbers of the release and its trace refer to nothing, so that no rule can be judged."""
    release, trace = entry.release, entry.trace
    if len(release.group) != len(release.sensitive) or len(trace.persons) != len(trace.rows):
        return max(1, len(release.group))
    values = len(entry.snapshot.schema.sensitive.values)
    return (
        _outside(release.group, release.boxes.count)
        + (0 if silent(entry) else _outside(release.sensitive, values))
        + _outside(trace.rows, release.size)
        + int(np.count_nonzero(trace.persons[1:] <= trace.persons[:-1]))
    )


def unreadable_verdict(check: str, numbers: int) -> Verdict:
    """The verdict on a release that cannot be read: a rule that cannot be judged does not hold."""
    sentence = "every group, value and traced row of the release exists, and no one is traced twice"
    return Verdict(check, holds=False, violations=numbers, observed={"unreadable": numbers}, sentence=sentence)


def size_summary(sizes: Int64) -> dict[str, float]:
    """What every verdict shows about the groups."""
    return {"groups": len(sizes), "smallest group": int(sizes.min()) if len(sizes) else 0}


def _outside(numbers: Int32, end: int) -> int:
    return int(np.count_nonzero((numbers < 0) | (numbers >= end)))
