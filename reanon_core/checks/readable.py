"""Whether a release can be judged at all: its arrays belong together, and every number in them refers to something."""

import numpy as np

from reanon_core.model.arrays import Int32, Int64, forget_pages, slices
from reanon_core.model.ledger import Entry
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.verdict import Verdict


def torn(entry: Entry) -> int:
    """How many arrays have another length than their neighbours."""
    release, trace, auxiliary, schema = entry.release, entry.trace, entry.auxiliary, entry.snapshot.schema
    boxes = release.boxes
    sides = (len(schema.quasi_identifiers), boxes.count)
    return (
        (release.group.shape != release.sensitive.shape)
        + (trace.persons.shape != trace.rows.shape)
        + (auxiliary.group.shape != auxiliary.count.shape)
        + any(side.shape != sides for side in (boxes.low, boxes.high, boxes.missing))
        + (release.other.shape != (len(schema.other), len(release.group)))
    )


def silent(entry: Entry) -> bool:
    """Whether the release shows no sensitive value, so that a rule about values has nothing to judge."""
    codes = entry.release.sensitive
    if entry.release.shows(entry.snapshot.schema.sensitive.name):
        return False
    return all(bool((codes[part] == UNPUBLISHED).all()) for part in slices(len(codes)))


def silent_verdict(check: str) -> Verdict:
    """The verdict of a rule about sensitive values on a release that shows none."""
    sentence = "the release shows no sensitive value"
    return Verdict(check, holds=True, observed={"rows with a sensitive value": 0}, sentence=sentence)


def unreadable(entry: Entry) -> int:
    """How many numbers of the release and its trace refer to nothing, or put the trace out of order."""
    release, trace = entry.release, entry.trace
    if len(release.group) != len(release.sensitive) or len(trace.persons) != len(trace.rows):
        return max(1, len(release.group))
    values = len(entry.snapshot.schema.sensitive.values)
    return (
        outside(release.group, release.boxes.count)
        + (0 if silent(entry) else outside(release.sensitive, values))
        + outside(trace.rows, release.size)
        + disorder(trace.persons, twice=True)
    )


def unreadable_verdict(check: str, numbers: int) -> Verdict:
    """The verdict on a release that cannot be read: a rule that cannot be judged does not hold."""
    sentence = "every group, value and traced row of the release exists, and no one is traced twice"
    return Verdict(check, holds=False, violations=numbers, observed={"unreadable": numbers}, sentence=sentence)


def unreadable_person_rows(entry: Entry) -> int:
    """The same for the rows of people, and their trace; 0 for a release that is not decoupled."""
    rows, shown = entry.release.person_rows, entry.trace.person_rows
    if rows is None:
        return 0
    if shown is None or len(shown) != len(entry.trace.persons) or len(rows.group) != len(rows.box):
        return max(1, len(rows.group))
    groups = entry.release.boxes.count
    return outside(rows.box, rows.boxes.count) + outside(rows.group, groups) + outside(shown, len(rows.box))


def outside(numbers: Int32, end: int) -> int:
    """How many of the numbers are not from 0 to before `end`."""
    wrong = 0
    for part in slices(len(numbers)):
        wrong += int(np.count_nonzero((numbers[part] < 0) | (numbers[part] >= end)))
        forget_pages(numbers)
    return wrong


def disorder(persons: Int64, *, twice: bool) -> int:
    """How many people come before the one in front of them, or are the same if that counts too."""
    wrong = 0
    for part in slices(max(0, len(persons) - 1)):
        here, after = persons[part], persons[part.start + 1 : part.stop + 1]
        wrong += int(np.count_nonzero(after <= here if twice else after < here))
        forget_pages(persons)
    return wrong


def hosting_groups(entry: Entry) -> Int32:
    """The group that hosts each traced person, in the order of the trace.

    Paper: [XT07] Definition 2, the generalized hosting group.
    """
    return entry.release.group[entry.trace.rows]
