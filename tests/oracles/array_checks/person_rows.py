"""The rows of people in a decoupled release, and what can be wrong with them."""

import numpy as np

from oracles.array_checks.boxes import box_flaws, membership_flaws
from reanon_core.model.arrays import Int64
from reanon_core.model.ledger import Entry


def unreadable_person_rows(entry: Entry) -> int:
    """How many numbers of the rows of people, and of their trace, refer to nothing; 0 for any other release."""
    rows, shown = entry.release.person_rows, entry.trace.person_rows
    if rows is None:
        return 0
    if shown is None or len(shown) != len(entry.trace.persons) or len(rows.group) != len(rows.box):
        return max(1, len(rows.group))
    return int(
        np.count_nonzero((rows.box < 0) | (rows.box >= rows.boxes.count))
        + np.count_nonzero((rows.group < 0) | (rows.group >= entry.release.boxes.count))
        + np.count_nonzero((shown < 0) | (shown >= len(rows.box)))
    )


def person_row_flaws(entry: Entry, position: Int64) -> dict[str, int]:
    """Flaws of the rows of people; none for a release that is not decoupled.

    Each traced person has one row, with their group and a box that holds them, and there are no other rows. `position`
    is where each traced person is in the snapshot.
    """
    rows, shown = entry.release.person_rows, entry.trace.person_rows
    if rows is None:
        return {}
    lost = unreadable_person_rows(entry)
    if lost or shown is None or len(position) != len(shown):
        return {"rows of people that cannot be read": max(1, lost)}
    people = len(np.unique(shown))
    flaws = box_flaws(rows.boxes, entry.snapshot.schema.quasi_identifiers, np.ones(len(entry.snapshot.qi), np.bool_))
    flaws |= membership_flaws(rows.boxes, entry.snapshot.qi, position, rows.box[shown])
    return {
        "rows of people that are not one person's": len(rows.box) + len(shown) - 2 * people,
        "people whose row has another group": int(
            np.count_nonzero(rows.group[shown] != entry.release.group[entry.trace.rows])
        ),
        "flaws in boxes of people": sum(flaws.values()),
    }
