"""What a folder's datapackage.json says of its columns, as far as estimates need it."""

from collections.abc import Mapping, Sequence
from typing import Any

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.published_columns import COUNT, GROUP_ID

SUFFIXES = ("_min", "_max", "_missing")


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
