"""The buckets of all releases, read off a ledger: counts of the rows of each, and the rows themselves of small ones.

People are looked at some at a time, so that a ledger that is mapped from disk need not fit into memory: what is kept
are 8 bytes for each group, counts, and the rows of small buckets and of displaced people.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.bucket_rows import (
    DISPLACED_ROW,
    NEW_ROW,
    OLD_ROW,
    WITHHELD_ROW,
    BucketedPeople,
    PeopleRows,
    Rows,
)
from reanon_core.bucketing.group_signatures import signed_groups
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.ledger import Ledger
from reanon_core.model.reading import Places

MOST_PEOPLE = 100
"""The rows of a bucket are kept, and all of its arrangements looked for, if it has no more people."""


class RowCounts(NamedTuple):
    """How many rows there are of each kind; a slot is one value of one of the history's signatures."""

    old: Int64  # [t, slots] old rows, without displaced ones
    surplus: Int64  # [t, slots] those of them that were withheld
    new: Int64  # [t, slots] new rows, where they were published
    withheld: Int64  # [t, values] new rows that were withheld
    awaited: Int64  # [t, slots] those of them whose people were published in the slot later

    @staticmethod
    def zero(values: tuple[int, ...], slots: int) -> "RowCounts":
        """No rows, for so many values known at each release."""
        times, most = len(values), max(values, default=0)
        shapes = ((times, slots), (times, slots), (times, slots), (times, most), (times, slots))
        return RowCounts(*(np.zeros(shape, dtype=np.int64) for shape in shapes))


@dataclass(frozen=True, eq=False, kw_only=True)
class BucketHistory:
    """The rows of all releases by their buckets.

    Signatures are numbered as they are first published. All of it is known to an adversary who knows everyone's group,
    but for the values.
    """

    bucketed: BucketedPeople
    counts: RowCounts
    rows: Rows
    """The rows of buckets with at most MOST_PEOPLE people, and of displaced people; of a release in ascending order of
    person."""
    people: Int64  # [s] how many people each bucket has
    first_shown: Int32  # [s] the release that first shows each signature
    depth: Int64  # [t, s] how often each value of a signature is shown
    values: tuple[int, ...]
    """The number of sensitive values that are known at each release."""
    declared: bool
    """Whether all of them are, so that a value may be shown before a person has it."""
    had: dict[tuple[int, int], Signature]
    """For each release and displaced person, the values that no signature may have."""

    @property
    def signatures(self) -> Signatures:
        """Every signature that was ever published."""
        return self.bucketed.signatures

    @property
    def releases(self) -> int:
        """The number of releases."""
        return len(self.values)

    def is_small(self, bucket: int) -> bool:
        """Whether all rows of the bucket are kept."""
        return bool(self.people[bucket] <= MOST_PEOPLE)

    def members(self, bucket: int) -> Int64:
        """Which of the kept rows are in the bucket: all of a small one, and those of displaced people of others."""
        order, ends = self._by_bucket
        return order[ends[bucket] : ends[bucket + 1]]

    @cached_property
    def _by_bucket(self) -> tuple[Int64, Int64]:
        """The kept rows in the order of their buckets, and where each bucket begins."""
        order = np.argsort(self.rows.bucket, kind="stable")
        return order, self.rows.bucket[order].searchsorted(np.arange(self.signatures.count + 1))

    def places(self) -> Iterator[Places]:
        """The people of large buckets, some at a time, each in the slot of their value."""
        large = self.people > MOST_PEOPLE
        for _, rows, slot in _slots_of_parts(self.bucketed):
            chosen = _are(large, rows.bucket)
            bucket = rows.bucket[chosen]
            yield Places(rows.person[chosen], bucket, (slot[chosen] - self.signatures.offsets[bucket]).astype(np.int32))


def bucket_history(ledger: Ledger, *, max_lifespan: int | None, withholds: bool = False) -> BucketHistory:
    """The buckets of all releases; a person who was published `max_lifespan` times takes no part.

    `withholds` says that a person with a signature may be withheld.

    Requires: every group shows each of its values equally often.
    Raises: InvalidParameter if a person's signature is not kept, so that the releases are of another technique.
    """
    signatures, groups = Signatures.of([]), []
    first_shown: list[int] = []
    values = tuple(len(entry.snapshot.schema.sensitive.values) for entry in ledger.entries)
    for time, entry in enumerate(ledger.entries):
        signed, signatures = signed_groups(entry.release, values[time], signatures)
        groups.append(signed)
        first_shown += [time] * (signatures.count - len(first_shown))
    depth = np.zeros((len(groups), signatures.count), dtype=np.int64)
    for time, signed in enumerate(groups):
        depth[time, : len(signed.depth)] = signed.depth
    bucketed = BucketedPeople(
        ledger=ledger,
        groups=tuple(groups),
        signatures=signatures,
        max_lifespan=max_lifespan,
        withholds=withholds,
    )
    counts = RowCounts.zero(values, len(signatures.values))
    people = np.zeros(signatures.count, dtype=np.int64)
    kept: list[Rows] = []
    had: dict[tuple[int, int], Signature] = {}
    for part, rows, slot in _slots_of_parts(bucketed):
        _count_rows(rows.time, rows.kind, rows.group, rows.value, rows.bucket, slot, *counts)
        people += part.people
        kept.append(rows.chosen(_are_kept(rows, people)))  # of buckets that are small so far
        had |= part.had
    rows = Rows.joined(kept)
    return BucketHistory(
        bucketed=bucketed,
        counts=counts,
        rows=rows.chosen(_are_kept(rows, people)),
        people=people,
        first_shown=np.array(first_shown, dtype=np.int32),
        depth=depth,
        values=values,
        declared=bool(ledger.entries) and ledger.entries[0].snapshot.schema.sensitive.closed,
        had=had,
    )


def _slots_of_parts(bucketed: BucketedPeople) -> Iterator[tuple[PeopleRows, Rows, Int32]]:
    """Everyone, some people at a time: what is known of them, their rows, and the slot of each row's value."""
    for part in bucketed.parts():
        bucket = np.maximum(part.rows.bucket, 0)
        known = bucketed.signatures.count > 0
        yield part, part.rows, bucketed.signatures.slots(bucket, part.rows.value) if known else part.rows.bucket


def _are_kept(rows: Rows, people: Int64) -> Bool:
    """Which rows are of displaced people, or of buckets that have few people."""
    displaced: Bool = rows.kind == DISPLACED_ROW
    return displaced | _are(people <= MOST_PEOPLE, rows.bucket)


def _are(chosen: Bool, bucket: Int32) -> Bool:
    """Which rows are in one of the chosen buckets [s]; those that are in none are not."""
    found: Bool = np.append(chosen, False)[bucket]  # NOWHERE is the last
    return found


@compiled
def _count_rows(
    time: Int32,
    kind: Int32,
    group: Int32,
    value: Int32,
    bucket: Int32,
    slot: Int32,
    old: Int64,
    surplus: Int64,
    new: Int64,
    withheld: Int64,
    awaited: Int64,
) -> None:
    for row in range(len(time)):
        if kind[row] == OLD_ROW:
            old[time[row], slot[row]] += 1
            if group[row] < 0:
                surplus[time[row], slot[row]] += 1
        elif kind[row] == NEW_ROW:
            new[time[row], slot[row]] += 1
        elif kind[row] == WITHHELD_ROW:
            withheld[time[row], value[row]] += 1
            if bucket[row] >= 0:
                awaited[time[row], slot[row]] += 1
