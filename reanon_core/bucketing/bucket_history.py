"""The buckets of all releases, read off a ledger: who was old, new, withheld or displaced, and with which signature."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.division import DISPLACED, NEW, divide
from reanon_core.bucketing.regions import cells_of
from reanon_core.bucketing.roster import NO_EPISODE, Roster
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry, Ledger

OLD_ROW, NEW_ROW, WITHHELD_ROW, DISPLACED_ROW = range(4)
"""A row of a person with a signature; of a new person; of a new person who is withheld; of a displaced person."""
NOWHERE = -1
"""The bucket of a person who is not published."""


class Rows(NamedTuple):
    """All rows of all releases, release by release, in ascending order of person."""

    time: Int32  # [r]
    person: Int64  # [r]
    value: Int32  # [r]
    kind: Int32  # [r] OLD_ROW, NEW_ROW, WITHHELD_ROW or DISPLACED_ROW
    bucket: Int32  # [r] the number of the signature, or NOWHERE; of a withheld person, the one they get later
    group: Int32  # [r] the published group, -1 if withheld
    layers: Int32  # [r] how often that group shows each of its values
    cell: Int32  # [r] the cell of a new row, 0 without regions


@dataclass(frozen=True, eq=False)
class BucketHistory:
    """The rows of all releases with their buckets.

    Signatures are numbered as they are first published. All of it is known to an adversary who knows everyone's group,
    but for the values.
    """

    rows: Rows
    signatures: Signatures
    first_shown: Int32  # [s] the release that first shows each signature
    depth: Int64  # [t, s] how often each value of a signature is shown
    values: tuple[int, ...]
    """The number of sensitive values that are known at each release."""
    declared: bool
    """Whether all of them are, so that a value may be shown before a person has it."""
    cells: int
    """The greatest number of cells of a release."""
    had: dict[int, Signature]
    """For each displaced row, the values that no signature may have: those that the person was hidden among before, or
    all of them if the person was stranded before; ascending."""

    @property
    def releases(self) -> int:
        """The number of releases."""
        return len(self.values)


def bucket_history(
    ledger: Ledger, *, max_lifespan: int | None, m: int | None = None, withholds: bool = False
) -> BucketHistory:
    """The buckets of all releases; a person who was published `max_lifespan` times takes no part.

    `m` says of which signatures regions were cut; None: there are no regions. `withholds` says that a person with a
    signature may be withheld.

    Requires: every group shows each of its values equally often.
    Raises: InvalidParameter if a person's signature is not kept, so that the releases are of another technique.
    """
    signatures, roster = Signatures.of([]), Roster.empty()
    times = np.empty(0, np.int64)
    parts: list[Rows] = []
    first_shown: list[int] = []
    shown: list[Int64] = []
    had: dict[int, Signature] = {}
    before = 0  # rows of earlier releases
    for time, entry in enumerate(ledger.entries):
        of_group, signatures = _group_signatures(entry, signatures)
        layers = np.bincount(entry.release.group, minlength=len(of_group)) // np.diff(signatures.offsets)[of_group]
        first_shown += [time] * (signatures.count - len(first_shown))
        shown.append(np.bincount(of_group, weights=layers, minlength=signatures.count).astype(np.int64))
        taking_part = _taking_part(entry, times, max_lifespan)
        here = replace(entry.snapshot, selected=None)
        if not taking_part.all():  # a copy of everyone would be as large as the table
            here = here.rows(np.flatnonzero(taking_part), selected=None)
        division = divide(here, roster, signatures)
        group = np.full(here.size, -1, dtype=np.int32)
        group[here.persons.searchsorted(entry.trace.persons)] = entry.release.group[entry.trace.rows]
        published = group >= 0
        bucket, often = (np.full(here.size, none, dtype=np.int32) for none in (NOWHERE, 0))
        bucket[published], often[published] = of_group[group[published]], layers[group[published]]
        old = division.entry >= 0
        if withholds:
            kept = old & ~published
            bucket[kept] = roster.signature[division.entry[kept]]
        if (bucket[old] != roster.signature[division.entry[old]]).any():
            raise InvalidParameter(
                Problem(
                    "the releases",
                    "keep the signature of each person for the attack algorithm",
                    help="releases without a memory, or of another technique, are not read",
                )
            )
        kind = np.where(old, OLD_ROW, np.where(division.entry == DISPLACED, DISPLACED_ROW, NEW_ROW))
        kind[(division.entry == NEW) & ~published] = WITHHELD_ROW
        known_values = len(here.schema.sensitive.values)
        for row in np.flatnonzero(division.entry == DISPLACED).tolist():
            had[before + row] = _values_had(roster, signatures, int(here.persons[row]), values=known_values)
        at = np.full(here.size, time, dtype=np.int32)
        cell = np.zeros(here.size, dtype=np.int32)
        if m is not None:
            new = division.entry == NEW
            cell[new] = cells_of(here.qi[:, new], m, known_values, pilot=not old.any())
        before += here.size
        parts.append(Rows(at, here.persons, here.sensitive, kind.astype(np.int32), bucket, group, often, cell))
        stranded = here.persons[(division.entry == DISPLACED) & ~published]
        roster = roster.with_stranded(stranded).recorded(
            division.entry[published], here.persons[published], bucket[published], here.sensitive[published]
        )
        if max_lifespan is not None:
            times = np.sort(np.concatenate([times, entry.trace.persons]))
    depth = np.zeros((len(shown), signatures.count), dtype=np.int64)
    for time, counts in enumerate(shown):
        depth[time, : len(counts)] = counts
    rows = _with_later_buckets(_joined(parts))
    return BucketHistory(
        rows=rows,
        signatures=signatures,
        first_shown=np.array(first_shown, dtype=np.int32),
        depth=depth,
        values=tuple(len(entry.snapshot.schema.sensitive.values) for entry in ledger.entries),
        declared=bool(ledger.entries) and ledger.entries[0].snapshot.schema.sensitive.closed,
        cells=1 if m is None else max(2, int(rows.cell.max(initial=0)) + 1),
        had=had,
    )


def _joined(parts: list[Rows]) -> Rows:
    """The rows of all releases. Column after column, so that they are not in memory twice; the list is emptied."""
    columns = [list(column) for column in zip(*parts, strict=True)]
    parts.clear()
    joined = []
    for column in columns:
        joined.append(np.concatenate(column))
        column.clear()
    return Rows(*joined)


def _group_signatures(entry: Entry, signatures: Signatures) -> tuple[Int32, Signatures]:
    """The number of each group's signature, and the list with the new ones."""
    release = entry.release
    order = np.lexsort((release.sensitive, release.group))
    values = release.sensitive[order].tolist()
    ends = np.cumsum(np.bincount(release.group, minlength=release.boxes.count)).tolist()
    number, new, start = dict(signatures.number), [], 0
    of_group = np.empty(release.boxes.count, dtype=np.int32)
    for group, end in enumerate(ends):
        signature = tuple(dict.fromkeys(values[start:end]))
        if signature not in number:
            number[signature] = len(number)
            new.append(signature)
        of_group[group], start = number[signature], end
    return of_group, signatures.extended(new) if new else signatures


def _taking_part(entry: Entry, times: Int64, max_lifespan: int | None) -> Bool:
    """Who was published fewer than `max_lifespan` times; `times` lists every earlier publication, ascending."""
    persons = entry.snapshot.persons
    if max_lifespan is None:
        return np.ones(len(persons), dtype=np.bool_)
    often: Int64 = times.searchsorted(persons, side="right") - times.searchsorted(persons, side="left")
    return often < max_lifespan


def _values_had(roster: Roster, signatures: Signatures, person: int, *, values: int) -> Signature:
    """Every value of every signature that the person has had, ascending; all values if they were stranded before."""
    first, last = roster.persons.searchsorted([person, person + 1])
    if (roster.sensitive[first:last] == NO_EPISODE).any():
        return tuple(range(values))
    return tuple(sorted({value for one in roster.signature[first:last].tolist() for value in signatures.tuples[one]}))


def _with_later_buckets(rows: Rows) -> Rows:
    """The rows, with the bucket that a withheld person is first published in, if they then have the same value."""
    bucket = rows.bucket.copy()
    first: dict[int, int] = {}
    withheld = np.flatnonzero(rows.kind == WITHHELD_ROW)
    if len(withheld):
        for row in np.flatnonzero((rows.kind == NEW_ROW) & np.isin(rows.person, rows.person[withheld])).tolist():
            first.setdefault(int(rows.person[row]), row)
    for row in withheld.tolist():
        later = first.get(int(rows.person[row]))
        if later is not None and rows.value[later] == rows.value[row]:
            bucket[row] = rows.bucket[later]
    return rows._replace(bucket=bucket)
