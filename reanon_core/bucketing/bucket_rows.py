"""The rows of people in all releases: who was old, new, withheld or displaced, and in which bucket."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from reanon_core.bucketing.division import DISPLACED, NEW, divide_people
from reanon_core.bucketing.group_signatures import SignedGroups
from reanon_core.bucketing.roster import NO_EPISODE, Roster
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.model.arrays import Bool, Int32, Int64, joint_slices
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry, Ledger

OLD_ROW, NEW_ROW, WITHHELD_ROW, DISPLACED_ROW = range(4)
"""A row of a person with a signature; of a new person; of a new person who is withheld; of a displaced person."""
NOWHERE = -1
"""The bucket of a person who is not published."""
ROWS_AT_ONCE = 1 << 18
"""So many rows of all releases together are worked on at a time."""


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
