"""What a reader of the source learns from the classes of Mondrian."""

from collections.abc import Iterator

import numpy as np

from reanon_core.kernels.arrangements import arrangements
from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.reading import Reading
from reanon_core.recoding.mondrian_record import CutRecord

MOST_ARRANGEMENTS = 5_000
"""Up to this many arrangements of a class are all compared; beyond it, only exchanges of two people's values."""
Groups = frozenset[frozenset[int]]
"""The people of each group."""


def class_readings(record: CutRecord, persons: Int64) -> Iterator[Reading]:
    """The arrangements of each class's values, and whether the algorithm would have made the same classes.

    Nothing is left to chance, so an arrangement is as likely as the truth, or ruled out. Classes with one value are
    left out, because there is nothing to exchange.

    Ensures: what is said of a class is exact for an adversary who sees these classes alone, and knows the algorithm and
    all values outside of the class.
    """
    for own in range(record.classes):
        members = np.flatnonzero(record.class_of == own)
        truth = record.table.sensitive[members]
        if (truth == truth[0]).all():
            continue
        values, complete = arrangements(truth, MOST_ARRANGEMENTS)
        yield Reading(
            persons=persons[members],
            place=np.arange(len(members), dtype=np.int32),
            values=values,
            log_likelihood=np.where(record.keeps_classes(own, values), 0.0, -np.inf),
            complete=complete,
        )


def left_to_chance(qi: Int32, *, strict: bool) -> bool:
    """Whether a cut may divide people at random: a relaxed one does if two of them share a code."""
    return not strict and any(len(np.unique(codes)) < len(codes) for codes in (row[row != MISSING] for row in qi))


def people_by_group(persons: Int64, group: Int32) -> Groups:
    """The people of each group; a negative number is no group."""
    people: dict[int, set[int]] = {}
    for person, own in zip(persons.tolist(), group.tolist(), strict=True):
        if own >= 0:
            people.setdefault(own, set()).add(person)
    return frozenset(map(frozenset, people.values()))


def published_groups(entry: Entry) -> Groups:
    """The people of each group of a release."""
    return people_by_group(entry.trace.persons, entry.release.group[entry.trace.rows])
