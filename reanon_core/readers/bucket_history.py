"""The buckets of all releases, read off a ledger: counts of the rows of each, and the rows themselves of small ones.

The signature of a group is the set of values that it shows; a person is old, new, withheld or displaced in a release.
People are looked at some at a time, so that a ledger that is mapped from disk need not fit into memory: what is kept
are 8 bytes for each group, counts, and the rows of small buckets and of displaced people.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from reanon_core.bucketing.division import DISPLACED, NEW, NO_EPISODE, Roster, divide_people
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64, UInt64, forget_pages, joint_slices, slices
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.reading import Places
from reanon_core.model.release import Release

BITS = 64
AT_ONCE = 1 << 18
"""So many rows, or groups, are worked on at a time."""
OLD_ROW, NEW_ROW, WITHHELD_ROW, DISPLACED_ROW = range(4)
"""A row of a person with a signature; of a new person; of a new person who is withheld; of a displaced person."""
NOWHERE = -1
"""The bucket of a person who is not published."""
ROWS_AT_ONCE = 1 << 18
"""So many rows of all releases together are worked on at a time."""
MOST_PEOPLE = 100
"""The rows of a bucket are kept, and all of its arrangements looked for, if it has no more people."""


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
        _count_sizes(release.group[part], sizes)
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
def _count_sizes(group: Int32, sizes: Int32) -> None:
    for row in range(len(group)):
        sizes[group[row]] += 1


class Rows(NamedTuple):
    """Rows of some people in all releases, in ascending order of person within a release."""

    time: Int32  # [r]
    person: Int64  # [r]
    value: Int32  # [r]
    kind: Int32  # [r] OLD_ROW, NEW_ROW, WITHHELD_ROW or DISPLACED_ROW
    bucket: Int32  # [r] the number of the signature, or NOWHERE; of a withheld person, the one they get later
    group: Int32  # [r] the published group, -1 if withheld
    layers: Int32  # [r] how often that group shows each of its values

    def chosen(self, which: Bool) -> "Rows":
        """Some of the rows."""
        columns: Iterator[Any] = (column[which] for column in self)
        return Rows(*columns)

    @staticmethod
    def joined(parts: Sequence["Rows"]) -> "Rows":
        """The rows of several lists, one after the other."""
        none = (np.empty(0, np.int64 if name == "person" else np.int32) for name in Rows._fields)
        columns: Iterator[Any] = map(np.concatenate, zip(none, *parts, strict=True))
        return Rows(*columns)


class PeopleRows(NamedTuple):
    """All rows of some people."""

    rows: Rows
    people: Int64  # [s] how many of them are in each bucket
    had: dict[tuple[int, int], Signature]
    """For each release and displaced person, the values that no signature may have: those that the person was hidden
    among before, or all of them if the person was stranded before; ascending."""


class _Present(NamedTuple):
    """Some people of one release, ascending."""

    persons: Int64  # [n]
    values: Int32  # [n]
    group: Int32  # [n] -1 if withheld


@dataclass(frozen=True, eq=False, kw_only=True)
class BucketedPeople:
    """The people of all releases, ready to be looked at some at a time.

    The bucket of a person depends on their own rows and groups alone, and so does what they are in each release.
    """

    ledger: Ledger
    groups: tuple[SignedGroups, ...]  # [t]
    signatures: Signatures
    max_lifespan: int | None
    """A person who was published so often takes no part."""
    withholds: bool
    """Whether a person with a signature may be withheld."""

    def parts(self) -> Iterator[PeopleRows]:
        """Everyone, some people at a time.

        Raises: InvalidParameter if a person's signature is not kept, so that the releases are of another technique.
        """
        entries = self.ledger.entries
        listed = list(chain.from_iterable((entry.snapshot.persons, entry.trace.persons) for entry in entries))
        for part in joint_slices(listed, max(1, ROWS_AT_ONCE // max(1, len(entries)))):
            present, traced = part[::2], part[1::2]
            yield self._rows(present, traced)
            for entry in entries:
                entry.forget_pages()

    def _rows(self, present: Sequence[slice], traced: Sequence[slice]) -> PeopleRows:
        """All rows of the people in these slices of the tables and of the traces."""
        roster, published = Roster.empty(), np.empty(0, np.int64)
        parts: list[Rows] = []
        had: dict[tuple[int, int], Signature] = {}
        for time, entry in enumerate(self.ledger.entries):
            here = _people(entry, present[time], traced[time])
            if self.max_lifespan is not None:
                shown = here.persons[here.group >= 0]
                here = _taking_part(here, published, self.max_lifespan)
                published = np.sort(np.concatenate([published, shown]))
            rows, entered = self._release_rows(time, here, roster)
            for person in rows.person[rows.kind == DISPLACED_ROW].tolist():
                known = len(entry.snapshot.schema.sensitive.values)
                had[time, person] = _values_had(roster, self.signatures, person, values=known)
            parts.append(rows)
            shown_rows = rows.group >= 0
            stranded = rows.person[(rows.kind == DISPLACED_ROW) & ~shown_rows]
            roster = roster.with_stranded(stranded).recorded(
                entered[shown_rows], rows.person[shown_rows], rows.bucket[shown_rows], rows.value[shown_rows]
            )
        people = np.bincount(roster.signature, minlength=self.signatures.count).astype(np.int64)
        return PeopleRows(_with_later_buckets(Rows.joined(parts)), people, had)

    def _release_rows(self, time: int, here: _Present, roster: Roster) -> tuple[Rows, Int32]:
        """The rows of people in one release, and each one's entry in the roster before it."""
        entry = divide_people(here.persons, here.values, roster, self.signatures).entry
        published, old = here.group >= 0, entry >= 0
        bucket, layers = (np.full(len(entry), none, dtype=np.int32) for none in (NOWHERE, 0))
        bucket[published] = self.groups[time].signature[here.group[published]]
        layers[published] = self.groups[time].layers[here.group[published]]
        if self.withholds:
            kept = old & ~published
            bucket[kept] = roster.signature[entry[kept]]
        if (bucket[old] != roster.signature[entry[old]]).any():
            raise InvalidParameter(
                Problem(
                    "the releases",
                    "keep the signature of each person for the attack algorithm",
                    help="releases without a memory, or of another technique, are not read",
                )
            )
        kind = np.where(old, OLD_ROW, np.where(entry == DISPLACED, DISPLACED_ROW, NEW_ROW)).astype(np.int32)
        kind[(entry == NEW) & ~published] = WITHHELD_ROW
        at = np.full(len(entry), time, dtype=np.int32)
        return Rows(at, here.persons, here.values, kind, bucket, here.group, layers), entry


def _people(entry: Entry, present: slice, traced: slice) -> _Present:
    """The people in these slices of the table and of the trace of a release."""
    snapshot, trace = entry.snapshot, entry.trace
    persons = snapshot.persons[present]
    group = np.full(len(persons), -1, dtype=np.int32)
    group[persons.searchsorted(trace.persons[traced])] = entry.release.group[trace.rows[traced]]
    return _Present(persons, snapshot.sensitive[present], group)


def _taking_part(here: _Present, published: Int64, most: int) -> _Present:
    """Those who were published fewer than so many times; `published` has a person once for each time, ascending."""
    often = published.searchsorted(here.persons, side="right") - published.searchsorted(here.persons, side="left")
    kept = often < most
    persons, values = here.persons[kept], here.values[kept]
    for array in (persons, values):  # as those of a snapshot, for which kernels are compiled
        array.flags.writeable = False
    return _Present(persons, values, here.group[kept])


def _values_had(roster: Roster, signatures: Signatures, person: int, *, values: int) -> Signature:
    """Every value of every signature that the person has had, ascending; all values if they were stranded before."""
    first, last = roster.persons.searchsorted([person, person + 1])
    if (roster.sensitive[first:last] == NO_EPISODE).any():
        return tuple(range(values))
    return tuple(sorted({value for one in roster.signature[first:last].tolist() for value in signatures.tuples[one]}))


def _with_later_buckets(rows: Rows) -> Rows:
    """The rows, with the bucket that a withheld person is first published in, if they then have the same value.

    Requires: all rows of these people, release by release.
    """
    withheld, new = np.flatnonzero(rows.kind == WITHHELD_ROW), np.flatnonzero(rows.kind == NEW_ROW)
    new = new[np.argsort(rows.person[new], kind="stable")] if len(withheld) else new[:0]
    if not len(new):
        return rows
    place = np.minimum(rows.person[new].searchsorted(rows.person[withheld]), len(new) - 1)
    later = new[place]
    same = (rows.person[later] == rows.person[withheld]) & (rows.value[later] == rows.value[withheld])
    bucket = rows.bucket.copy()
    bucket[withheld[same]] = rows.bucket[later[same]]
    return rows._replace(bucket=bucket)


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
