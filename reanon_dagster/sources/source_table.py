"""The snapshot of a release as an Arrow table of the columns that the series needs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reanon_core.model.errors import Problem
from reanon_core.tables.encoded_texts import decoded
from reanon_core.tables.snapshot_table import column_problems
from reanon_dagster.series.series import Series

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Table:
    """The columns that exist, and the problems with those that do not."""

    data: "pa.Table"
    problems: tuple[Problem, ...]
    digest: str | None
    """The sha256 of the bytes that were read; None if the source has none."""
    raw: "pa.Table"
    """What the source returned; every column of it if the series has expectations."""


def read_table(series: Series, release: str, columns: Sequence[str], optional: frozenset[str] = frozenset()) -> Table:
    """These columns of the release's snapshot; those that are optional may be absent.

    Raises: SnapshotMissing; InvalidSnapshot if it cannot be read at all.
    """
    series.calendar.index(release)  # a name of the calendar is safe in a path and in a query
    table = series.source.read(series.folder, release, columns)
    if series.config.expectations:  # they are about texts, not about positions in a list of texts
        if set(table.names) > set(table.data.column_names):
            table = series.source.read(series.folder, release, table.names)
        table = replace(table, data=decoded(table.data))
    present = list(table.data.column_names)
    problems = column_problems(columns, present, table.label, listed=table.names, optional=optional)
    data = table.data.select([name for name in columns if name in present])
    return Table(data, tuple(problems), table.digest, table.data)
