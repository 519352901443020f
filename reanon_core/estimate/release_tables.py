"""From the tables of a published folder to the evidence that questions are answered from."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reanon_core.estimate.dictionary import described_columns, sensitive_column
from reanon_core.estimate.evidence import Evidence, evidence
from reanon_core.estimate.units import read_axes, units_of_groups, units_of_people, units_of_rows
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.published_columns import GROUP_ID

if TYPE_CHECKING:
    import pyarrow as pa

WORLDS = 2
"""The least number of worlds that a release without groups keeps possible, if the manifest does not say."""


def read_evidence(
    tables: Mapping[str, object],
    manifest: Mapping[str, Any],
    dictionary: Mapping[str, Any],
    orders: Mapping[str, Sequence[str]],
    sensitive: str | None,
) -> Evidence:
    """The evidence in the tables of a release: `table` and `counterfeits`, or `rows` and `values`.

    Raises: InvalidParameter.
    """
    if ("table" in tables) == ("rows" in tables) or ("rows" in tables) != ("values" in tables):
        raise InvalidParameter(Problem("the tables", "be a table, or rows and values", ", ".join(tables) or "none"))
    technique = manifest.get("technique", {})
    by_region = technique.get("regions", "none") != "none"
    described = described_columns(dictionary)
    shown = _arrow(tables["table"] if "table" in tables else tables["rows"])
    axes, unread = read_axes(shown, described, orders)
    if "values" in tables:
        listed = _arrow(tables["values"])
        named = sensitive_column(listed.column_names, described, sensitive)
        if named is None:
            raise InvalidParameter(Problem("the values of a decoupled release", "have a column of values"))
        return evidence(axes, *units_of_people(shown, listed, axes, named), named, unread, by_region=by_region)
    named = sensitive_column(shown.column_names, described, sensitive)
    if GROUP_ID in shown.column_names:
        invented = _arrow(tables["counterfeits"]) if "counterfeits" in tables else None
        return evidence(axes, *units_of_groups(shown, invented, axes, named), named, unread, by_region=by_region)
    worlds = int(technique.get("ell", WORLDS))
    return evidence(axes, *units_of_rows(shown, axes, named, worlds), named, unread, by_region=by_region)


def _arrow(frame: object) -> "pa.Table":
    import pyarrow as pa

    try:
        return pa.Table.from_pandas(frame, preserve_index=False) if hasattr(frame, "iloc") else pa.table(frame)
    except (TypeError, ValueError, pa.ArrowException):
        rule = "be a pandas or polars frame, or an Arrow table"
        raise InvalidParameter(Problem("a table", rule, type(frame).__name__)) from None
