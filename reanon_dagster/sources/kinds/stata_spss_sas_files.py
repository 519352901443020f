"""Files of Stata, SPSS and SAS, which keep numbers as floating point and categories as numbers with labels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.sources.kinds.column_rules import with_exact_ids
from reanon_dagster.sources.kinds.readstat_process import column_names, parse_apart
from reanon_dagster.sources.kinds.source import extra_package

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
    program, function, extra = PROGRAMS[ending]
    extra_package("pyreadstat", extra, label)
    table = parse_apart(content, columns, function=function, labels=labels)
    if table is None:
        rule = f"be a file of {program} that can be read"
        raise InvalidSnapshot(Problem(label, rule, help="it is damaged or of another kind; write it again"))
    return with_exact_ids(table, id_column, label), column_names(table)
