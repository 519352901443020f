"""Well-formedness: the release is a counterfeited generalization of the snapshot, with true counterfeit counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from reanon_core.checks.judged_release import JudgedRelease, QueryCheck
from reanon_core.checks.published_boxes import (
    Columns,
    box_flaws,
    flag_flaws,
    lacking,
    uncovered,
    unpublished_flaws,
)
from reanon_core.checks.readable import disorder, outside, torn, unreadable_person_rows
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

HELD = """
SELECT group_id, {rows} AS size, {rows} FILTER (person IS NULL OR {invented}) AS fakes,
       {rows} FILTER (person IS NULL) AS untraced
FROM {shown} GROUP BY group_id
"""
"""The groups that rows name. A row that is traced to an invented person is a counterfeit, as one without a trace is."""
ROWS = """
SELECT coalesce(sum(size) FILTER (group_id NOT BETWEEN 0 AND $groups - 1), 0)::BIGINT AS "rows of no group",
       $groups - count(*) FILTER (group_id BETWEEN 0 AND $groups - 1) AS "groups without rows"
FROM held
"""
LINKS = "SELECT * FROM shown JOIN boxes USING (group_id) JOIN snapshot USING (person)"
"""Each traced person of the table, with their row and the box of its group."""
STRANGERS = "SELECT count(*) FROM trace ANTI JOIN snapshot USING (person)"
REPEATED = "SELECT count(*) - count(DISTINCT person) FROM trace"
MISCOUNTED = """
SELECT count(*)
FROM boxes LEFT JOIN held USING (group_id)
     LEFT JOIN (SELECT group_id, sum(count) AS declared FROM counterfeits GROUP BY group_id) USING (group_id)
WHERE coalesce(fakes, 0) <> coalesce(declared, 0)
"""
COUNTS = """
SELECT count(*) FILTER (count < 1) AS "counterfeit counts below one",
       count(*) FILTER (group_id NOT BETWEEN 0 AND $groups - 1) AS "counterfeit counts of no group"
FROM counterfeits
"""
UNORDERED = """
SELECT count(*) FROM counterfeits AS one JOIN counterfeits AS next ON next.place = one.place + 1
WHERE next.group_id <= one.group_id
"""
PERSON_LINKS = """
SELECT *
FROM shown JOIN (SELECT row AS person_row, group_id AS own_group, box FROM person_rows) USING (person_row)
     JOIN person_boxes USING (box) JOIN snapshot USING (person)
"""
"""Each traced person of a decoupled release, with their own row and its box."""
PERSON_ROWS = """
SELECT {uncovered} AS uncovered, {lacking} AS lack, count(*) AS traces, count(DISTINCT person_row) AS rows,
       count(*) FILTER (own_group <> group_id) AS moved
FROM person_links
"""


@dataclass(frozen=True, kw_only=True)
class WellFormedness(QueryCheck):
    """Every published row is one person's own, within its box, or a counterfeit that is counted.

    Paper: [XT07] Definitions 2 and 3. A selected person without a traced row counts as withheld. A row that is traced
    to an invented person is a counterfeit: it must lie in its box and be counted.
    """

    name: ClassVar[str] = "well-formedness"
    needs_knowledge: ClassVar[bool] = False

    def initial_memory(self) -> Memory:
        """Empty, because each release is judged by itself."""
        return {}

    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """Count the flaws by kind."""
        entry = release.entry
        if shapes := torn(entry):
            invented, flaws = 0, {"arrays of different lengths": shapes}
        else:
            invented, flaws = _flaws(release)
        violations = sum(flaws.values())
        # These names are in public manifests, so they stay.
        observed: dict[str, float] = {
            "rows": entry.release.size,
            "groups": release.groups,
            "people": len(entry.trace.persons) - invented,
            "not asked for": entry.dirty,
            "withheld": entry.withheld,
            "counterfeits": entry.auxiliary.total,
            **flaws,
        }
        sentence = "every row is one person's own, inside its box, or a counterfeit that is counted"
        return Verdict(self.name, violations == 0, violations, observed, sentence=sentence), memory


def _flaws(release: JudgedRelease) -> tuple[int, dict[str, int]]:
    """How many traced rows are invented, and the flaws."""
    entry = release.entry
    own_boxes = entry.release.grouped and entry.release.person_rows is None
    doubled = release.number("SELECT count(*) FROM shown") - entry.release.size
    has_origin = entry.snapshot.origin is not None
    held = {
        "rows": "count(DISTINCT row)" if doubled else "count(*)",
        "invented": "invented" if has_origin else "false",
        "shown": "shown LEFT JOIN snapshot USING (person)" if has_origin else "shown",
    }
    release.create("held", HELD.format(**held))
    release.view("links", LINKS)
    columns, hidden = _columns(release)
    unknown, wrong = _value_flaws(release)
    people = (
        f"SELECT count(*) AS linked, {wrong} AS wrong, {uncovered(columns)} AS uncovered, {lacking(columns)} AS lack"
    )
    linked = release.numbers(f"{people} FROM links")
    # Where rows have boxes of their own, the box of a group is not of its members alone.
    flags = flag_flaws(release, "links", "group_id", columns) if own_boxes and linked["lack"] else 0
    flaws = {
        **release.numbers(ROWS),
        **_trace_flaws(release, linked["linked"], doubled),
        "rows with an unknown value": unknown,
        "people with a wrong value": linked["wrong"],
        **_column_flaws(release, hidden),
        **box_flaws(release, "boxes", columns),
        "values outside their interval": linked["uncovered"],
        "wrong missing flags": flags,
        **_person_row_flaws(release, linked["linked"]),
        **_counterfeit_flaws(release),
    }
    return release.number("SELECT sum(fakes - untraced)::BIGINT FROM held"), flaws


def _columns(release: JudgedRelease) -> tuple[Columns, Columns]:
    """The quasi-identifiers that the release shows, and the others, with their numbers."""
    numbered = list(enumerate(release.snapshot.schema.quasi_identifiers))
    shows = release.entry.release.shows
    return [one for one in numbered if shows(one[1].name)], [one for one in numbered if not shows(one[1].name)]


def _trace_flaws(release: JudgedRelease, linked: int, doubled: int) -> dict[str, int]:
    """Paper: [XT07] Definition 2, property 2: each person has a generalized tuple, and no tuple is two people's."""
    trace = release.entry.trace
    return {
        "traced people who are not in the snapshot": release.number(STRANGERS) if linked < len(trace.persons) else 0,
        "traced rows that do not exist": outside(trace.rows, release.entry.release.size),
        "people with more than one row": release.number(REPEATED) if disorder(trace.persons, twice=True) else 0,
        "rows of more than one person": doubled,
        "trace out of order": disorder(trace.persons, twice=False),
    }


def _value_flaws(release: JudgedRelease) -> tuple[int, str]:
    """Values that do not exist, or are shown although they should not be; and an aggregate: those of somebody else.

    Paper: [XT07] Definition 2, property 2: the sensitive value is the person's own.
    """
    unknown, wrong = [], ["0"]
    for name, column, values in _published_values(release):
        if release.entry.release.shows(name):
            unknown.append(f"count(*) FILTER ({column} NOT BETWEEN 0 AND {values - 1})")
            wrong.append(f"count(*) FILTER ({column} <> own_{column})")
        else:
            unknown.append(f"count(*) FILTER ({column} <> {UNPUBLISHED})")
    return release.number(f"SELECT {' + '.join(unknown)} FROM published"), " + ".join(wrong)


def _published_values(release: JudgedRelease) -> Iterator[tuple[str, str, int]]:
    """The sensitive column and the non-identifiers: name, column of the table, number of values."""
    schema = release.snapshot.schema
    yield schema.sensitive.name, "value", len(schema.sensitive.values)
    for number, (name, values) in enumerate(zip(schema.other, schema.other_values, strict=True)):
        yield name, f"other_{number}", len(values)


def _column_flaws(release: JudgedRelease, hidden: Columns) -> dict[str, int]:
    """Flaws in which columns are shown; none for a release of all columns."""
    columns, snapshot = release.entry.release.columns, release.snapshot
    if columns is None:
        return {}
    return {
        "unknown columns": len(set(columns) - set(snapshot.schema.columns)),
        "columns that nobody asked for": len(set(columns) - set(snapshot.columns or columns)),
        "boxes that show an unpublished column": unpublished_flaws(release, hidden),
    }


def _counterfeit_flaws(release: JudgedRelease) -> dict[str, int]:
    """Paper: [XT07] Definition 3: one row for each group that has counterfeits, with their number."""
    return {
        "groups with a wrong number of counterfeits": release.number(MISCOUNTED),
        **release.numbers(COUNTS),
        "counterfeit counts out of order": release.number(UNORDERED),
    }


def _person_row_flaws(release: JudgedRelease, linked: int) -> dict[str, int]:
    """Flaws of the rows of people; none for a release that is not decoupled.

    Each traced person has one row, with their group and a box that holds them, and there are no other rows.
    """
    own = release.entry.release.person_rows
    if own is None:
        return {}
    lost = unreadable_person_rows(release.entry)
    if lost or linked < len(release.entry.trace.persons):
        return {"rows of people that cannot be read": max(1, lost)}
    release.view("person_links", PERSON_LINKS)
    columns = list(enumerate(release.snapshot.schema.quasi_identifiers))
    found = release.numbers(PERSON_ROWS.format(uncovered=uncovered(columns), lacking=lacking(columns)))
    flags = flag_flaws(release, "person_links", "box", columns) if found["lack"] else 0
    return {
        "rows of people that are not one person's": len(own.box) + found["traces"] - 2 * found["rows"],
        "people whose row has another group": found["moved"],
        "flaws in boxes of people": sum(box_flaws(release, "person_boxes", columns).values())
        + found["uncovered"]
        + flags,
    }
