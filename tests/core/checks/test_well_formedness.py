"""Well-formedness: every sort of flaw is found, and only flaws are."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.builders import Member, entry_of, plain_schema, random_entry
from oracles.checks import flaws

from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.model.arrays import MISSING
from reanon_core.model.ledger import Entry
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.model.trace import Trace
from reanon_core.model.verdict import Verdict

SCHEMA = plain_schema(min_width=2, domain=(0, 9), missing=Missing.SEPARATE)


def judged(entry: Entry) -> Verdict:
    return WellFormedness().examine(entry, {})[0]


def example() -> Entry:
    """Two groups: 0 has three people, one of whom lacks b; 1 has two people and two counterfeits; one is withheld."""
    members = [
        Member(3, (1, 1), 0, 0),
        Member(5, (2, 4), 1, 0),
        Member(6, (2, MISSING), 3, 0),
        Member(7, (6, 7), 2, 1),
        Member(8, (8, 9), 0, 1),
        Member(9, (0, 0), 3, None),
    ]
    return entry_of(SCHEMA, members, counterfeits=[(1, 1), (1, 3)])


def changed(array: np.ndarray, at: object, value: int) -> np.ndarray:
    copy = array.copy()
    copy[at] = value
    return copy


def with_boxes(entry: Entry, side: str, at: tuple[int, int], value: int) -> Entry:
    boxes = replace(entry.release.boxes, **{side: changed(getattr(entry.release.boxes, side), at, value)})
    return replace(entry, release=replace(entry.release, boxes=boxes))


def with_rows(entry: Entry, column: str, row: int, value: int) -> Entry:
    return replace(
        entry, release=replace(entry.release, **{column: changed(getattr(entry.release, column), row, value)})
    )


def with_trace(entry: Entry, column: str, at: int, value: int) -> Entry:
    return replace(entry, trace=replace(entry.trace, **{column: changed(getattr(entry.trace, column), at, value)}))


def test_a_true_generalization_is_well_formed() -> None:
    verdict = judged(example())
    assert verdict.holds
    assert verdict.violations == 0
    seen = {name: verdict.observed[name] for name in ("rows", "groups", "people", "withheld", "counterfeits")}
    assert seen == {"rows": 7, "groups": 2, "people": 5, "withheld": 1, "counterfeits": 2}


def test_an_empty_release_is_well_formed() -> None:
    assert judged(entry_of(SCHEMA, [])).holds


PLANTED = {
    "rows of no group": lambda e: with_rows(e, "group", 0, 2),
    "groups without rows": lambda e: replace(
        e, release=replace(e.release, group=np.where(e.release.group == 0, 1, 0).astype(np.int32) * 0)
    ),
    "rows with an unknown value": lambda e: with_rows(e, "sensitive", 0, 4),
    "traced people who are not in the snapshot": lambda e: with_trace(e, "persons", 0, 2),
    "traced rows that do not exist": lambda e: with_trace(e, "rows", 0, 7),
    "people with more than one row": lambda e: with_trace(e, "persons", 1, 3),
    "rows of more than one person": lambda e: with_trace(e, "rows", 1, 0),
    "trace out of order": lambda e: replace(e, trace=Trace(e.trace.persons[::-1], e.trace.rows[::-1])),
    "people with a wrong value": lambda e: with_rows(e, "sensitive", 0, 2),
    "values outside their interval": lambda e: with_boxes(e, "high", (0, 1), 7),
    "wrong missing flags": lambda e: with_boxes(e, "missing", (0, 0), 1),
    "unknown missing flags": lambda e: with_boxes(e, "missing", (0, 0), 3),
    "intervals at odds with their missing flag": lambda e: with_boxes(e, "low", (0, 0), MISSING),
    "intervals that end before they begin": lambda e: with_boxes(e, "low", (0, 0), 3),
    "intervals outside the domain": lambda e: with_boxes(e, "high", (0, 0), 10),
    "groups with a wrong number of counterfeits": lambda e: replace(e, auxiliary=Auxiliary.none()),
    "counterfeit counts below one": lambda e: replace(e, auxiliary=Auxiliary(np.array([0, 1]), np.array([0, 2]))),
    "counterfeit counts of no group": lambda e: replace(e, auxiliary=Auxiliary(np.array([1, 2]), np.array([2, 1]))),
    "counterfeit counts out of order": lambda e: replace(e, auxiliary=Auxiliary(np.array([1, 1]), np.array([1, 1]))),
}


@pytest.mark.parametrize("sort", PLANTED)
def test_a_planted_flaw_is_found(sort: str) -> None:
    broken = PLANTED[sort](example())
    verdict = judged(broken)
    assert not verdict.holds
    assert verdict.observed[sort] >= 1
    assert verdict.violations == sum(flaws(broken).values())


def test_a_flag_that_hides_a_missing_value_is_found() -> None:
    verdict = judged(with_boxes(example(), "missing", (1, 0), 0))
    assert verdict.observed["wrong missing flags"] == 1
    assert verdict.observed["values outside their interval"] == 1


def test_an_interval_narrower_than_the_least_width_is_found() -> None:
    schema = plain_schema(columns=1, min_width=3)
    entry = entry_of(schema, [Member(0, (4,), 0, 0), Member(1, (5,), 1, 0)], boxes={0: [(4, 5)]})
    assert judged(entry).observed["intervals too narrow"] == 1


def test_the_leaves_of_a_category_are_its_domain() -> None:
    column = QuasiIdentifier(name="c", kind=Kind.CATEGORICAL, taxonomy=Taxonomy.flat(["x", "y"]))
    schema = Schema(quasi_identifiers=(column,), sensitive=Sensitive(name="s", values=("v",)))
    members = [Member(0, (1,), 0, 0)]
    assert judged(entry_of(schema, members, boxes={0: [(0, 1)]})).holds
    assert judged(entry_of(schema, members, boxes={0: [(0, 2)]})).observed["intervals outside the domain"] == 1


def test_arrays_that_do_not_belong_together_are_found() -> None:
    entry = example()
    torn = replace(entry, release=Release(entry.release.group, entry.release.sensitive[:-1], entry.release.boxes))
    assert judged(torn).observed["arrays of different lengths"] == 1
    boxes = entry.release.boxes
    short = replace(entry.release, boxes=Boxes(boxes.low, boxes.high[:, :1], boxes.missing))
    assert not judged(replace(entry, release=short)).holds


def test_the_verdict_holds_no_person() -> None:
    entry = replace(example(), trace=Trace(example().trace.persons + 10**9, example().trace.rows))
    assert all(value < 10**6 for value in judged(entry).observed.values())


def corrupted(random: Random, entry: Entry) -> Entry:
    """The entry with one number replaced by a random one."""
    release, trace, auxiliary = entry.release, entry.trace, entry.auxiliary
    targets: list[tuple[object, str, np.ndarray]] = [
        (release, "group", release.group),
        (release, "sensitive", release.sensitive),
        (trace, "persons", trace.persons),
        (trace, "rows", trace.rows),
        (auxiliary, "group", auxiliary.group),
        (auxiliary, "count", auxiliary.count),
        *((release.boxes, side, getattr(release.boxes, side)) for side in ("low", "high", "missing")),
    ]
    owner, name, array = random.choice([target for target in targets if target[2].size] or targets[:1])
    if not array.size:
        return entry
    at = tuple(random.randrange(n) for n in array.shape)
    part = replace(owner, **{name: changed(array, at, random.choice([-1, 0, 1, 2, 3, 4, 8, 11]))})  # type: ignore[type-var]
    if owner is release.boxes:
        return replace(entry, release=replace(release, boxes=part))
    field = "release" if owner is release else "trace" if owner is trace else "auxiliary"
    return replace(entry, **{field: part})


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 3))
def test_every_flaw_is_counted_as_the_definitions_count_it(random: Random, corruptions: int) -> None:
    entry = random_entry(random, SCHEMA, people=7, groups=3, missing=True)
    for _ in range(corruptions):
        entry = corrupted(random, entry)
    verdict, expected = judged(entry), flaws(entry)
    assert {sort: verdict.observed[sort] for sort in expected} == expected
    assert verdict.violations == sum(expected.values())
    assert verdict.holds == (verdict.violations == 0)
    if not corruptions:
        assert verdict.holds
