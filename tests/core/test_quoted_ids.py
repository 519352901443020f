"""Problems of a table quote values, and no id."""

import pyarrow as pa
import pytest

from reanon_core.model.errors import Problem
from reanon_core.tables.ids import HIDDEN, without_ids

TABLE = pa.table({"patient": ["P01.A", "P02.B"], "born": ["2001-01-01", "x"]})


def shown(value: str, table: pa.Table = TABLE) -> str | None:
    ids = table["patient"] if "patient" in table.column_names else None
    (problem,) = without_ids([Problem("born", "be dates", value)], ids)
    return problem.value


@pytest.mark.parametrize("value", ["'n/a' in 1 row", "'03-Mar-2024' in 2 rows", "'12 years' in 1 row", "7 in 1 row"])
def test_what_is_no_id_is_quoted(value: str) -> None:
    assert shown(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "'P02.B' in 1 row",  # an id of the table
        "'Q77.C' in 1 row",  # it looks like one
        "'Zacharias-000004' in 1 row",  # the row is damaged, and its id is in this column only
        "'000004x' in 1 row",
    ],
)
def test_what_is_an_id_or_looks_like_one_is_not_quoted(value: str) -> None:
    assert shown(value) == HIDDEN


def test_without_the_column_of_ids_no_text_is_quoted() -> None:
    assert shown("'Mary Smith' in 1 row", TABLE.drop_columns(["patient"])) == HIDDEN
    assert shown("41 in 1 row", TABLE.drop_columns(["patient"])) == "41 in 1 row"


def test_ids_that_are_no_text_leave_the_other_rules() -> None:
    table = pa.table({"patient": pa.array([[1], [2]]), "born": ["a", "b"]})
    assert shown("'Zacharias-000004' in 1 row", table) == HIDDEN
    assert shown("'n/a' in 1 row", table) == "'n/a' in 1 row"
