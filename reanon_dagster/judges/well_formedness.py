"""Well-formedness at size: the release is a counterfeited generalization of the snapshot, with true counts."""

from collections.abc import Iterator

import numpy as np

from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.compiled import compiled
from reanon_core.engine.column_folder import forget_pages
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory
from reanon_dagster.judges.group_sizes import count_where
from reanon_dagster.judges.intervals import interval_flaws, telling_boxes
from reanon_dagster.judges.judged_release import JudgedRelease
from reanon_dagster.judges.membership import member_flaws
from reanon_dagster.judges.person_rows import own_boxes, person_row_flaws
from reanon_dagster.judges.traced_people import Bits, TracedPeople, count_bits


def judge_well_formedness(check: WellFormedness, judged: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
    """Count the flaws by kind.

    Paper: [XT07] Definitions 2 and 3.
    """
    entry, people = judged.entry, TracedPeople(judged)
    flaws = _shape_flaws(entry) or _flaws(judged, people)
    violations = sum(flaws.values())
    observed: dict[str, float] = {
        "rows": entry.release.size,
        "groups": entry.release.boxes.count,
        "people": len(entry.trace.persons) - count_bits(people.invented_rows),
        "not asked for": entry.dirty,
        "withheld": entry.withheld,
        "counterfeits": entry.auxiliary.total,
        **flaws,
    }
    sentence = "every row is one person's own, inside its box, or a counterfeit that is counted"
    return Verdict(check.name, violations == 0, violations, observed, sentence=sentence), memory


def _shape_flaws(entry: Entry) -> dict[str, int]:
    """Arrays that cannot belong together; nothing else can be judged then."""
    release, boxes, schema = entry.release, entry.release.boxes, entry.snapshot.schema
    expected = (len(schema.quasi_identifiers), boxes.count)
    torn = [
        release.group.shape != release.sensitive.shape,
        entry.trace.persons.shape != entry.trace.rows.shape,
        entry.auxiliary.group.shape != entry.auxiliary.count.shape,
        not (boxes.low.shape == boxes.high.shape == boxes.missing.shape == expected),
        release.other.shape != (len(schema.other), release.size),
    ]
    return {"arrays of different lengths": sum(torn)} if any(torn) else {}


def _flaws(judged: JudgedRelease, people: TracedPeople) -> dict[str, int]:
    entry, release, space = judged.entry, judged.entry.release, judged.space
    columns = entry.snapshot.schema.quasi_identifiers
    shown = [release.shows(column.name) for column in columns]
    sizes = judged.sizes

    def members() -> Iterator[tuple[Int64, Int32]]:
        return ((position, group) for position, _, group in people.links())

    return {
        "rows of no group": judged.outside(release.group, release.boxes.count),
        "groups without rows": count_where(lambda part: sizes[part] == 0, len(sizes), space),
        **people.flaws(),
        **_value_flaws(judged, people),
        **_column_flaws(judged, shown),
        **interval_flaws(release.boxes, columns, shown, space),
        **member_flaws(release.boxes, entry.snapshot.qi, members, space, signs=own_boxes(entry)),
        **person_row_flaws(people),
        **_counterfeit_flaws(judged, people),
    }


def _value_flaws(judged: JudgedRelease, people: TracedPeople) -> dict[str, int]:
    """Sensitive values and non-identifiers: the person's own where they are shown, nothing where they are not.

    Paper: [XT07] Definition 2, property 2.
    """
    schema, release, snapshot = judged.entry.snapshot.schema, judged.entry.release, judged.entry.snapshot
    lists = (schema.sensitive.values, *schema.other_values)
    names = (schema.sensitive.name, *schema.other)
    unknown = wrong = 0
    for name, values, codes, true in zip(
        names, lists, (release.sensitive, *release.other), (snapshot.sensitive, *snapshot.other), strict=True
    ):
        if not release.shows(name):
            unknown += sum(
                int(np.count_nonzero(codes[part] != UNPUBLISHED)) for part in judged.space.chunks(len(codes), codes)
            )
            continue
        unknown += judged.outside(codes, len(values))
        for first, stop in judged.space.parts(len(codes), 4):
            wrong += sum(_count_wrong(true, position, codes, row, first, stop) for position, row, _ in people.links())
            forget_pages(codes)
    return {"rows with an unknown value": unknown, "people with a wrong value": wrong}


def _column_flaws(judged: JudgedRelease, shown: list[bool]) -> dict[str, int]:
    """Flaws in which columns are shown; none for a release of all columns."""
    columns, snapshot = judged.entry.release.columns, judged.entry.snapshot
    if columns is None:
        return {}
    return {
        "unknown columns": len(set(columns) - set(snapshot.schema.columns)),
        "columns that nobody asked for": len(set(columns) - set(snapshot.columns or columns)),
        "boxes that show an unpublished column": telling_boxes(judged.entry.release.boxes, shown, judged.space),
    }


def _counterfeit_flaws(judged: JudgedRelease, people: TracedPeople) -> dict[str, int]:
    """Paper: [XT07] Definition 3: one row for each group that has counterfeits, with their number."""
    release, auxiliary, space = judged.entry.release, judged.entry.auxiliary, judged.space
    wrong = 0
    for first, stop in space.parts(release.boxes.count, 8):
        surplus = np.zeros(stop - first, np.int64)
        for part in space.chunks(release.size, release.group):
            bits = people.traced_rows, people.invented_rows
            _count_counterfeits(release.group[part], part.start, *bits, first, surplus)
        _subtract_declared(auxiliary.group, auxiliary.count, first, surplus)
        wrong += count_where(lambda part, surplus=surplus: surplus[part] != 0, len(surplus), space)  # type: ignore[misc]
    pairs = space.chunks(max(0, len(auxiliary.group) - 1))
    return {
        "groups with a wrong number of counterfeits": wrong,
        "counterfeit counts below one": count_where(
            lambda part: auxiliary.count[part] < 1, len(auxiliary.count), space
        ),
        "counterfeit counts of no group": judged.outside(auxiliary.group, release.boxes.count),
        "counterfeit counts out of order": sum(
            int(np.count_nonzero(auxiliary.group[pair.start + 1 : pair.stop + 1] <= auxiliary.group[pair]))
            for pair in pairs
        ),
    }


@compiled
def _count_wrong(true: Int32, position: Int64, shown: Int32, rows: Int32, first: int, stop: int) -> int:
    """How many of the people in these rows are shown with another code than their own."""
    wrong = 0
    for person in range(len(rows)):
        if first <= rows[person] < stop:
            wrong += true[position[person]] != shown[rows[person]]
    return wrong


@compiled
def _count_counterfeits(group: Int32, start: int, traced: Bits, invented: Bits, first: int, counts: Int64) -> None:
    """Add for each group the rows that are not traced, or are traced to an invented person.

    `group` are those of the rows from `start` on.
    """
    for place in range(len(group)):
        row, number = start + place, group[place] - first
        real = (traced[row >> 3] & ~invented[row >> 3]) >> (row & 7) & 1
        if not real and 0 <= number < len(counts):
            counts[number] += 1


@compiled
def _subtract_declared(group: Int32, count: Int32, first: int, counts: Int64) -> None:
    for place in range(len(group)):
        if first <= group[place] < first + len(counts):
            counts[group[place] - first] -= count[place]
