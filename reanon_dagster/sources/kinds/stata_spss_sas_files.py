"""Files of Stata, SPSS and SAS, which keep numbers as floating point and categories as numbers with labels."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.sources.kinds.exact_ids import with_exact_ids
from reanon_dagster.sources.kinds.extra_packages import extra_package

if TYPE_CHECKING:
    import pyarrow as pa

PROGRAMS = {
    ".dta": ("Stata", "read_dta", "stata"),
    ".sav": ("SPSS", "read_sav", "spss"),
    ".xpt": ("SAS transport", "read_xport", "sas"),
}
"""What each ending is, the function of pyreadstat that reads it, and the extra that installs it."""


def read_statistics_file(
    content: bytes, columns: Sequence[str], label: str, *, ending: str, id_column: str, labels: bool
) -> tuple["pa.Table", list[str]]:
    """Those of the columns that exist, with null for every kind of missing value, and the names of all columns.

    Raises: InvalidSnapshot if this is no such file, or if an id is not exact.
    """
    import pyarrow as pa

    program, function, extra = PROGRAMS[ending]
    pyreadstat = extra_package("pyreadstat", extra, label)
    read = getattr(pyreadstat, function)
    no_file = InvalidSnapshot(Problem(label, f"be a {program} file that can be read", help="write it again"))
    try:
        _, head = read(io.BytesIO(content), metadataonly=True)
        present = [name for name in columns if name in head.column_names]
        values, found = read(io.BytesIO(content), usecols=present, output_format="dict") if present else ({}, head)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError, OverflowError, ValueError):
        raise no_file from None
    if labels:
        values = {name: _labelled(column, found.variable_value_labels.get(name)) for name, column in values.items()}
    try:
        table = pa.table({name: pa.array(values[name], from_pandas=True) for name in present})
    except pa.ArrowException:
        raise no_file from None
    return with_exact_ids(table, id_column, label), list(head.column_names)


def _labelled(column: list[Any], labels: dict[Any, str] | None) -> list[Any]:
    """The labels of the values; a value without a label as it is, where no value has one the column itself."""
    if not labels or not any(value in labels for value in column):
        return column
    return [labels.get(value, _plain(value)) for value in column]


def _plain(value: Any) -> Any:
    """A number as text, whole where it is whole: a column of labels is text."""
    if not isinstance(value, float):
        return value
    return str(int(value)) if value.is_integer() else str(value)
