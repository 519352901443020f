"""Estimates from releases that are empty, lack values or do not fit together, and for questions at the edge."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from reanon_core.estimate.questions import ReleaseEstimates
from reanon_core.model.errors import InvalidParameter

TABLE = pd.DataFrame(
    {"group_id": [0, 0, 1, 1], "age_min": [20, 20, 30, 30], "age_max": [29, 29, 39, 39], "ill": ["x", "y", "x", "z"]}
)


def counterfeits(**given: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"group_id": [], "count": []} | given, dtype="int32")


def test_an_unknown_value_is_an_error_and_one_that_no_row_shows_is_said() -> None:
    asked = ReleaseEstimates(table=TABLE)
    with pytest.raises(InvalidParameter, match=r"ill \(X\) must be one of x, y, z"):
        asked.count({"ill": ["x", "X"]})
    declared = {"reanon": {"columns": {"ill": {"role": "sensitive", "values": ["x", "X"]}}}}
    for known in (ReleaseEstimates(table=TABLE, dictionary=declared), asked.knowing(["X"])):
        assert known.count({"ill": ["x", "X"]}).value == 2
        assert known.count({"ill": ["x", "X"]}).notes == ("no row shows 'X'",)
        assert "no row shows 'X'" in known.share({"ill": "X"}).notes
        assert not known.count({"ill": "x"}).notes


def test_a_range_holds_no_value_beyond_its_ends() -> None:
    asked = ReleaseEstimates(table=TABLE)
    assert asked.count({"age": (None, 29.5)}).value == asked.count({"age": (None, 29)}).value == 2
    assert asked.count({"age": (29.5, None)}).value == 2
    assert asked.count({"age": (29.2, 29.8)}).value == 0
    tenths = {"reanon": {"columns": {"age": {"granularity": 0.1}}}}
    exact = ReleaseEstimates(table=TABLE.assign(age_min=0.3, age_max=0.3), dictionary=tenths)
    assert exact.count({"age": (0.1 + 0.2, None)}).value == 4


def test_a_quantile_of_dates_lies_among_them() -> None:
    days = [date(1960, 1, 1), date(1960, 1, 1), date(1980, 1, 1), date(1980, 1, 1)]
    shown = TABLE[["group_id", "ill"]].assign(born_min=days, born_max=days)
    first, last = ((day - date(1970, 1, 1)).days for day in (days[0], days[-1]))
    low, high = (ReleaseEstimates(table=shown).quantile("born", q) for q in (0.25, 0.75))
    assert first == low.low <= low.value <= last
    assert first <= high.value <= high.high == last
    assert low.value < high.value


def test_no_quantile_is_below_every_interval() -> None:
    told = ReleaseEstimates(table=TABLE).quantile("age", 0.05)
    assert 20 <= told.low <= told.value <= told.high <= 39


@pytest.mark.parametrize("question", ["mean", "quantile"])
def test_no_one_has_neither_mean_nor_quantile(question: str) -> None:
    for table, where in ((TABLE, {"ill": "q"}), (TABLE.iloc[:0], {})):
        with pytest.raises(InvalidParameter, match="the conditions must be met by someone"):
            getattr(ReleaseEstimates(table=table).knowing("q"), question)("age", where=where)


def test_an_empty_release_counts_no_one() -> None:
    empty = ReleaseEstimates(table=TABLE.iloc[:0], counterfeits=counterfeits())
    assert (empty.size, empty.count({"age": (20, 30)}).value, len(empty.counts("ill"))) == (0, 0, 0)
    assert empty.share({"age": (20, 30)}).notes == ("the release shows no one who meets the conditions",)


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_a_column_that_everyone_lacks_is_met_by_no_one(nothing: object) -> None:
    shown = TABLE.assign(age_min=nothing, age_max=nothing, age_missing="all")
    assert ReleaseEstimates(table=shown).count({"age": (20, 30)}).high == 0
    assert ReleaseEstimates(table=shown).count({"ill": "x"}).value == 2


def test_where_some_lack_a_value_their_number_is_estimated() -> None:
    two = TABLE.assign(age_missing=["some", "some", "none", "none"])
    assert ReleaseEstimates(table=two).count({"age": (20, 39)}).value == pytest.approx(3)  # one of two lacks it
    rng = np.random.default_rng(1)
    lacks = rng.random((400, 5)) < 0.2
    words = np.where(lacks.all(axis=1), "all", np.where(lacks.any(axis=1), "some", "none"))
    shown = pd.DataFrame({"group_id": np.repeat(np.arange(400), 5), "ill": list("vwxyz") * 400})
    ends = [None if word == "all" else 20 for word in words.repeat(5)]
    shown = shown.assign(age_min=ends, age_max=ends, age_missing=words.repeat(5))
    told = ReleaseEstimates(table=shown).count({"age": 20})
    assert told.covers(int((~lacks).sum()))
    assert told.value == pytest.approx((~lacks).sum(), rel=0.03)


def test_a_release_of_counterfeits_alone_has_no_people() -> None:
    asked = ReleaseEstimates(table=TABLE, counterfeits=counterfeits(group_id=[0, 1], count=[2, 2]))
    assert asked.count({"ill": "x"}).value == 0


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        (
            {"table": TABLE, "counterfeits": counterfeits(group_id=[7], count=[1])},
            "the counterfeits must belong to groups of the other table, and group_id 7 is not there",
        ),
        (
            {"table": TABLE, "counterfeits": counterfeits(group_id=[0], count=[3])},
            "a group has more of them than rows",
        ),
        ({"table": TABLE, "counterfeits": TABLE[["group_id"]]}, r"count \(group_id\) must be a column"),
        (
            {"rows": TABLE.drop(columns="ill"), "values": TABLE[["group_id", "ill"]].assign(count=1).iloc[:2]},
            "the rows must belong to groups of the other table",
        ),
        ({"table": TABLE.assign(ill=["x", None, "y", "z"])}, "the sensitive column must have a value in every row"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(tables: dict[str, pd.DataFrame], sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        ReleaseEstimates(**tables)
