"""A DuckDB view of a release with a weight for each row, so that sums of weights count real people."""

from collections.abc import Mapping, Sequence

from reanon_core.estimate.release_tables import sensitive_column
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.published_columns import COUNT, GROUP_ID

MACRO = (
    "-- The part of a box that lies in a range, both ends included.",
    "CREATE OR REPLACE MACRO covered(box_min, box_max, low, high) AS",
    "  greatest(0, least(box_max, high) - greatest(box_min, low) + 1) / (box_max - box_min + 1);",
)

SQL_TYPES = {"string": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "date": "DATE"}


def weighted_view(
    files: Sequence[str],
    columns: Sequence[str],
    *,
    sensitive: str | None = None,
    types: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The SQL of the view `people` and the macro `covered`, for the files of a release.

    `columns` are those of the table, or of the values in the decoupled form. `sum(weight)` counts real people: a row
    weighs what is real of its group, and in the decoupled form a person is there once for each value of the group.
    `types` are those of the columns of each file, as a Data Package has them: a csv file does not say that 007 is text.

    Raises: InvalidParameter if the files are not those of a release.
    """
    shown_files = [file for file in sorted(files) if file.endswith((".csv", ".parquet"))]
    named = {file.rpartition(".")[0]: _source(file, (types or {}).get(file, {})) for file in shown_files}
    head = ("-- In DuckDB, in the folder of the release. A count of people is the sum of `weight`.", *MACRO)
    body: tuple[str, ...]
    view = "CREATE OR REPLACE VIEW people AS"
    if "rows" in named and "values" in named:
        shown = _quoted(str(sensitive_column(columns, {}, sensitive)))
        body = (
            f"SELECT person.*, shown.{shown}, shown.weight FROM {named['rows']} AS person",  # noqa: S608
            f"JOIN (SELECT {GROUP_ID}, {shown}, {COUNT} / sum({COUNT}) OVER (PARTITION BY {GROUP_ID}) AS weight",
            f"  FROM {named['values']}) AS shown USING ({GROUP_ID});",
        )
    elif "table" not in named:
        raise InvalidParameter(Problem("the files", "have a table, or rows and values", ", ".join(files) or "none"))
    elif GROUP_ID not in columns or "counterfeits" not in named:
        body = (f"SELECT *, 1.0 AS weight FROM {named['table']};",)  # noqa: S608
    else:
        body = (
            f"SELECT shown.*, 1 - coalesce(invented.{COUNT}, 0) / count(*) OVER (PARTITION BY {GROUP_ID}) AS weight",
            f"FROM {named['table']} AS shown LEFT JOIN {named['counterfeits']} AS invented USING ({GROUP_ID});",
        )
    return "\n".join((*head, view, *body, ""))


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
