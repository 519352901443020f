"""What a reader of the source learns from one release of Mondrian."""

from collections.abc import Iterator

from reanon_core.model.arrays import Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.reading import Reading
from reanon_core.recoding.mondrian import CutOptions, Principle, Table
from reanon_core.recoding.mondrian_reading import class_readings, left_to_chance, people_by_group, published_groups
from reanon_core.recoding.mondrian_record import CutRecord

MOST_ROWS = 5_000
"""The greatest table that is read: each of its groups takes about a millisecond."""


def release_readings(entry: Entry, extent: Int64, principle: Principle, options: CutOptions) -> Iterator[Reading]:
    """The readings of each group of a release by itself.

    A release is left out if it is larger than MOST_ROWS, if a relaxed cut may have divided people at random, or if
    other parameters made it.
    """
    snapshot = entry.snapshot
    if not 0 < snapshot.size <= MOST_ROWS or left_to_chance(snapshot.qi, strict=options.strict):
        return
    record = CutRecord.of(Table(snapshot.qi, snapshot.sensitive, snapshot.schema, extent), principle, options)
    if people_by_group(snapshot.persons, record.class_of) == published_groups(entry):
        yield from class_readings(record, snapshot.persons)
