"""Relations: planted ones, and the same number as a loop over people."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from builders.random_series import small_series
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.builders import Member, entry_of, plain_schema, random_entry
from oracles.metrics import quarter_begins, reader_relation_table, relation_slope, true_relation_table

from reanon_core.catalog import WEAKEST, build_technique
from reanon_core.metrics import published_groups, relations
from reanon_core.metrics.relations import RelationsKept, category_cuts, released_tables
from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Entry
from reanon_core.model.release import Auxiliary, Boxes, PersonRows, Release
from reanon_core.model.schema import Kind, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.replay import replay
from reanon_core.techniques.decoupled import decouple

M = 3
SEX = QuasiIdentifier(name="sex", kind=Kind.CATEGORICAL, taxonomy=Taxonomy.flat(("f", "m")))
AGE = QuasiIdentifier(name="age", domain=(0, 99))


def kept(entry: Entry) -> float:
    return RelationsKept().measure(entry, np.random.default_rng(0))


def by_loops(entry: Entry, *, least_odds: float = 1.5, expected: float = 5.0, chance: float = 0.05) -> float | None:
    """The oracle, with the categories of the columns here: leaves, and quarters of numbers."""
    selected, begins = entry.snapshot.qi[:, entry.snapshot.selection], []
    for column, codes in zip(entry.snapshot.schema.quasi_identifiers, selected.tolist(), strict=True):
        leaves = [] if column.taxonomy is None else list(range(1, len(column.taxonomy.leaves)))
        begins.append(leaves or quarter_begins(codes))
    tables = [
        (true_relation_table(entry, at, cut), reader_relation_table(entry, at, cut)) for at, cut in enumerate(begins)
    ]
    rules = {"least_odds": least_odds, "expected": expected, "chance": chance}
    return relation_slope(
        tables, len(entry.snapshot.schema.sensitive.values), [len(cut) + 1 for cut in begins], **rules
    )


def planted(people: int = 3000, *, related: bool = True) -> Snapshot:
    """Women have d0 more often and d1 less often, older people have d2 more often; or nothing of this."""
    rng = np.random.default_rng(7)
    sex, age = rng.integers(0, 2, people), rng.integers(0, 100, people)
    pull = np.stack([1.2 * (sex == 0), -0.9 * (sex == 0), 0.02 * (age - 50), *np.zeros((3, people))]) * related
    share = np.exp(pull).cumsum(axis=0)
    value = (share / share[-1] < rng.random(people)).sum(axis=0)
    schema = Schema(quasi_identifiers=(SEX, AGE), sensitive=Sensitive(name="d", values=tuple("abcdef")))
    return Snapshot(schema, np.arange(people), np.stack([sex, age]).astype(np.int32), value.astype(np.int32))


def random_groups(snapshot: Snapshot) -> np.ndarray:
    """Groups of M people with different values, drawn without a look at quasi-identifiers."""
    order = np.random.default_rng(3).permutation(snapshot.size)
    order = order[np.argsort(snapshot.sensitive[order], kind="stable")]
    group = np.empty(snapshot.size, np.int32)
    group[order] = np.random.default_rng(4).permutation(np.arange(snapshot.size) % (snapshot.size // M))
    return group


def in_boxes(snapshot: Snapshot, group: np.ndarray) -> Entry:
    members = [
        Member(p, tuple(snapshot.qi[:, p].tolist()), int(snapshot.sensitive[p]), int(group[p]))
        for p in range(snapshot.size)
    ]
    return entry_of(snapshot.schema, members, random=Random(1))


def with_own_boxes(snapshot: Snapshot, group: np.ndarray) -> Entry:
    """The decoupled form, in which everybody's quasi-identifiers are exact and only the groups hide values."""
    entry = in_boxes(snapshot, group)
    exact = Boxes(snapshot.qi, snapshot.qi, np.zeros(snapshot.qi.shape, np.int8))
    rows = PersonRows(group.astype(np.int32), np.arange(snapshot.size, dtype=np.int32), exact)
    return replace(entry, release=replace(entry.release, person_rows=rows))


def test_a_release_that_shows_everybody_as_they_are_keeps_all() -> None:
    table = planted()
    for make in (in_boxes, with_own_boxes):
        entry = make(table, np.arange(table.size))
        assert kept(entry) == pytest.approx(1.0, abs=1e-12)
    found = RelationsKept().pairs(entry)
    assert {(0, 0, 0), (0, 0, 1), (1, 3, 2), (1, 0, 2)} <= {
        (int(a), int(c), int(v)) for a, c, v in zip(found.attribute, found.category, found.value, strict=True)
    }


def test_groups_without_a_look_at_quasi_identifiers_keep_one_in_m_with_exact_boxes_and_next_to_nothing_without() -> (
    None
):
    table = planted()
    assert kept(with_own_boxes(table, random_groups(table))) == pytest.approx(1 / M, abs=0.08)
    assert abs(kept(in_boxes(table, random_groups(table)))) < 0.25


def test_what_half_of_the_rows_keep_is_between_and_as_counted_by_loops() -> None:
    table = planted(900)
    group = random_groups(table)
    group[: table.size // 2] = table.size + np.arange(table.size // 2)
    whole = kept(with_own_boxes(table, random_groups(table)))
    for make in (in_boxes, with_own_boxes):
        _, number = np.unique(group, return_inverse=True)
        entry = make(table, number.astype(np.int32))
        assert kept(entry) == pytest.approx(by_loops(entry))
        assert whole + 0.1 < kept(entry) < 0.9


def test_the_opposite_of_the_truth_is_below_zero() -> None:
    table = planted()
    entry = in_boxes(table, np.arange(table.size))
    boxes = entry.release.boxes
    turned = np.stack([1 - boxes.low[0], 99 - boxes.low[1]])
    other = replace(entry, release=replace(entry.release, boxes=Boxes(turned, turned, boxes.missing)))
    assert kept(other) == pytest.approx(-1.0, abs=0.05)


def test_a_table_without_relations_has_nothing_to_measure() -> None:
    table = planted(related=False)
    assert np.isnan(kept(in_boxes(table, random_groups(table))))
    assert np.isnan(kept(entry_of(plain_schema(), [])))
    assert np.isnan(kept(entry_of(plain_schema(values=0), [])))


def test_withheld_people_are_part_of_the_truth() -> None:
    table = planted()
    women_with_a = (table.qi[0] == 0) & (table.sensitive == 0)
    members = [
        Member(p, tuple(table.qi[:, p].tolist()), int(table.sensitive[p]), None if women_with_a[p] else 0)
        for p in range(table.size)
    ]
    shown = np.cumsum([one.group is not None for one in members]) - 1
    members = [
        one if one.group is None else replace(one, group=int(at)) for one, at in zip(members, shown, strict=True)
    ]
    assert kept(entry_of(table.schema, members)) < 0.5


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=False), st.booleans())
def test_every_number_is_that_of_a_loop_over_people(random: Random, selects: bool) -> None:
    entry = random_entry(random, plain_schema(), people=25, groups=5, missing=True)
    if selects:
        selected = np.array([random.random() < 0.7 for _ in range(entry.snapshot.size)], np.bool_)
        entry = replace(entry, snapshot=replace(entry.snapshot, selected=selected))
    answer = entry.snapshot.answer()
    cuts = [category_cuts(*one) for one in zip(entry.snapshot.schema.quasi_identifiers, answer.qi, strict=True)]
    begins = [quarter_begins(codes) for codes in answer.qi.tolist()]
    assert [cut.tolist() for cut in cuts] == begins
    for at, table in enumerate(released_tables(entry, cuts)):
        expected = reader_relation_table(entry, at, begins[at])
        assert all(table[cell] == pytest.approx(expected.get(cell, 0.0)) for cell in np.ndindex(table.shape))
    loose = {"expected": 0.5, "chance": 1e9}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in loose.items():
            patch.setattr(relations, name.upper(), value)
        measured = RelationsKept(least_odds=1.01).measure(entry, np.random.default_rng(0))
        strict = by_loops(entry, least_odds=1.01, **loose)
        assert np.isnan(measured) if strict is None else measured == pytest.approx(strict)


@pytest.mark.parametrize("form", ["boxes", "decoupled"])
@pytest.mark.parametrize("name", WEAKEST)
def test_every_technique_in_every_form_keeps_what_a_loop_finds(name: str, form: str) -> None:
    technique = build_technique(name, WEAKEST[name])
    if form == "decoupled":
        if not technique.declaration.decouples:
            with pytest.raises(InvalidParameter, match="form"):
                decouple(technique, 5)
            return
        technique = decouple(technique, 5)
    table = planted(600)
    for entry in replay(technique, [table, table], np.random.default_rng(1)).entries:
        found = by_loops(entry)
        assert found is not None
        assert kept(entry) == pytest.approx(found)


def test_a_release_that_is_read_in_parts_keeps_the_same() -> None:
    table = planted(900)
    entry = in_boxes(table, random_groups(table))
    whole = kept(entry)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_groups, "PART", 7)
        assert kept(entry) == pytest.approx(whole, rel=1e-9)


def test_columns_that_a_release_does_not_show_are_not_lost() -> None:
    table = planted()
    release = Release(
        np.arange(table.size, dtype=np.int32),
        table.sensitive,
        Boxes(table.qi, table.qi, np.zeros(table.qi.shape, np.int8)),
        columns=("sex", "d"),
    )
    entry = replace(in_boxes(table, np.arange(table.size)), release=release, auxiliary=Auxiliary.none())
    assert kept(entry) == pytest.approx(1.0)
    assert set(RelationsKept().pairs(entry).attribute.tolist()) == {0}
    assert np.isnan(kept(replace(entry, release=replace(release, columns=("sex", "age")))))
    assert np.isnan(kept(replace(entry, release=replace(release, columns=("d",)))))


def nodes(paths: dict[str, int]) -> QuasiIdentifier:
    """A taxonomy with so many leaves under each node."""
    lines = [(f"{node}{leaf}", node, "*") for node, leaves in paths.items() for leaf in range(leaves)]
    tree = Taxonomy.from_lines(lines, name="tree")
    return QuasiIdentifier(name="tree", kind=Kind.CATEGORICAL, taxonomy=tree, hierarchical=True)


def test_a_category_is_a_leaf_or_a_node_of_the_deepest_level_that_has_few() -> None:
    nobody = np.empty(0, np.int32)
    assert category_cuts(nodes({"x": 2, "y": 3}), nobody).tolist() == [1, 2, 3, 4]
    assert category_cuts(nodes({"x": 10, "y": 4, "z": 3}), nobody).tolist() == [10, 14]
    many = nodes({chr(97 + at): 2 for at in range(20)})
    assert category_cuts(many, nobody).tolist() == list(range(2, 40, 2))  # the children of the root, however many
    assert category_cuts(nodes({"x": 1}), nobody).tolist() == []
    order = QuasiIdentifier(name="o", kind=Kind.CATEGORICAL, taxonomy=Taxonomy.flat([str(at) for at in range(40)]))
    assert category_cuts(order, np.arange(40, dtype=np.int32)).tolist() == [10, 20, 30]


@pytest.mark.parametrize(
    ("codes", "cuts"),
    [
        (range(100, 108), [102, 104, 106]),
        ([0, 0, 0, 0, 0, 1], [1]),
        ([0, 1, 1, 1, 1, 1], [1]),
        ([5, 5, 5], []),
        ([MISSING, 3, MISSING, 9], [9]),
        ([], []),
    ],
)
def test_numbers_are_cut_where_people_come_nearest_to_quarters(codes: list[int], cuts: list[int]) -> None:
    assert category_cuts(AGE, np.array(codes, np.int32)).tolist() == cuts


def test_a_parameter_out_of_range_is_refused_in_a_sentence() -> None:
    with pytest.raises(InvalidParameter, match=r"least_odds \(1\) must be above 1"):
        RelationsKept(least_odds=1)


def test_a_decoupled_series_is_measured_release_by_release() -> None:
    technique = decouple(build_technique("m-invariance", {"m": 2, "not_eligible": "blocks"}), 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relations, "EXPECTED", 0.5)
        patch.setattr(relations, "CHANCE", 1e9)
        for entry in replay(technique, small_series(4)[1], np.random.default_rng(1)).entries:
            assert kept(entry) == pytest.approx(by_loops(entry, expected=0.5, chance=1e9))
