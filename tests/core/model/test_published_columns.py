"""The columns of a published table: names, order, values; and what a box contains."""

import numpy as np
import pytest

from reanon_core.compiled import compiled
from reanon_core.model.arrays import MISSING
from reanon_core.model.published_columns import interval_names, published_columns, published_values
from reanon_core.model.release import ALL_MISSING, ANYTHING, NONE_MISSING, SOME_MISSING, Boxes, Release, covers
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.taxonomy import Taxonomy

SCHEMA = Schema(
    quasi_identifiers=(
        QuasiIdentifier(name="age", missing=Missing.SEPARATE),
        QuasiIdentifier(
            name="town",
            kind=Kind.CATEGORICAL,
            taxonomy=Taxonomy.from_lines([("a", "north", "*"), ("b", "north", "*"), ("c", "south", "*")], name="town"),
            hierarchical=True,
        ),
    ),
    sensitive=Sensitive(name="disease", values=("flu", "gastritis")),
    other=("ward",),
    other_values=(("", "w"),),
)


def shown(release: Release) -> dict[str, list[object]]:
    """The published table, column by column."""
    return {
        column.name: [None if values.missing[at] else values.values[at] for at in values.positions(slice(None))]
        for column, values in published_values(release, SCHEMA)
    }


def test_the_columns_of_a_table_come_in_the_order_of_the_schema() -> None:
    names = [column.name for column in published_columns(SCHEMA)]
    assert names == ["group_id", "age_min", "age_max", "age_missing", "town_min", "town_max", "town", "disease", "ward"]
    assert interval_names("age") == ("age_min", "age_max", "age_missing")


def test_a_release_without_groups_shows_only_its_own_columns() -> None:
    names = [column.name for column in published_columns(SCHEMA, ("town", "ward"), grouped=False)]
    assert names == ["town_min", "town_max", "town", "ward"]


def test_the_values_of_a_table_are_those_of_the_codes() -> None:
    low, high = np.array([[30, MISSING], [0, 2]]), np.array([[39, MISSING], [1, 2]])
    boxes = Boxes(low, high, np.array([[SOME_MISSING, ALL_MISSING], [NONE_MISSING, NONE_MISSING]]))
    release = Release(np.array([1, 0, 0], np.int32), np.array([1, 0, 1]), boxes, np.array([[0, 1, 1]], np.int32))
    assert shown(release) == {
        "group_id": [1, 0, 0],
        "age_min": [None, 30, 30],
        "age_max": [None, 39, 39],
        "age_missing": ["all", "some", "some"],
        "town_min": ["c", "a", "a"],
        "town_max": ["c", "b", "b"],
        "town": ["c", "north", "north"],
        "disease": ["gastritis", "flu", "gastritis"],
        "ward": [None, "w", "w"],
    }


@pytest.mark.parametrize(
    ("box", "code", "inside"),
    [
        ((3, 5, NONE_MISSING), 3, True),
        ((3, 5, NONE_MISSING), 6, False),
        ((3, 5, NONE_MISSING), MISSING, False),
        ((3, 5, SOME_MISSING), MISSING, True),
        ((3, 5, SOME_MISSING), 5, True),
        ((MISSING, MISSING, ALL_MISSING), MISSING, True),
        ((3, 5, ALL_MISSING), 4, False),
        (ANYTHING, -7, True),
        (ANYTHING, MISSING, True),
    ],
)
def test_a_box_contains_the_codes_of_its_interval_and_missing_ones_by_its_sign(
    box: tuple[int, int, int], code: int, inside: bool
) -> None:
    assert covers(*box, code) is inside
    assert compiled(covers)(*box, code) == inside
    low, high, missing = (np.array([[side]]) for side in box)
    assert Boxes(low, high, missing).contains(0, np.array([code], np.int32)) is inside
