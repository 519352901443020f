"""The rules of a series for its snapshots, as expectations. Reading enforces them; here they are judged once more."""

from collections.abc import Iterator, Sequence

import numpy as np

from reanon_core.model.coding import decode
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier
from reanon_dagster.series.expectations import CRITICAL, Expectation
from reanon_dagster.series.series import Series


def snapshot_rules(series: Series, release: str, present: Sequence[str]) -> Iterator[Expectation]:
    """The rules for the snapshot of a release that has these columns."""
    schema, person, secret = series.schema, series.config.source.id, series.schema.sensitive.name
    required = series.required_columns(release)
    for name in (person, *(name for name in schema.columns if name in required)):
        yield _rule("to_exist", name)
    for name in (person, secret):
        yield _rule("values_to_not_be_null", name)
    yield _rule("values_to_be_unique", person)
    for column in schema.quasi_identifiers:
        if column.name in required or column.name in present:
            yield from _column_rules(column)
    yield _rule("values_to_not_match_regex", secret, "not begin or end with a space", regex=r"^\s|\s$")
    if schema.sensitive.closed:
        values = list(schema.sensitive.values)
        yield _rule("values_to_be_in_set", secret, "be one of the declared values", value_set=values)


def size_rule(before: int, allowed: int) -> Expectation:
    """The number of people is close to what it was before: it differs by at most so many."""
    limits = {"min_value": max(0, before - allowed), "max_value": before + allowed}
    return Expectation("series", "expect_table_row_count_to_be_between", limits, CRITICAL)


def _column_rules(column: QuasiIdentifier) -> Iterator[Expectation]:
    name = column.name
    if column.missing is Missing.REFUSE:
        yield _rule("values_to_not_be_null", name)
    if column.kind is Kind.CATEGORICAL:
        rule = "be a leaf of its taxonomy" if column.hierarchical else "be one of the values of its order"
        leaves = column.taxonomy.leaves if column.taxonomy else ()
        yield _rule("values_to_be_in_set", name, rule, value_set=list(leaves))
        return
    if column.kind is Kind.DATE:
        yield _rule("values_to_be_in_type_list", name, "be a date", type_list=["date"])
    else:
        # Multiples of a granularity such as 0.5 or 5 are left to reading: no expectation knows them.
        decimals = max(0, -int(column.granularity.normalize().as_tuple().exponent))
        rule = f"be a number with {decimals} decimals at most" if decimals else "be a whole number"
        pattern = rf"^[+-]?[0-9]+(?:\.[0-9]{{0,{decimals}}}0*)?$"
        yield _rule("values_to_match_regex", name, rule, regex=pattern)
    if column.bounds is not None:
        low, high = decode(column, np.array(column.bounds, dtype=np.int32)).tolist()
        yield _rule("values_to_be_between", name, f"lie from {low} to {high}", min_value=low, max_value=high)


def _rule(what: str, column: str, rule: str | None = None, **arguments: object) -> Expectation:
    description = f"{column} must {rule}" if rule else None
    return Expectation("series", f"expect_column_{what}", {"column": column, **arguments}, description=description)
