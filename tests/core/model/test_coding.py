"""Values become codes without loss, or a sentence."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reanon_core.model.arrays import MISSING
from reanon_core.model.coding import (
    LEAST_CODE,
    MOST_CODE,
    decode,
    decode_sensitive,
    encode,
    encode_labels,
    encode_sensitive,
    grid_problem,
    named_rows,
)
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier, Sensitive
from reanon_core.model.taxonomy import Taxonomy

CODES = st.lists(st.integers(LEAST_CODE, MOST_CODE), max_size=30)
GRANULARITIES = st.sampled_from(["1", "5", "1000", "0.1", "0.25", "0.01", "2.5", "0.000001", "999999", "0.3"])


def numeric(**given: object) -> QuasiIdentifier:
    return QuasiIdentifier(name="age", **given)  # type: ignore[arg-type]


def category(**given: object) -> QuasiIdentifier:
    taxonomy = Taxonomy.flat(["low", "middle", "high"])
    return QuasiIdentifier(name="level", kind=Kind.CATEGORICAL, taxonomy=taxonomy, **given)  # type: ignore[arg-type]


def sentence(coded) -> str:
    assert len(coded.problems) == 1
    return coded.problems[0].sentence()


@settings(deadline=None)
@given(CODES, GRANULARITIES)
def test_numbers_survive_decode_and_encode_on_any_grid(codes, granularity):
    column = numeric(granularity=Decimal(granularity))
    given_codes = np.array(codes, dtype=np.int32)
    again = encode(column, decode(column, given_codes))
    assert not again.problems
    assert np.array_equal(again.codes, given_codes)


@settings(deadline=None)
@given(CODES, GRANULARITIES)
def test_a_decoded_number_is_the_float_nearest_to_the_exact_decimal(codes, granularity):
    column = numeric(granularity=Decimal(granularity))
    values = decode(column, np.array(codes, dtype=np.int32))
    assert [float(value) for value in values] == [float(code * Decimal(granularity)) for code in codes]


@settings(deadline=None)
@given(st.lists(st.dates(), max_size=30))
def test_dates_survive_encode_and_decode(dates):
    column = QuasiIdentifier(name="admitted", kind=Kind.DATE)
    values = np.array(dates, dtype="datetime64[D]")
    coded = encode(column, values)
    assert np.array_equal(decode(column, coded.codes), values)


@settings(deadline=None)
@given(st.lists(st.sampled_from([None, "low", "middle", "high"])))
def test_categories_survive_encode_and_decode_missing_ones_too(labels):
    column = category(missing=Missing.SEPARATE)
    values = np.array(labels, dtype=object)
    coded = encode(column, values, np.array([label is not None for label in labels], dtype=bool))
    assert not coded.problems
    assert list(decode(column, coded.codes)) == labels


@settings(deadline=None)
@given(st.lists(st.lists(st.text(min_size=1), min_size=1, unique=True), min_size=1, max_size=5))
def test_known_sensitive_values_keep_their_codes_and_new_ones_follow_in_sorted_order(releases):
    column = Sensitive(name="disease")
    for labels in releases:
        before = column.values
        coded, column = encode_sensitive(column, np.arange(len(labels)), labels)
        assert column.values[: len(before)] == before
        assert list(column.values[len(before) :]) == sorted(set(labels) - set(before))
        assert list(decode_sensitive(column, coded.codes)) == labels


def test_a_whole_granularity_is_published_as_whole_numbers_and_any_other_as_decimals():
    assert decode(numeric(), np.array([3], np.int32)).dtype == np.int64
    tenths = decode(numeric(granularity=Decimal("0.1")), np.array([3], np.int32))
    assert tenths.dtype == np.float64
    assert tenths[0] == 0.3


def test_a_date_is_coded_as_days_since_1970():
    column = QuasiIdentifier(name="admitted", kind=Kind.DATE)
    assert encode(column, np.array(["1970-01-01", "1969-12-31", "2024-03-01"], "M8[s]")).codes.tolist() == [
        0,
        -1,
        19783,
    ]


def test_floats_that_are_whole_numbers_are_coded_like_whole_numbers():
    assert encode(numeric(), np.array([21.0, 22.0])).codes.tolist() == [21, 22]


def test_whole_numbers_on_a_grid_of_fractions_are_coded_exactly():
    assert encode(numeric(granularity=Decimal("0.25")), np.array([21, -1])).codes.tolist() == [84, -4]


@pytest.mark.parametrize(
    ("granularity", "values", "said"),
    [
        (
            "1",
            [21.5, 22.0, 22.5],
            "age (21.5, 22.5 in 2 rows) must be a multiple of its granularity 1; granularity: 0.5",
        ),
        ("5", [20, 21], "age (21 in 1 row) must be a multiple of its granularity 5; granularity: 1 would help"),
        ("0.1", [0.25], "age (0.25 in 1 row) must be a multiple of its granularity 0.1; granularity: 0.05 would help"),
        ("1", [1 / 3], "age (0.3333333333333333 in 1 row) must be a multiple of its granularity 1; round the values"),
    ],
)
def test_a_value_off_the_grid_is_a_problem_that_says_which_granularity_would_help(granularity, values, said):
    assert sentence(encode(numeric(granularity=Decimal(granularity)), np.array(values))).startswith(said)


def test_at_most_five_values_are_shown_of_a_problem():
    said = sentence(encode(numeric(domain=(0, 9)), np.arange(20, 28)))
    assert said == (
        "age (20, 21, 22, 23, 24 and 3 more in 8 rows) must lie in its domain, from 0 to 9; "
        "correct the data, write it as the nearest value of the domain, or widen the domain by whole bins"
    )


def test_a_date_outside_its_domain_is_shown_as_a_date():
    column = QuasiIdentifier(name="admitted", kind=Kind.DATE, domain=(0, 31))
    said = sentence(encode(column, np.array(["1971-02-03"], "M8[D]")))
    assert said.startswith("admitted (1971-02-03 in 1 row) must lie in its domain, from 1970-01-01 to 1970-02-01")


def test_a_missing_value_does_not_break_the_domain():
    coded = encode(numeric(domain=(10, 20), missing=Missing.SEPARATE), np.array([0, 15]), np.array([False, True]))
    assert not coded.problems
    assert coded.codes.tolist() == [MISSING, 15]


@pytest.mark.parametrize("value", [MOST_CODE + 1, LEAST_CODE - 1, 2**62, -(2**62), 1e300, float("inf"), -float("inf")])
@pytest.mark.parametrize("granularity", ["1", "0.5"])
def test_a_number_whose_code_does_not_fit_is_a_problem(value, granularity):
    said = sentence(encode(numeric(granularity=Decimal(granularity)), np.array([1, value])))
    assert "must be less than 2147483647 steps of its granularity" in said


@pytest.mark.parametrize("code", [LEAST_CODE, MOST_CODE])
def test_the_first_and_the_last_code_fit(code):
    assert encode(numeric(), np.array([code])).codes.tolist() == [code]


def test_a_date_that_does_not_fit_is_a_problem():
    column = QuasiIdentifier(name="admitted", kind=Kind.DATE)
    assert "must be a date" in sentence(encode(column, np.array([2**40], "M8[D]")))


def test_an_empty_value_is_a_problem_that_names_its_rows_unless_missing_is_separate():
    values, valid = np.array([1, 2, 3]), np.array([True, False, False])
    assert sentence(encode(numeric(), values, valid)) == (
        "age (empty in rows 2 and 3) must have a value in every row; "
        "fill it in, or set missing: separate to publish empty values as such"
    )
    assert encode(numeric(missing=Missing.SEPARATE), values, valid).codes.tolist() == [1, MISSING, MISSING]


def test_nan_and_nat_are_empty():
    dates = QuasiIdentifier(name="admitted", kind=Kind.DATE, missing=Missing.SEPARATE)
    assert encode(dates, np.array(["NaT", "1970-01-02"], "M8[D]")).codes.tolist() == [MISSING, 1]
    assert encode(numeric(missing=Missing.SEPARATE), np.array([np.nan, 2.0])).codes.tolist() == [MISSING, 2]


def test_what_stands_for_a_missing_value_is_no_number():
    fractions = numeric(granularity=Decimal("0.5"))
    dates = QuasiIdentifier(name="admitted", kind=Kind.DATE)
    codes = np.array([MISSING], np.int32)
    assert np.isnan(decode(fractions, codes)[0])
    assert np.isnat(decode(dates, codes)[0])
    assert decode(category(), codes)[0] is None
    assert decode(numeric(), codes)[0] == 0


def test_an_unknown_category_is_a_problem_but_an_unused_label_is_not():
    labels = ["low", "never", "odd"]
    assert not encode_labels(category(), np.array([0, 0]), labels).problems
    assert sentence(encode_labels(category(), np.array([0, 2, 2]), labels)).startswith(
        "level ('odd' in 2 rows) must be one of the values of its order"
    )


def test_a_category_may_be_both_unknown_and_empty():
    coded = encode_labels(category(), np.array([-1, 0, 1]), ["low", "odd"])
    assert [problem.sentence().split(" must ")[0] for problem in coded.problems] == [
        "level ('odd' in 1 row)",
        "level (empty in row 1)",
    ]


def test_declared_sensitive_values_are_closed():
    column = Sensitive(name="disease", values=("flu", "cold"), closed=True)
    coded, same = encode_sensitive(column, np.array([0, 1, 1]), ["flu", "gout"])
    assert same is column
    assert sentence(coded).startswith("disease ('gout' in 2 rows) must be one of the declared values")


def test_an_empty_sensitive_value_is_always_a_problem():
    coded, _ = encode_sensitive(Sensitive(name="disease"), np.array([0, -1]), ["flu"])
    assert sentence(coded).startswith("disease (empty in row 2) must have a value in every row")


def test_a_log_shows_no_value_of_a_problem():
    coded = encode(numeric(domain=(0, 9)), np.array([77]))
    assert "77" not in coded.problems[0].sentence(private=False)


def test_an_empty_table_is_coded():
    empty = np.empty(0)
    assert encode(numeric(domain=(0, 9)), empty).codes.size == 0
    assert encode_labels(category(), empty.astype(np.int32), []).codes.size == 0
    assert encode_sensitive(Sensitive(name="s"), empty.astype(np.int32), [])[0].codes.size == 0


def test_the_input_is_not_touched():
    values = np.array([1, 2, 3])
    values.flags.writeable = False
    encode(numeric(missing=Missing.SEPARATE), values, np.array([True, False, True]))
    assert values.tolist() == [1, 2, 3]


def test_rows_are_counted_from_one_and_at_most_five_are_named():
    assert named_rows(np.array([False, True])) == "row 2"
    assert named_rows(np.array([True] * 5)) == "rows 1, 2, 3, 4 and 5"
    assert named_rows(np.array([True] * 7)) == "rows 1, 2, 3, 4, 5 and 2 more"


@pytest.mark.parametrize("granularity", ["0", "-1", "1234567", "0.1234567"])
def test_a_granularity_is_positive_and_has_at_most_six_digits(granularity):
    assert grid_problem("age", Decimal(granularity)) is not None
    assert grid_problem("age", Decimal(2000000)) is None
