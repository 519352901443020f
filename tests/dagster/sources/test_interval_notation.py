"""Generalized values as others write them, read into boxes and groups."""

from pathlib import Path

import pandas as pd
import pytest

from reanon_core.model.arrays import MISSING
from reanon_core.model.coding import LEAST_CODE, MOST_CODE
from reanon_core.model.errors import InvalidSnapshot
from reanon_core.model.schema import Schema
from reanon_dagster.series.series_file import load_schema
from reanon_dagster.sources.external_releases import read_external_releases

TREE = "primary,school,any\nsecondary,school,any\nbachelor,higher,any\nmaster,higher,any\n"


def schema_of(tmp_path: Path, column: str) -> Schema:
    (tmp_path / "tree.csv").write_text(TREE)
    path = tmp_path / "schema.yaml"
    path.write_text(f"quasi_identifiers: {{qi: {column}}}\nsensitive: disease\n")
    return load_schema(path)[1]


def box(tmp_path: Path, column: str, text: object) -> tuple[int, int, int]:
    schema = schema_of(tmp_path, column)
    pd.DataFrame({"qi": [text], "disease": ["flu"]}).to_csv(tmp_path / "one.csv", index=False)
    boxes = read_external_releases([tmp_path / "one.csv"], schema).releases[0].release.boxes
    return int(boxes.low[0, 0]), int(boxes.high[0, 0]), int(boxes.missing[0, 0])


WHOLE = (LEAST_CODE, MOST_CODE)
NEW_YEAR = 19723  # 2024-01-01


@pytest.mark.parametrize(
    ("column", "text", "covered"),
    [
        ("{}", "34", (34, 34)),
        ("{}", "34.0", (34, 34)),
        ("{}", " -5 ", (-5, -5)),
        ("{}", "20-29", (20, 29)),
        ("{}", "20 – 29", (20, 29)),
        ("{}", "20..29", (20, 29)),
        ("{}", "-9--5", (-9, -5)),
        ("{}", "[20, 29]", (20, 29)),
        ("{}", "[20; 29]", (20, 29)),
        ("{}", "[20-29]", (20, 29)),
        ("{}", "[20, 30)", (20, 29)),
        ("{}", "[20,30[", (20, 29)),
        ("{}", "[20, 30[", (20, 29)),
        ("{}", "[20-30)", (20, 29)),
        ("{}", "{20, 25, 29}", (20, 29)),
        ("{}", "]19,29]", (20, 29)),
        ("{}", "(19, 29]", (20, 29)),
        ("{}", "(19.2,29.8]", (20, 29)),
        ("{}", "[65, Inf)", (65, MOST_CODE)),
        ("{}", "(-Inf,30]", (LEAST_CODE, 30)),
        ("{}", ">=65", (65, MOST_CODE)),
        ("{domain: [0, 110]}", "> 65", (66, 110)),
        ("{domain: [0, 110]}", "<18", (0, 17)),
        ("{domain: [0, 110]}", "≤18", (0, 18)),
        ("{}", "130**", (13000, 13099)),
        ("{}", "*****", WHOLE),
        ("{}", "*", WHOLE),
        ("{}", "", WHOLE),
        ("{}", "NA", WHOLE),
        ("{}", "NULL", WHOLE),
        ("{domain: [0, 110]}", "*", (0, 110)),
        ("{granularity: 0.5}", "1.5", (3, 3)),
        ("{granularity: 0.5}", "[1, 2)", (2, 3)),
        ("{granularity: 1000}", "[12000, 14000)", (12, 13)),
        ("{kind: date}", "2024-01-01", (NEW_YEAR, NEW_YEAR)),
        ("{kind: date}", "2024-01-01 00:00:00", (NEW_YEAR, NEW_YEAR)),
        ("{kind: date}", "2024-01-01 - 2024-01-31", (NEW_YEAR, NEW_YEAR + 30)),
        ("{kind: date}", "[2024-01-01, 2024-02-01)", (NEW_YEAR, NEW_YEAR + 30)),
        ("{kind: date}", "2024-01", (NEW_YEAR, NEW_YEAR + 30)),
        ("{kind: date}", "2024", (NEW_YEAR, NEW_YEAR + 365)),
        ("{kind: date}", "2024-2025", (NEW_YEAR, NEW_YEAR + 730)),
        ("{kind: date}", "*", WHOLE),
        ("{kind: categorical, taxonomy: tree.csv}", "bachelor", (2, 2)),
        ("{kind: categorical, taxonomy: tree.csv}", "school", (0, 1)),
        ("{kind: categorical, taxonomy: tree.csv}", "any", (0, 3)),
        ("{kind: categorical, taxonomy: tree.csv}", "[secondary, bachelor]", (1, 2)),
        ("{kind: categorical, taxonomy: tree.csv}", "*", (0, 3)),
        ("{kind: categorical, taxonomy: tree.csv}", "{secondary, bachelor}", (1, 2)),
        ("{kind: categorical, taxonomy: tree.csv}", "{primary; bachelor}", (0, 2)),
        ("{kind: categorical, taxonomy: tree.csv}", "primary_bachelor", (0, 2)),
        ("{kind: categorical, order: [a_b, b_c, c]}", "a_b", (0, 0)),
        ("{kind: categorical, order: [a_b, b_c, c]}", "[a_b, b_c]", (0, 1)),
        ("{kind: categorical, order: [low, mid-low, mid, high]}", "mid-low", (1, 1)),
        ("{kind: categorical, order: [low, mid-low, mid, high]}", "mid-low-high", (1, 3)),
        ("{kind: categorical, order: [low, mid-low, mid, high]}", "", (0, 3)),
        ("{kind: categorical, order: [NA, EU, AS]}", "NA", (0, 0)),
    ],
)
def test_every_notation_covers_what_it_says(tmp_path: Path, column: str, text: str, covered: tuple[int, int]) -> None:
    assert box(tmp_path, column, text) == (*covered, 0)


def test_a_star_also_covers_people_whose_value_is_missing(tmp_path: Path) -> None:
    assert box(tmp_path, "{missing: separate}", "*") == (*WHOLE, 1)
    assert box(tmp_path, "{kind: categorical, order: [a, b], missing: separate}", "*") == (0, 1, 1)
    assert box(tmp_path, "{missing: separate}", "20-29") == (20, 29, 0)


@pytest.mark.parametrize(
    ("column", "text", "rule"),
    [
        ("{}", "old", "be a number, an interval such as 20-29, [20, 29], [20, 30) or >=20, or * for any value"),
        ("{}", "2024-03-01", "be a number, an interval"),
        ("{}", "[30, 20]", "contain at least one value"),
        ("{}", "(20, 21)", "contain at least one value"),
        ("{}", "12,5", "be a number, an interval"),  # 12,000 could be either
        ("{kind: categorical, order: [a, b]}", "{a, c}", "be one of the values of its order, an interval"),
        ("{}", "34.5", "be a multiple of its granularity 1, or an interval"),
        ("{}", "99999999999", "be small enough to have a code"),
        ("{}", "Inf", "be small enough to have a code"),
        ("{kind: date}", "31.12.2024", "be a date such as 2024-03-01, an interval"),
        ("{kind: date}", "2024-13-01", "be a date such as 2024-03-01, an interval"),
        ("{kind: categorical, taxonomy: tree.csv}", "Bachelor", "be a label of its taxonomy, an interval"),
        ("{kind: categorical, order: [a, b]}", "[a, c]", "be one of the values of its order, an interval"),
    ],
)
def test_a_text_that_covers_nothing_is_a_problem(tmp_path: Path, column: str, text: str, rule: str) -> None:
    with pytest.raises(InvalidSnapshot) as error:
        box(tmp_path, column, text)
    (problem,) = error.value.problems
    assert problem.what == f"{tmp_path / 'one.csv'}: qi"
    assert problem.rule.startswith(rule)
    assert problem.value == f"{text!r} in 1 row"


def boxes_of(tmp_path: Path, column: str, frame: pd.DataFrame) -> list[tuple[int, int, int]]:
    schema = schema_of(tmp_path, column)
    frame.to_parquet(tmp_path / "some.parquet")
    boxes = read_external_releases([tmp_path / "some.parquet"], schema).releases[0].release.boxes
    return sorted(zip(boxes.low[0].tolist(), boxes.high[0].tolist(), boxes.missing[0].tolist(), strict=True))


def test_parquet_columns_of_every_sensible_type_are_read(tmp_path: Path) -> None:
    flu = {"disease": ["flu", "cold"]}
    assert boxes_of(tmp_path, "{}", pd.DataFrame({"qi": [3, 4], **flu})) == [(3, 3, 0), (4, 4, 0)]
    assert boxes_of(tmp_path, "{}", pd.DataFrame({"qi": [3.0, None], **flu})) == [(*WHOLE, 0), (3, 3, 0)]
    assert boxes_of(tmp_path, "{granularity: 0.5}", pd.DataFrame({"qi": [1.5, 2.0], **flu})) == [(3, 3, 0), (4, 4, 0)]
    days = pd.to_datetime(["2024-01-01", "2024-01-03"])
    found = [(NEW_YEAR, NEW_YEAR, 0), (NEW_YEAR + 2, NEW_YEAR + 2, 0)]
    assert boxes_of(tmp_path, "{kind: date}", pd.DataFrame({"qi": days, **flu})) == found
    labels = pd.DataFrame({"qi": pd.Categorical(["school", "master"]), **flu})
    assert boxes_of(tmp_path, "{kind: categorical, taxonomy: tree.csv}", labels) == [(0, 1, 0), (3, 3, 0)]


def test_what_a_whole_group_lacks_is_read_as_missing(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "qi_min": [10, 20, None, None],
            "qi_max": [19, 29, None, 49],
            "qi_missing": ["none", "some", "all", "none"],
            "disease": ["flu", "flu", "flu", "flu"],
        }
    )
    expected = [(MISSING, MISSING, 2), (LEAST_CODE, 49, 0), (10, 19, 0), (20, 29, 1)]
    assert boxes_of(tmp_path, "{missing: separate}", frame) == expected


def test_rows_are_grouped_by_group_id_or_else_by_their_boxes(tmp_path: Path) -> None:
    schema = schema_of(tmp_path, "{}")
    frame = pd.DataFrame({"qi": ["1-2", "[1, 2]", "1-2", "3"], "disease": ["a", "b", "c", "a"]})
    frame.to_csv(tmp_path / "by_box.csv", index=False)
    frame.assign(group_id=["x", "y", "x", "z"]).to_csv(tmp_path / "by_id.csv", index=False)
    by_box, by_id = (
        one.release
        for one in read_external_releases([tmp_path / "by_box.csv", tmp_path / "by_id.csv"], schema).releases
    )
    assert by_box.group.tolist() == [0, 0, 0, 1]
    assert by_id.group.tolist() == [0, 1, 0, 2]
    assert by_id.boxes.low.tolist() == [[1, 1, 3]]


def test_an_empty_release_shows_nobody(tmp_path: Path) -> None:
    schema = schema_of(tmp_path, "{}")
    (tmp_path / "empty.csv").write_text("qi,disease\n")
    pd.DataFrame({"qi": [], "disease": []}).to_parquet(tmp_path / "empty.parquet")
    history = read_external_releases([tmp_path / "empty.csv", tmp_path / "empty.parquet"], schema)
    assert [(one.release.size, one.release.boxes.count) for one in history.releases] == [(0, 0), (0, 0)]


def test_sensitive_values_are_numbered_as_they_first_appear(tmp_path: Path) -> None:
    schema = schema_of(tmp_path, "{}")
    for name, values in (("b", ["flu", "cold"]), ("a", ["asthma", "flu"])):
        pd.DataFrame({"qi": [1, 1], "disease": values}).to_csv(tmp_path / f"{name}.csv", index=False)
    history = read_external_releases([tmp_path / "b.csv", tmp_path / "a.csv"], schema)
    assert history.schema.sensitive.values == ("cold", "flu", "asthma")
    assert [one.release.sensitive.tolist() for one in history.releases] == [[1, 0], [2, 1]]


def test_a_minimum_above_its_maximum_is_a_problem(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qi_min": [1, 9], "qi_max": [2, 3], "disease": ["a", "b"]})
    with pytest.raises(InvalidSnapshot, match=r"qi_min \(row 2\) must be at most qi_max"):
        boxes_of(tmp_path, "{}", frame)


def test_a_column_without_a_text_is_a_problem(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qi": [[1, 2], [3]], "disease": ["a", "b"]})
    with pytest.raises(InvalidSnapshot, match=r"qi .* must be text, numbers or dates"):
        boxes_of(tmp_path, "{}", frame)
