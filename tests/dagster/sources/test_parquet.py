"""Parquet columns of every sensible type are coded; others are a plain sentence."""

import datetime as dt
from decimal import Decimal
from functools import partial

import pyarrow as pa
import pytest
from builders.series import declared
from builders.snapshots import KEY, parquet_reader, person, rows, sentences_of

from reanon_core.model.arrays import MISSING
from reanon_dagster.sources.snapshot_reader import read_snapshot


@pytest.fixture
def series(tmp_path):
    return partial(declared, tmp_path)


@pytest.fixture
def from_parquet(series, tmp_path):
    return parquet_reader(series, tmp_path)


@pytest.mark.parametrize(
    ("column", "settings", "codes"),
    [
        (pa.array([1, 2], pa.int8()), "{}", [1, 2]),
        (pa.array([1, 2], pa.uint64()), "{}", [1, 2]),
        (pa.array([1.0, 2.0]), "{}", [1, 2]),
        (pa.array([float("nan"), 2.0]), "{missing: separate}", [MISSING, 2]),
        (pa.array([36.6, 2.0], pa.float32()), "{granularity: 0.1}", [366, 20]),
        (pa.array([Decimal("36.60"), Decimal(2)]), "{granularity: 0.1}", [366, 20]),
        (pa.array(["1", ""]), "{missing: separate}", [1, MISSING]),
        (pa.array(["1", "2"]).dictionary_encode(), "{}", [1, 2]),
        (pa.array([None, None]), "{missing: separate}", [MISSING, MISSING]),
        (pa.array([dt.date(1970, 1, 2), None]), "{kind: date, missing: separate}", [1, MISSING]),
        (pa.array([86400] * 2, pa.timestamp("s")), "{kind: date}", [1, 1]),
        (pa.array([0, 0], pa.timestamp("ms", tz="UTC")), "{kind: date}", [0, 0]),
        (pa.array(["1970-01-02"] * 2, pa.large_string()), "{kind: date}", [1, 1]),
        (pa.array([None, None]), "{kind: date, missing: separate}", [MISSING, MISSING]),
        (pa.array([True, False]), "{kind: categorical, order: [false, true]}", [1, 0]),
        (pa.array([2, 1]), "{kind: categorical, order: [1, 2]}", [1, 0]),
        (pa.array([2.0, None]), "{kind: categorical, order: [1, 2], missing: separate}", [1, MISSING]),
        (pa.array(["e\u0301", "b"]), "{kind: categorical, order: [b, \u00e9]}", [1, 0]),
        (pa.array(["b", ""]).dictionary_encode(), "{kind: categorical, order: [b], missing: separate}", [0, MISSING]),
        (pa.array([None, None]), "{kind: categorical, order: [b], missing: separate}", [MISSING, MISSING]),
    ],
)  # fmt: skip
def test_parquet_columns_of_every_sensible_type_are_coded(from_parquet, column, settings, codes):
    read = from_parquet({"name": ["a", "b"], "age": column, "disease": ["x", "y"]}, columns={"age": settings})
    found = rows(read)
    assert [found[person("a")][0], found[person("b")][0]] == codes


@pytest.mark.parametrize(
    ("column", "settings", "problem"),
    [
        (pa.array([True]), "{}", "age (type bool) must be whole numbers; cast it in the source"),
        (pa.array([dt.date(2024, 1, 1)]), "{}", "age (type date32[day]) must be whole numbers"),
        (pa.array([float("inf")]), "{}", "age (inf in 1 row) must be less than 2147483647 steps"),
        (pa.array([3]), "{kind: date}", "age (type int64) must be dates such as 2024-03-01"),
        (pa.array([3600], pa.timestamp("s")), "{kind: date}", "age ('1970-01-01 01:00:00.000' in 1 row) must be dates"),
        (pa.array([1.5]), "{kind: categorical, order: [1]}", "age (type double) must be categories"),
        (pa.array([[1]]), "{kind: categorical, order: [1]}", "age (type list<"),
        (pa.array([[1]]), "{}", "age (type list<"),
    ],
)  # fmt: skip
def test_parquet_columns_of_a_wrong_type_are_a_plain_sentence(from_parquet, column, settings, problem):
    table = {"name": ["a"], "age": column, "disease": ["x"]}
    found = sentences_of(from_parquet, table, columns={"age": settings})
    assert found[0].startswith(problem), found


def test_sensitive_values_are_text_whatever_their_type(from_parquet):
    read = from_parquet({"name": ["a", "b"], "age": [1, 2], "disease": pa.array([7, 8])})
    assert read.snapshot.schema.sensitive.values == ("7", "8")


def test_a_file_that_is_no_parquet_file_is_a_plain_sentence(series, tmp_path):
    (tmp_path / "r1.parquet").write_bytes(b"PAR1 nonsense")
    found = sentences_of(
        read_snapshot, series("{path: '{release}.parquet', id: name}", columns={"age": "{}"}), "r1", KEY, ()
    )
    assert found == ["r1.parquet must be a parquet file that can be read; it is cut off; copy it again"]
