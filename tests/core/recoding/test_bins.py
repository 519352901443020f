"""Ends on the grid: a published box is a function of bins, and bins depend on nothing but the declared column."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.bins import bin_of, bins

from reanon_core.model.arrays import MISSING
from reanon_core.model.coding import LEAST_CODE, MOST_CODE
from reanon_core.model.plan import Counterfeits, Plan
from reanon_core.model.release import Boxes
from reanon_core.model.schema import Ends, Kind, Missing, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.recoding.attribute_scales import extremes
from reanon_core.recoding.bins import align, grid_of, keeps_bins, notes_on_bins
from reanon_core.recoding.boxes import bounding_boxes

REACH = 3000
EPOCH = date(1970, 1, 1).toordinal()


def gridded(**options: object) -> QuasiIdentifier:
    return QuasiIdentifier(name="a", ends=Ends.GRID, missing=Missing.SEPARATE, **options)  # type: ignore[arg-type]


def published(column: QuasiIdentifier, codes: list[int]) -> list[tuple[int, int]]:
    """The interval of each code alone."""
    low, high = np.array(codes, np.int32), np.array(codes, np.int32)
    align(low, high, column)
    return list(zip(low.tolist(), high.tolist(), strict=True))


@st.composite
def trees(draw: st.DrawFn) -> Taxonomy:
    """Trees of up to nine leaves, some of them higher up than others."""
    lines = []
    for leaf in range(draw(st.integers(1, 9))):
        middle = draw(st.sampled_from([["p"], ["q"], ["r"], ["p1", "p"], ["p2", "p"], ["q1", "q"], []]))
        lines.append([f"leaf{leaf}", *middle, "root"])
    return Taxonomy.from_lines(lines, name="tree")


@st.composite
def columns(draw: st.DrawFn) -> QuasiIdentifier:
    width = draw(st.sampled_from([1, 1, 2, 3, 5, 7]))
    kind = draw(st.sampled_from(["number", "date", "order", "tree"]))
    if kind in ("number", "date"):
        domain = None
        if draw(st.booleans()):
            first = draw(st.integers(-REACH // 2, REACH // 2))
            domain = (first, min(REACH, first + width - 1 + draw(st.sampled_from([0, 1, 2, 3, 4, 10, 120, 700]))))
        return gridded(kind=Kind.DATE if kind == "date" else Kind.NUMERIC, min_width=width, domain=domain)
    tree = draw(trees()) if kind == "tree" else Taxonomy.flat([str(i) for i in range(draw(st.integers(1, 20)))])
    return gridded(
        kind=Kind.CATEGORICAL,
        taxonomy=tree,
        hierarchical=kind == "tree",
        min_width=min(width, len(tree.leaves)),
    )


def boxes_of(column: QuasiIdentifier, codes: list[int], group: list[int]) -> Boxes:
    schema = Schema(quasi_identifiers=(column,), sensitive=Sensitive(name="s", values=("x", "y")))
    people = np.arange(len(codes))
    snapshot = Snapshot(schema, people, np.array([codes], np.int32), np.zeros(len(codes), np.int32))
    lone = np.arange(max(group) + 1, dtype=np.int32)  # a counterfeit beside everyone
    return bounding_boxes(snapshot, Plan(np.array(group, np.int32), len(lone), Counterfeits(lone, lone * 0 + 1)))


@settings(deadline=None)
@given(columns(), st.data())
def test_a_box_is_a_function_of_the_bins_of_its_members(column: QuasiIdentifier, data: st.DataObject) -> None:
    """Move people anywhere inside their bins: every box stays as it was, and is the hull of the members' bins."""
    listed = bins(column, REACH)
    place = st.integers(0, len(listed) - 1)
    homes = data.draw(st.lists(st.none() | place, min_size=1, max_size=8))
    group = [data.draw(st.integers(0, at)) for at in range(len(homes))]
    group = [sorted(set(group)).index(own) for own in group]

    def somewhere(home: int | None) -> int:
        return MISSING if home is None else data.draw(st.integers(*listed[home]))

    here, there = (boxes_of(column, [somewhere(home) for home in homes], group) for _ in range(2))
    assert [side.tolist() for side in (here.low, here.high)] == [side.tolist() for side in (there.low, there.high)]
    for own in range(max(group) + 1):
        members = [home for home, one in zip(homes, group, strict=True) if one == own and home is not None]
        expected = (listed[min(members)][0], listed[max(members)][1]) if members else (MISSING, MISSING)
        assert (here.low[0, own], here.high[0, own]) == expected


@settings(deadline=None)
@given(columns())
def test_every_code_is_in_one_bin_that_is_wide_enough(column: QuasiIdentifier) -> None:
    listed = bins(column, REACH)
    codes = list(range(listed[0][0], listed[-1][1] + 1))
    assert published(column, codes) == [bin_of(code, listed) for code in codes]
    assert all(last - first + 1 >= column.min_width for first, last in listed)
    if column.kind is not Kind.CATEGORICAL and (column.domain is None or column.domain[1] - column.domain[0] > 2):
        assert all(last > first for first, last in listed)


def test_a_person_alone_with_counterfeits_is_not_published_exactly() -> None:
    boxes = boxes_of(gridded(), [21, 30, 33, 38], [0, 1, 1, 1])
    assert (boxes.low.tolist(), boxes.high.tolist()) == ([[20, 30]], [[21, 39]])
    boxes = boxes_of(gridded(min_width=5), [21, 30, 33, 38], [0, 1, 1, 1])
    assert (boxes.low.tolist(), boxes.high.tolist()) == ([[20, 30]], [[24, 39]])


def test_the_last_bin_of_a_domain_takes_what_is_left() -> None:
    """120 would be a bin of its own, narrower than five years."""
    assert published(gridded(min_width=5, domain=(0, 120)), [114, 115, 120]) == [(110, 114), (115, 120), (115, 120)]
    assert published(gridded(domain=(17, 95)), [17, 18, 94, 95]) == [(17, 18), (17, 18), (93, 95), (93, 95)]


def test_numbers_without_a_domain_have_bins_that_grow_with_them() -> None:
    listed = published(gridded(), [0, 1, 511, 512, 1999, 12345, 51500, MOST_CODE])
    assert listed[:5] == [(0, 1), (0, 1), (510, 511), (512, 515), (1992, 1999)]
    assert listed[5:] == [(12288, 12351), (51456, 51711), (2**31 - 2**23, MOST_CODE)]
    assert published(gridded(), [-1, -2, -512, -513, LEAST_CODE]) == [
        (-2, -1),
        (-2, -1),
        (-512, -511),
        (-516, -513),
        (LEAST_CODE, -(2**31) + 2**23 - 1),
    ]


def test_dates_without_a_domain_have_bins_of_four_weeks_within_the_calendar() -> None:
    column = gridded(kind=Kind.DATE)
    assert published(column, [0, 27, 28, -1]) == [(0, 27), (0, 27), (28, 55), (-28, -1)]
    last = date.max.toordinal() - EPOCH
    ((low, high),) = published(column, [last])
    assert high == last
    assert last - low >= 27


def test_so_few_values_that_one_bin_would_hold_them_all_are_published_as_they_are() -> None:
    assert published(gridded(domain=(0, 2)), [0, 1, 2]) == [(0, 0), (1, 1), (2, 2)]
    assert published(gridded(domain=(0, 3)), [0, 1, 2, 3]) == [(0, 1), (0, 1), (2, 3), (2, 3)]
    assert published(gridded(domain=(0, 2), min_width=2), [0, 1, 2]) == [(0, 2), (0, 2), (0, 2)]


@pytest.mark.parametrize(
    ("codes", "options", "noted"),
    [
        ([0, 1, 1, MISSING], {}, True),  # a flag, coded as a number
        ([0, 0, MISSING], {}, False),  # there is nothing to lose
        ([1, 2], {}, False),
        ([0, 1], {"domain": (0, 1)}, False),
        ([0, 9], {"min_width": 10}, True),
        ([0, 9], {"min_width": 10, "ends": Ends.EXACT}, False),
        ([MISSING], {}, False),
    ],
)
def test_a_column_that_one_bin_swallows_is_noted(codes: list[int], options: dict, noted: bool) -> None:
    schema = Schema(quasi_identifiers=(replace(gridded(), **options),), sensitive=Sensitive(name="s", values=("x",)))
    notes = notes_on_bins(extremes(np.array([codes], np.int32), schema), schema)
    assert [note.startswith("a: one bin holds all values") for note in notes] == [True] * noted


def test_a_node_with_one_narrow_child_is_a_bin_as_a_whole() -> None:
    """Were `school` a bin of its own, then `any` would tell that the person is a doctor."""
    lines = [["primary", "school", "any"], ["secondary", "school", "any"], ["doctor", "any"]]
    column = gridded(
        kind=Kind.CATEGORICAL, taxonomy=Taxonomy.from_lines(lines, name="e"), hierarchical=True, min_width=2
    )
    assert published(column, [0, 1, 2]) == [(0, 2), (0, 2), (0, 2)]


@pytest.mark.parametrize(("width", "years"), [(2, 1), (2, 2), (5, 2), (5, 7)])
def test_a_person_who_ages_leaves_a_bin_at_a_known_age(width: int, years: int) -> None:
    """What bins cannot hide: of people who can be followed for T years, T / width show when they cross a border."""
    column = gridded(min_width=width)
    crossing = 0
    for age in range(20, 20 + width):
        bins_shown = published(column, list(range(age, age + years + 1)))
        ages = [age + year for year in range(1, years + 1) if bins_shown[year] != bins_shown[year - 1]]
        assert all(one % width == 0 for one in ages)  # the reader knows the age at that moment
        crossing += bool(ages)
    assert crossing / width == min(1, years / width)


@given(
    low=st.integers(-40, 40),
    size=st.integers(1, 300),
    below=st.integers(0, 40),
    above=st.integers(0, 300),
    width=st.integers(1, 9),
)
def test_a_domain_that_grows_keeps_its_bins_or_does_not(
    low: int, size: int, below: int, above: int, width: int
) -> None:
    """Against the bins of every code."""
    if size < width:
        return
    before = QuasiIdentifier(name="a", domain=(low, low + size - 1), min_width=width, ends=Ends.GRID)
    now = replace(before, domain=(low - below, low + size - 1 + above))
    codes = np.arange(low, low + size, dtype=np.int32)
    old, new = grid_of(before), grid_of(now)
    same = old is new if old is None or new is None else np.array_equal(old.bins(codes), new.bins(codes))
    assert keeps_bins(now, before) == same
