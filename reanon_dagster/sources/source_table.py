"""The snapshot of a release as an Arrow table of the columns that the series needs, and the digest of its rows."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.errors import Problem
from reanon_core.tables.arrow_columns import decoded
from reanon_core.tables.snapshot_table import column_problems
from reanon_dagster.series.series import Series
from reanon_dagster.sources.id_maps import known_ids

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_core.model.arrays import Int32


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
    """These columns of the release's snapshot, with the ids that the series knows; optional ones may be absent.

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
    data, id_name = table.data.select([name for name in columns if name in present]), series.config.source.id
    if series.config.source.id_map and id_name in present:
        known = known_ids(series, release, data[id_name])
        data = data.set_column(data.schema.get_field_index(id_name), id_name, known)
    return Table(data, tuple(problems), table.digest, table.data)


def row_digest(table: "pa.Table", order: "Int32") -> str:
    """The sha256 of the rows taken in this order, column by column."""
    import pyarrow as pa

    digest = hashlib.sha256()
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        texts = column.cast(pa.large_string()).combine_chunks().take(pa.array(order))
        valid = texts.is_valid().to_numpy(zero_copy_only=False)
        texts = texts.fill_null("")
        digest.update(f"{name}\0{len(texts)}\0".encode())
        digest.update(np.packbits(valid).tobytes())
        for buffer in texts.buffers()[1:]:
            digest.update(buffer if buffer is not None else b"")
    return digest.hexdigest()
