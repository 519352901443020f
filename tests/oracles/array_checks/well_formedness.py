"""Well-formedness: the release is a counterfeited generalization of the snapshot, with true counterfeit counts."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oracles.array_checks.boxes import box_flaws, membership_flaws, unpublished_flaws
from oracles.array_checks.person_rows import person_row_flaws
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import UNPUBLISHED, Auxiliary, Release
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class WellFormedness:
    """Every published row is one person's own, within its box, or a counterfeit that is counted.

    Paper: [XT07] Definitions 2 and 3. A selected person without a traced row counts as withheld. A row that is traced
    to an invented person is a counterfeit: it must lie in its box and be counted.
    """

    name: ClassVar[str] = "well-formedness"
    needs_knowledge: ClassVar[bool] = False

    def initial_memory(self) -> Memory:
        """Empty, because each release is judged by itself."""
        return {}

    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Count the flaws by kind."""
        flaws = _shape_flaws(entry) or _flaws(entry)
        violations = sum(flaws.values())
        # These names are in public manifests, so they stay.
        observed: dict[str, float] = {
            "rows": entry.release.size,
            "groups": entry.release.boxes.count,
            "people": len(entry.trace.persons) - _invented(entry),
            "not asked for": entry.dirty,
            "withheld": entry.withheld,
            "counterfeits": entry.auxiliary.total,
            **flaws,
        }
        sentence = "every row is one person's own, inside its box, or a counterfeit that is counted"
        return Verdict(self.name, violations == 0, violations, observed, sentence=sentence), memory


@dataclass(frozen=True, eq=False)
class Links:
    """The traced rows that can be read: where the person is in the snapshot, and which row shows them."""

    position: Int64  # [r] in the snapshot
    row: Int32  # [r] of the release
    group: Int32  # [r] of the row


def _shape_flaws(entry: Entry) -> dict[str, int]:
    """Arrays whose shapes do not match; nothing else can be judged then."""
    release, boxes, trace = entry.release, entry.release.boxes, entry.trace
    columns = len(entry.snapshot.schema.quasi_identifiers)
    torn = (
        (release.group.shape != release.sensitive.shape)
        + (trace.persons.shape != trace.rows.shape)
        + (entry.auxiliary.group.shape != entry.auxiliary.count.shape)
        + any(side.shape != (columns, boxes.count) for side in (boxes.low, boxes.high, boxes.missing))
        + (release.other.shape != (len(entry.snapshot.schema.other), len(release.group)))
    )
    return {"arrays of different lengths": torn} if torn else {}


def _flaws(entry: Entry) -> dict[str, int]:
    schema, release = entry.snapshot.schema, entry.release
    known = _inside(release.group, release.boxes.count)
    links = _links(entry, known)
    shown = np.array([release.shows(name) for name in schema.names], dtype=np.bool_)
    return {
        "rows of no group": int(np.count_nonzero(~known)),
        "groups without rows": _absent(release.group[known], release.boxes.count),
        **_trace_flaws(entry),
        **_value_flaws(entry, links),
        **_column_flaws(entry, shown),
        **box_flaws(release.boxes, schema.quasi_identifiers, shown),
        **membership_flaws(release.boxes, entry.snapshot.qi, links.position, links.group, grouped=_own_boxes(release)),
        **person_row_flaws(entry, links.position),
        **_counterfeit_flaws(entry, known),
    }


def _own_boxes(release: Release) -> bool:
    """Whether the box of a group is of its members alone, so that its missing signs are theirs."""
    return release.grouped and release.person_rows is None


def _value_flaws(entry: Entry, links: Links) -> dict[str, int]:
    """Sensitive values and non-identifiers: the person's own where they are shown, nothing where they are not.

    Paper: [XT07] Definition 2, property 2: the sensitive value is the person's own.
    """
    schema, release, snapshot = entry.snapshot.schema, entry.release, entry.snapshot
    unknown = wrong = 0
    published = ((schema.sensitive.name, schema.sensitive.values), *zip(schema.other, schema.other_values, strict=True))
    codes = (release.sensitive, *release.other)
    for (name, values), shown, true in zip(published, codes, (snapshot.sensitive, *snapshot.other), strict=True):
        if release.shows(name):
            unknown += _count_outside(shown, len(values))
            wrong += int(np.count_nonzero(true[links.position] != shown[links.row]))
        else:
            unknown += int(np.count_nonzero(shown != UNPUBLISHED))
    return {"rows with an unknown value": unknown, "people with a wrong value": wrong}


def _column_flaws(entry: Entry, shown: Bool) -> dict[str, int]:
    """Flaws in which columns are shown; none for a release of all columns."""
    columns = entry.release.columns
    if columns is None:
        return {}
    return {
        "unknown columns": len(set(columns) - set(entry.snapshot.schema.columns)),
        "columns that nobody asked for": len(set(columns) - set(entry.snapshot.columns or columns)),
        "boxes that show an unpublished column": unpublished_flaws(entry.release.boxes, shown),
    }


def _links(entry: Entry, known: Bool) -> Links:
    """The traced rows that can be read: a person of the snapshot, a row of the release, a group with a box."""
    position, found = _positions(entry)
    row = entry.trace.rows
    good = found & _inside(row, entry.release.size)
    good[good] = known[row[good]]
    if not good.all():
        position, row = position[good], row[good]
    return Links(position, row, entry.release.group[row])


def _positions(entry: Entry) -> tuple[Int64, Bool]:
    """Where each traced person is in the snapshot, and whether they are in it at all."""
    persons, traced = entry.snapshot.persons, entry.trace.persons
    if np.array_equal(persons, traced):
        return np.arange(len(traced)), np.ones(len(traced), dtype=np.bool_)
    position = persons.searchsorted(traced)
    found = position < len(persons)
    found[found] = persons[position[found]] == traced[found]
    return position, found


def _trace_flaws(entry: Entry) -> dict[str, int]:
    """Paper: [XT07] Definition 2, property 2: each person has a generalized tuple, and no tuple is two people's."""
    persons, rows = entry.trace.persons, entry.trace.rows
    inside = rows[_inside(rows, entry.release.size)]
    found = _positions(entry)[1]
    descents = int(np.count_nonzero(persons[1:] < persons[:-1]))
    ordered = persons if not descents else np.sort(persons)
    return {
        "traced people who are not in the snapshot": int(np.count_nonzero(~found)),
        "traced rows that do not exist": len(rows) - len(inside),
        "people with more than one row": int(np.count_nonzero(ordered[1:] == ordered[:-1])),
        "rows of more than one person": len(inside) - int(np.count_nonzero(_traced(entry))),
        "trace out of order": descents,
    }


def _traced(entry: Entry) -> Bool:
    """Which published rows are traced."""
    traced = np.zeros(entry.release.size, dtype=np.bool_)
    traced[entry.trace.rows[_inside(entry.trace.rows, entry.release.size)]] = True
    return traced


def _counterfeit_rows(entry: Entry) -> Bool:
    """Which published rows are counterfeits: not traced, or traced to an invented person."""
    counterfeit = ~_traced(entry)
    if entry.snapshot.origin is not None:
        position, found = _positions(entry)
        found &= _inside(entry.trace.rows, entry.release.size)
        counterfeit[entry.trace.rows[found]] |= entry.snapshot.invented[position[found]]
    return counterfeit


def _invented(entry: Entry) -> int:
    return int(np.count_nonzero(_counterfeit_rows(entry))) - int(np.count_nonzero(~_traced(entry)))


def _counterfeit_flaws(entry: Entry, known: Bool) -> dict[str, int]:
    """Paper: [XT07] Definition 3: one row for each group that has counterfeits, with their number."""
    groups, auxiliary = entry.release.boxes.count, entry.auxiliary
    actual = np.bincount(entry.release.group[_counterfeit_rows(entry) & known], minlength=groups)
    return {
        "groups with a wrong number of counterfeits": int(np.count_nonzero(actual != _declared(auxiliary, groups))),
        "counterfeit counts below one": int(np.count_nonzero(auxiliary.count < 1)),
        "counterfeit counts of no group": _count_outside(auxiliary.group, groups),
        "counterfeit counts out of order": int(np.count_nonzero(auxiliary.group[1:] <= auxiliary.group[:-1])),
    }


def _declared(auxiliary: Auxiliary, groups: int) -> Int64:
    """How many counterfeits the release declares for each group; a group that is listed twice has both counts."""
    inside = _inside(auxiliary.group, groups)
    declared = np.zeros(groups, dtype=np.int64)
    np.add.at(declared, auxiliary.group[inside], auxiliary.count[inside])
    return declared


def _absent(group: Int32, groups: int) -> int:
    return int(np.count_nonzero(np.bincount(group, minlength=groups) == 0))


def _inside(numbers: Int32, end: int) -> Bool:
    inside: Bool = (numbers >= 0) & (numbers < end)
    return inside


def _count_outside(numbers: Int32, end: int) -> int:
    return len(numbers) - int(np.count_nonzero(_inside(numbers, end)))
