"""The predicates under `releases.select`: conditions over the columns of the source, and nothing else."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reanon_core.model.errors import InvalidSchema, Problem, require

TABLE = "snapshot"
_EXAMPLE = "such as age > 30 and city = 'Bonn'"
_EXPRESSIONS = {
    "COMPARISON",
    "CONJUNCTION",
    "CONSTANT",
    "COLUMN_REF",
    "OPERATOR",
    "BETWEEN",
    "CAST",
    "CASE",
    "FUNCTION",
}
_OPERATORS = {"+", "-", "*", "/", "//", "%", "||", "~~", "!~~", "~~*", "!~~*", "^@"}
_FUNCTIONS = {
    *("abs", "round", "floor", "ceil", "ceiling", "mod", "least", "greatest", "ifnull", "nullif"),
    *(
        "lower",
        "upper",
        "trim",
        "ltrim",
        "rtrim",
        "length",
        "left",
        "right",
        "substr",
        "substring",
        "concat",
        "replace",
    ),
    *("starts_with", "ends_with", "prefix", "suffix", "contains", "regexp_matches", "regexp_full_match", "like_escape"),
    *("year", "quarter", "month", "week", "day", "date_part", "date_trunc", "date_diff", "make_date"),
}


@dataclass(frozen=True)
class Selection:
    """The people whom one release selects."""

    release: str
    text: str
    """The predicate as written."""
    columns: tuple[str, ...]
    """The columns that it uses."""

    @property
    def key(self) -> str:
        """The key of the predicate in series.yaml."""
        return key_of(self.release)


def key_of(release: str) -> str:
    """The key of a release's predicate in series.yaml."""
    return f"releases.select.{release}"


def parse_selections(select: Mapping[str, str]) -> dict[str, Selection]:
    """The selection of each release, from its predicate.

    Raises: InvalidSchema with every problem at once.
    """
    if not select:
        return {}
    selections: dict[str, Selection] = {}
    problems: list[Problem] = []
    for release, text in select.items():
        try:
            selections[release] = _parse(release, text.strip())
        except InvalidSchema as error:
            problems += error.problems
    require(problems, InvalidSchema)
    return selections


def _parse(release: str, text: str) -> Selection:
    """One predicate, if it is a single expression of comparisons and harmless functions.

    It is parsed into a tree and never run: the allowed expressions are listed, and everything else is refused.
    """
    tree = _tree(text)
    if tree.get("error"):
        reason = f"it cannot be parsed: {tree.get('error_message')}"
        raise InvalidSchema(Problem(key_of(release), f"be a condition, {_EXAMPLE}", text, reason))
    node = tree["statements"][0]["node"] if len(tree["statements"]) == 1 else {}
    alone = node.get("type") == "SELECT_NODE" and not any(
        node[part] for part in ("modifiers", "group_expressions", "group_sets", "having", "sample", "qualify")
    )
    if not alone:
        raise InvalidSchema(Problem(key_of(release), f"be one condition and nothing else, {_EXAMPLE}", text))
    columns: dict[str, None] = {}
    for part in _expressions(node["where_clause"]):
        if forbidden := _forbidden(part):
            rule = "use only comparisons, arithmetic and plain functions of the snapshot's own columns"
            raise InvalidSchema(Problem(key_of(release), rule, text, f"{forbidden} is not allowed"))
        if part["class"] == "COLUMN_REF":
            columns[part["column_names"][0]] = None
    return Selection(release, text, tuple(columns))


def _tree(text: str) -> dict[str, Any]:
    import duckdb

    with duckdb.connect(":memory:", config={"enable_external_access": "false"}) as connection:
        query = f"SELECT * FROM {TABLE} WHERE (\n{text}\n)"  # noqa: S608  it is parsed, not run
        found = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    return dict(json.loads(found[0])) if found else {"error": True, "error_message": "no answer"}


def _expressions(node: object) -> Iterator[dict[str, Any]]:
    """Every expression in a tree, the tree itself first."""
    if isinstance(node, dict):
        if "class" in node:
            yield node
        for part in node.values():
            yield from _expressions(part)
    elif isinstance(node, list):
        for part in node:
            yield from _expressions(part)


def _forbidden(part: Mapping[str, Any]) -> str | None:
    """What is not allowed about an expression, if anything."""
    if part["class"] not in _EXPRESSIONS:
        return f"a {str(part['class']).lower()}"
    if part["class"] == "FUNCTION":
        name = str(part["function_name"])
        known = name in (_OPERATORS if part["is_operator"] else _FUNCTIONS) or name in _FUNCTIONS
        return None if known and not part["schema"] and not part["catalog"] else f"the function {name}"
    if part["class"] == "COLUMN_REF" and len(part["column_names"]) != 1:
        return f"the name {'.'.join(part['column_names'])}"
    return None
