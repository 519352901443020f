"""Numbers with decimal commas, alone, in intervals and in sets; two readings are refused."""

import pytest

from reanon_dagster.sources.value_notation import Ambiguous, with_decimal_points


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("12,5", "12.5"),
        ("-12,5", "-12.5"),
        ("12", "12"),
        ("12,000", "12.000"),
        ("1,5-2,5", "1.5-2.5"),
        (">=12,5", ">=12.5"),
        ("[1,5; 2,5[", "[1.5; 2.5["),
        ("[1,5, 2,5[", "[1.5, 2.5["),
        ("[1,5-2,5]", "[1.5-2.5]"),
        ("[1,5,2,5]", "[1.5; 2.5]"),
        ("[1, 2]", "[1, 2]"),
        ("(1,2]", "(1,2]"),
        ("(19.956,31.978]", "(19.956,31.978]"),
        ("[19.956,42.5]", "[19.956,42.5]"),
        ("{1,5; 2}", "{1.5; 2}"),
        ("{1,5, 2}", "{1.5, 2}"),
        ("{1}", "{1}"),
        ("17.5", "17.5"),
        ("*", "*"),
    ],
)
def test_a_decimal_comma_becomes_a_point(written: str, read: str) -> None:
    assert with_decimal_points(written) == read


@pytest.mark.parametrize("written", ["12.000", "1.234,5", "[12.000,13.000]", "[1,5,2]", "{1,5}", "[12.000; 13.000]"])
def test_what_has_two_readings_is_refused(written: str) -> None:
    with pytest.raises(Ambiguous, match="be readable in one way"):
        with_decimal_points(written)
