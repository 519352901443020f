"""What a reader of the source learns from one release of Mondrian."""

from collections.abc import Iterator

import numpy as np

from reanon_core.inference.enumeration.arrangements import arrangements
from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.reading import Reading
from reanon_core.recoding.mondrian import NO_CLASS, CutOptions, Principle, Table
from reanon_core.recoding.mondrian_record import CutRecord

MOST_ROWS = 5_000
"""The greatest table that is read: every group of it takes about a millisecond."""
MOST_ARRANGEMENTS = 5_000
"""Up to this many arrangements of a group are all compared; beyond it, only exchanges of two people's values."""


def release_readings(entry: Entry, extent: Int64, principle: Principle, options: CutOptions) -> Iterator[Reading]:
    """The arrangements of each group's values, and whether the algorithm would have published the same groups.

    Strict cuts leave nothing to chance, so an arrangement is as likely as the truth or ruled out. A release is left out
    if it is larger than MOST_ROWS, if a relaxed cut may have divided people at random, or if other parameters made
    it. Groups that show one value only are left out too: there is nothing to exchange.

    Ensures: what is said of a group is exact for an adversary who sees this release, and knows the algorithm and all
    values outside of the group (mondrian_record.py has the argument).
    """
    snapshot = entry.snapshot
    if not 0 < snapshot.size <= MOST_ROWS or not (options.strict or _all_different(snapshot.qi)):
        return
    record = CutRecord.of(Table(snapshot.qi, snapshot.sensitive, snapshot.schema, extent), principle, options)
    if not np.array_equal(_numbered(_published_groups(entry)), _numbered(record.class_of)):
        return
    for own in range(record.classes):
        members = np.flatnonzero(record.class_of == own)
        truth = snapshot.sensitive[members]
        if (truth == truth[0]).all():
            continue
        values, complete = arrangements(truth, MOST_ARRANGEMENTS)
        yield Reading(
            persons=snapshot.persons[members],
            place=np.arange(len(members), dtype=np.int32),
            values=values,
            log_likelihood=np.where(record.keeps_classes(own, values), 0.0, -np.inf),
            complete=complete,
        )


def _all_different(qi: Int32) -> bool:
    """Whether no two rows share a code on any attribute."""
    return all(len(np.unique(codes)) == len(codes) for codes in (row[row != MISSING] for row in qi))


def _published_groups(entry: Entry) -> Int32:
    """The published group of each row of the snapshot, or NO_CLASS."""
    group = np.full(entry.snapshot.size, NO_CLASS, dtype=np.int32)
    group[entry.snapshot.persons.searchsorted(entry.trace.persons)] = entry.release.group[entry.trace.rows]
    return group


def _numbered(group: Int32) -> Int32:
    """Groups numbered in the order in which they first appear, so that partitions can be compared."""
    number = {NO_CLASS: NO_CLASS}
    return np.array([number.setdefault(own, len(number)) for own in group.tolist()], dtype=np.int32)
