"""Arguments of the wrong type are sentences of ours, all at once, and never an error from inside another library."""

import pandas as pd
import pytest

import reanon_core as reanon

RIGHT = {
    "id": "patient",
    "sensitive": "disease",
    "quasi_identifiers": {"age": reanon.Numeric()},
    "technique": reanon.MInvariance(m=2),
}
FRAME = pd.DataFrame({"patient": list("abcd"), "age": [20, 30, 40, 50], "disease": ["flu", "cold", "flu", "cold"]})


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"technique": "m-invariance"}, "technique (str) must be a technique with its parameters"),
        ({"technique": reanon.MInvariance}, "technique (MInvariance) must be a technique with its parameters"),
        ({"quasi_identifiers": ["age"]}, "quasi_identifiers (list) must be a dict"),
        ({"quasi_identifiers": {"age": "numeric"}}, "quasi_identifiers: age (str) must be a Numeric, a Date"),
        ({"sensitive": ["disease"]}, "sensitive (list) must be the name of one column"),
        ({"id": None}, "id (NoneType) must be the name of the column"),
        ({"other": "ward"}, "other (str) must be a list of column names"),
        ({"checks": ["k-anonymity"]}, "checks (str) must hold checks"),
        ({"ends": "round"}, "ends ('round') must be grid or exact"),
        ({"ends": None}, "ends (None) must be grid or exact"),
        ({"memory": "x"}, "memory (str) must be True or False"),
        ({"unsafe_seed": -1}, "unsafe_seed (-1) must be None or a whole number of at least 0"),
        ({"unsafe_seed": "x"}, "unsafe_seed (x) must be None or a whole number of at least 0"),
    ],
)
def test_a_wrong_argument_of_a_series_is_a_sentence(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(reanon.InvalidParameter) as raised:
        reanon.Series(**{**RIGHT, **wrong})  # type: ignore[arg-type]
    assert sentence in str(raised.value)


def test_all_wrong_arguments_are_reported_at_once() -> None:
    with pytest.raises(reanon.InvalidParameter) as raised:
        reanon.Series(**{**RIGHT, "id": 5, "sensitive": 6, "unsafe_seed": -1})  # type: ignore[arg-type]
    assert len(str(raised.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"name": ""}, "name ('') must be a text that is not empty"),
        ({"name": 5}, "name (5) must be a text"),
        ({"name": "r1", "columns": "age"}, "columns (str) must be None or a list of column names"),
        ({"name": "r1", "columns": 5}, "columns (int) must be None or a list of column names"),
    ],
)
def test_a_wrong_argument_of_a_release_is_a_sentence(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(reanon.InvalidParameter) as raised:
        reanon.Series(**RIGHT).publish(FRAME, **given)  # type: ignore[arg-type]
    assert sentence in str(raised.value)


def test_one_column_is_no_frame() -> None:
    with pytest.raises(reanon.InvalidSnapshot, match="be a pandas or polars frame, or an Arrow table"):
        reanon.Series(**RIGHT).publish(FRAME["age"], name="r1")  # type: ignore[arg-type]


def test_a_path_is_no_taxonomy() -> None:
    with pytest.raises(reanon.InvalidSchema, match="be a Taxonomy or a list of lines"):
        reanon.Series(**{**RIGHT, "quasi_identifiers": {"age": reanon.Categorical(taxonomy="x.csv")}})  # type: ignore[arg-type]
