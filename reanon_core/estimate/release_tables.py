"""The tables of a published folder: the evidence that questions are answered from, and a DuckDB view.

What its datapackage.json says of the columns is read as far as estimates need it. The view has a weight for each row,
so that sums of weights count real people.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reanon_core.estimate.absences import absences
from reanon_core.estimate.bucket_regression import are_balanced
from reanon_core.estimate.evidence import Evidence, evidence
from reanon_core.estimate.people import MIDDLE
from reanon_core.estimate.units import ShownValues, read_axes, units_of_groups, units_of_people, units_of_rows
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.published_columns import COUNT, GROUP_ID

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_OF_REGIONS = 25
"""A table with fewer new rows than this, times values, times m, is not cut into regions."""
TELLING = ("pad",)
"""What may happen to frequent values so that some values of a bucket are likelier to be counterfeits than others."""
SUFFIXES = ("_min", "_max", "_missing")

WORLDS = 2
"""The least number of worlds that a release without groups keeps possible, if the manifest does not say."""
COUNTED = "-- A count of people is the sum of `weight`, times `covered` for a range."
MACRO = (
    "-- The part of a box that lies in a range, both ends included.",
    "CREATE OR REPLACE MACRO covered(box_min, box_max, low, high) AS",
    "  greatest(0, least(box_max, high) - greatest(box_min, low) + 1) / (box_max - box_min + 1);",
)

SQL_TYPES = {"string": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "date": "DATE"}


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
    rest = [name for name in names if name not in own and "role" not in described.get(name, {})]
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
    described = described_columns(dictionary)
    shown = _arrow(tables["table"] if "table" in tables else tables["rows"])
    axes, unread = read_axes(shown, described, orders)
    of_values = _arrow(tables["values"]) if "values" in tables else shown
    named = sensitive_column(of_values.column_names, described, sensitive)
    values: ShownValues | None
    if "values" in tables:
        if named is None:
            raise InvalidParameter(Problem("the values of a decoupled release", "have a column of values"))
        units, values = units_of_people(shown, of_values, axes, named)
    elif GROUP_ID in shown.column_names:
        invented = _arrow(tables["counterfeits"]) if "counterfeits" in tables else None
        units, values = units_of_groups(shown, invented, axes, named)
    else:
        units, values = units_of_rows(shown, axes, named, int(technique.get("ell", WORLDS)))
    missing, by_region = None, False
    if values is not None and are_balanced(values) and "balancing" in technique:
        enough = ROWS_OF_REGIONS * len(values.labels) * int(technique.get("m", 1))
        by_region = technique.get("regions", "none") != "none" and float(units.people.sum()) >= enough
        if technique.get("not_eligible") not in TELLING:
            missing = absences(values, int(manifest.get("withheld", 0)))
    declared = [str(value) for value in described.get(str(named), {}).get("values", ())]
    return evidence(axes, units, values, named, unread, declared=declared, absences=missing, by_region=by_region)


def _arrow(frame: object) -> "pa.Table":
    import pyarrow as pa

    try:
        return pa.Table.from_pandas(frame, preserve_index=False) if hasattr(frame, "iloc") else pa.table(frame)
    except (TypeError, ValueError, pa.ArrowException):
        rule = "be a pandas or polars frame, or an Arrow table"
        raise InvalidParameter(Problem("a table", rule, type(frame).__name__)) from None


def weighted_view(
    files: Sequence[str],
    columns: Sequence[str],
    *,
    sensitive: str | None = None,
    types: Mapping[str, Mapping[str, str]] | None = None,
    intervals: Mapping[str, Sequence[str] | str] | None = None,
) -> str:
    """The SQL of the view `people` and the macro `covered`, for the files of a release.

    `columns` are those of the table, or of the values in the decoupled form. `sum(weight)` counts real people: a row
    weighs what is real of its group, and in the decoupled form a person is there once for each value of the group.
    `types` are those of the columns of each file, as a Data Package has them: a csv file does not say that 007 is text.
    `intervals` has the order of the labels of each quasi-identifier, or its kind; the view has the middles of these.

    Raises: InvalidParameter if the files are not those of a release.
    """
    shown_files = [file for file in sorted(files) if file.endswith((".csv", ".parquet"))]
    named = {file.rpartition(".")[0]: _source(file, (types or {}).get(file, {})) for file in shown_files}
    head = ("-- In DuckDB, in the folder of the release: .read view.sql", COUNTED, *MACRO)
    middles = "".join(f", {_middle(name, how)}" for name, how in (intervals or {}).items())
    body: tuple[str, ...]
    view = "CREATE OR REPLACE VIEW people AS"
    if "rows" in named and "values" in named:
        shown = _quoted(str(sensitive_column(columns, {}, sensitive)))
        body = (
            f"SELECT person.*{middles}, shown.{shown}, shown.weight FROM {named['rows']} AS person",  # noqa: S608
            f"JOIN (SELECT {GROUP_ID}, {shown}, {COUNT} / sum({COUNT}) OVER (PARTITION BY {GROUP_ID}) AS weight",
            f"  FROM {named['values']}) AS shown USING ({GROUP_ID});",
        )
    elif "table" not in named:
        raise InvalidParameter(Problem("the files", "have a table, or rows and values", ", ".join(files) or "none"))
    elif GROUP_ID not in columns or "counterfeits" not in named:
        body = (f"SELECT *{middles}, 1.0 AS weight FROM {named['table']};",)  # noqa: S608
    else:
        body = (
            f"SELECT shown.*{middles},",
            f"  1 - coalesce(invented.{COUNT}, 0) / count(*) OVER (PARTITION BY {GROUP_ID}) AS weight",
            f"FROM {named['table']} AS shown LEFT JOIN {named['counterfeits']} AS invented USING ({GROUP_ID});",
        )
    return "\n".join((*head, view, *body, ""))


def _middle(name: str, how: Sequence[str] | str) -> str:
    """The middle of an interval: between its ends, or the label half-way in the order."""
    low, high, named = (_quoted(name + suffix) for suffix in ("_min", "_max", MIDDLE))
    if how == "date":
        return f"{low} + ({high} - {low}) // 2 AS {named}"
    if isinstance(how, str):
        return f"({low} + {high}) / 2 AS {named}"
    order = f"[{', '.join(map(_quoted_text, how))}]"
    return f"{order}[(list_position({order}, {low}) + list_position({order}, {high})) // 2] AS {named}"


def _source(file: str, types: Mapping[str, str]) -> str:
    """The file in a FROM; a csv file with the types of its columns, which it may not show, such as one without rows."""
    if file == "counterfeits.csv":
        types = dict.fromkeys((GROUP_ID, COUNT), "integer")
    known = {name: SQL_TYPES[kind] for name, kind in types.items() if kind in SQL_TYPES}
    if not file.endswith(".csv") or not known:
        return f"'{file}'"
    listed = ", ".join(f"{_quoted_text(name)}: '{kind}'" for name, kind in known.items())
    return f"read_csv('{file}', types = {{{listed}}})"


def _quoted_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
