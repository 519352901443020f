"""The rows of people in a decoupled release, at size."""

from collections.abc import Iterator

import numpy as np

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import PersonRows
from reanon_dagster.judges.intervals import interval_flaws
from reanon_dagster.judges.judged_release import JudgedRelease
from reanon_dagster.judges.membership import member_flaws
from reanon_dagster.judges.traced_people import TracedPeople, distinct_rows

UNREADABLE = "rows of people that cannot be read"


def person_row_flaws(people: TracedPeople) -> dict[str, int]:
    """Flaws of the rows of people; none for a release that is not decoupled.

    Each traced person has one row, with their group and a box that holds them, and there are no other rows.

    Requires: the trace has a row for each person.
    """
    judged, entry = people.judged, people.judged.entry
    rows, shown = entry.release.person_rows, entry.trace.person_rows
    if rows is None:
        return {}
    if shown is None or len(shown) != len(entry.trace.persons) or len(rows.group) != len(rows.box):
        return {UNREADABLE: max(1, len(rows.group))}
    lost = _lost(judged, rows, shown)
    if lost or sum(len(row) for _, row, _ in people.links()) != len(shown):
        return {UNREADABLE: max(1, lost)}
    return _flaws_of_readable(people, rows, shown)


def _lost(judged: JudgedRelease, rows: PersonRows, shown: Int32) -> int:
    """How many numbers refer to nothing."""
    return (
        judged.outside(rows.box, rows.boxes.count)
        + judged.outside(rows.group, judged.entry.release.boxes.count)
        + judged.outside(shown, len(rows.box))
    )


def _flaws_of_readable(people: TracedPeople, rows: PersonRows, shown: Int32) -> dict[str, int]:
    """Flaws of rows that can be read, where everyone who is traced is in the snapshot and has a group."""
    judged, entry = people.judged, people.judged.entry

    def members() -> Iterator[tuple[Int64, Int32]]:
        return ((part.position, rows.box[shown[part.place]]) for part in people.parts())

    columns = entry.snapshot.schema.quasi_identifiers
    in_boxes = interval_flaws(rows.boxes, columns, [True] * len(columns), judged.space)
    in_boxes |= member_flaws(rows.boxes, entry.snapshot.qi, members, judged.space)
    return {
        "rows of people that are not one person's": len(rows.box)
        + len(shown)
        - 2 * distinct_rows(shown, len(rows.box)),
        "people whose row has another group": _elsewhere(judged, rows, shown),
        "flaws in boxes of people": sum(in_boxes.values()),
    }


def _elsewhere(judged: JudgedRelease, rows: PersonRows, shown: Int32) -> int:
    hosting = judged.hosting
    return sum(
        int(np.count_nonzero(rows.group[shown[part]] != hosting[part])) for part in judged.space.chunks(len(shown))
    )


def own_boxes(entry: Entry) -> bool:
    """Whether the box of a group is of its members alone, so that its missing signs are theirs."""
    return entry.release.grouped and entry.release.person_rows is None
