"""From the tables of a published folder, and what its datapackage.json says of them, to the evidence for questions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reanon_core.estimate.evidence import Evidence, evidence
from reanon_core.estimate.units import read_axes, units_of_groups, units_of_people, units_of_rows
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.published_columns import COUNT, GROUP_ID

SUFFIXES = ("_min", "_max", "_missing")
if TYPE_CHECKING:
    import pyarrow as pa

WORLDS = 2
"""The least number of worlds that a release without groups keeps possible, if the manifest does not say."""


def described_columns(package: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each column by name: `order` of its labels, `nodes` of its taxonomy, `granularity`, `role`.

    The columns are under `reanon`; for a plain Data Package the `categories` of a field `<name>_min` are the order.
    """
    columns: dict[str, dict[str, Any]] = {}
    for resource in package.get("resources", ()):
        for field in resource.get("schema", {}).get("fields", ()):
            name = str(field.get("name", ""))
            if field.get("categories") and name.endswith("_min"):
                listed = [one["value"] if isinstance(one, Mapping) else one for one in field["categories"]]
                columns[name.removesuffix("_min")] = {"order": [str(label) for label in listed]}
    for name, told in package.get("reanon", {}).get("columns", {}).items():
        columns[name] = {**columns.get(name, {}), **told, "nodes": _leaves_below(told.get("taxonomy", ()))}
    return columns


def sensitive_column(names: Sequence[str], described: Mapping[str, Mapping[str, Any]], given: str | None) -> str | None:
    """The sensitive column of a published table; None if the table shows none.

    Raises: InvalidParameter if several columns could be it.
    """
    told = [name for name, column in described.items() if column.get("role") == "sensitive"]
    if given is not None or told:
        asked = given if given is not None else told[0]
        if given is not None and asked not in names:
            raise InvalidParameter(Problem("sensitive", f"be one of {', '.join(names)}", asked))
        return asked if asked in names else None
    intervals = {name.removesuffix("_min") for name in names if name.endswith("_min")}
    own = {f"{name}{suffix}" for name in intervals for suffix in SUFFIXES} | intervals | {GROUP_ID, COUNT}
    rest = [name for name in names if name not in own]
    if len(rest) > 1:
        rule = "be given, because the table has more than one column of exact values"
        raise InvalidParameter(Problem("sensitive", rule, ", ".join(rest)))
    return rest[0] if rest else None


def _leaves_below(paths: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """The leaves below each inner node; a path begins with a leaf and ends with the root."""
    nodes: dict[str, list[str]] = {}
    for leaf, *above in paths:
        for node in dict.fromkeys(above):
            if node != leaf:
                nodes.setdefault(str(node), []).append(str(leaf))
    return nodes


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
