"""The snapshot of a release in columns on disk, read with the memory of one batch of its rows."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.engine.column_folder import ColumnFolder, forget_pages
from reanon_core.model.arrays import Bool, slices
from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_core.model.snapshot import Snapshot
from reanon_core.tables.id_forms import WrittenIds
from reanon_core.tables.snapshot_pieces import SnapshotPieces
from reanon_core.tables.snapshot_table import column_problems, columns_of
from reanon_dagster.series.memory_size import available_memory, bytes_of
from reanon_dagster.series.series import Series
from reanon_dagster.sources.kinds.source import SourceBatches
from reanon_dagster.sources.snapshot_reader import Read, needed_columns, read_snapshot

if TYPE_CHECKING:
    import pyarrow as pa

ARRAYS = ("persons", "qi", "sensitive", "other")
"""The arrays of a snapshot that are mapped."""
ROW, CELL = 60, 16
"""About how many bytes a row and each of its columns take, beside the source itself, if a table is read at once."""
ROWS_ONLY = "empty in "
"""How the value of a problem begins that names rows and nothing else."""


def read_snapshot_columns(
    series: Series,
    release: str,
    key: bytes,
    known_values: tuple[str, ...],
    known_other: tuple[tuple[str, ...], ...] = (),
    *,
    folder: ColumnFolder,
    chunk_rows: int,
) -> Read:
    """What `read_snapshot` returns, its arrays mapped from columns in the folder.

    At most about `chunk_rows` rows are in memory at a time. A release with a selection, a series with expectations and
    a source that cannot be read batch by batch are read at once, and then written to columns. So is a table with a
    problem, if it fits into memory: then the messages are about the whole table.

    Raises: SnapshotMissing; InvalidSnapshot with every problem at once, or with those of the first rows that have any.
    """
    read = _streamed(series, release, key, known_values, known_other, folder, chunk_rows)
    if read is not None:
        return read
    read = read_snapshot(series, release, key, known_values, known_other)
    snapshot = _in_columns(read.snapshot, folder)
    whole = snapshot.persons if read.persons is read.snapshot.persons else read.persons
    return replace(read, snapshot=snapshot, persons=whole, ids=_ids_in_columns(read.ids, snapshot, folder))


def kept_in_columns(snapshot: Snapshot, forgotten: Bool, folder: ColumnFolder) -> Snapshot:
    """The snapshot without some people, bool[n], in new columns of the folder."""
    arrays = {name: getattr(snapshot, name) for name in ARRAYS}
    rows = snapshot.size - int(np.count_nonzero(forgotten))
    columns = {name: folder.created(name, one.dtype, (*one.shape[:-1], rows)) for name, one in arrays.items()}
    start = 0
    for part in slices(snapshot.size):
        kept = np.flatnonzero(~forgotten[part])
        for name, array in arrays.items():
            columns[name].write(start, array[..., part][..., kept])
        start += len(kept)
        forget_pages(*arrays.values())
    mapped: dict[str, Any] = {name: column.mapped() for name, column in columns.items()}
    selected = None if snapshot.selected is None else snapshot.selected[~forgotten]
    return replace(snapshot, **mapped, selected=selected)


def _streamed(
    series: Series,
    release: str,
    key: bytes,
    known_values: tuple[str, ...],
    known_other: tuple[tuple[str, ...], ...],
    folder: ColumnFolder,
    chunk_rows: int,
) -> Read | None:
    """The snapshot read batch by batch; None if it must be read at once."""
    series.calendar.index(release)  # a name of the calendar is safe in a path and in a query
    if series.selections.get(release) is not None or series.config.expectations:
        return None
    columns, optional = needed_columns(series, release)
    source = _opened(series, release, columns)
    if source is None or column_problems(
        columns, source.schema.names, source.label, listed=source.names, optional=optional
    ):
        return None
    schema = series.schema if series.schema.sensitive.closed else series.schema.with_sensitive_values(known_values)
    pieces = SnapshotPieces(
        schema.with_other_values(known_other),
        id_column=series.config.source.id,
        key=key,
        folder=folder,
        rows=source.rows,
        chunk_rows=chunk_rows,
    )
    try:
        snapshot, ids = _coded(pieces, source, series.release_columns(release), chunk_rows)
    except InvalidSnapshot:
        pieces.remove()
        if _fits_into_memory(series, source):
            return None
        raise
    except BaseException:
        pieces.remove()
        raise
    return Read(snapshot, source.digest, pieces.rows, pieces.rows, snapshot.persons, None, ids)


def _opened(series: Series, release: str, columns: tuple[str, ...]) -> SourceBatches | None:
    if series.config.source.id_map:
        return None
    try:
        return series.source.batches(series.folder, release, columns)
    except (InvalidSnapshot, OSError):
        return None  # reading it at once says what is wrong


def _coded(
    pieces: SnapshotPieces, source: SourceBatches, columns: tuple[str, ...] | None, chunk_rows: int
) -> tuple[Snapshot, WrittenIds]:
    import pyarrow as pa

    for table in _regrouped(source, chunk_rows):
        first = pieces.rows
        try:
            pieces.add(columns_of(table.select(source.schema.names)))
        except InvalidSnapshot as error:
            raise InvalidSnapshot([_counted_from(first, one) for one in error.problems]) from None
        del table
    pa.default_memory_pool().release_unused()
    snapshot, ids = pieces.snapshot(columns)
    forget_pages(snapshot.persons, snapshot.qi, snapshot.sensitive, snapshot.other)
    return snapshot, ids


def _regrouped(source: SourceBatches, rows: int) -> Iterator["pa.Table"]:
    """The rows in tables of so many; an empty table if there are none, because its types may be wrong."""
    import pyarrow as pa

    held: list[pa.Table] = []
    count, some = 0, False
    for batch in source.batches(rows):
        start = 0
        while start < batch.num_rows:
            held.append(batch.slice(start, rows - count))
            start, count = start + held[-1].num_rows, count + held[-1].num_rows
            if count == rows:
                table, held, count, some = pa.concat_tables(held), [], 0, True
                yield table
    if count or not some:
        yield pa.concat_tables(held) if held else source.schema.empty_table()


def _counted_from(first: int, problem: Problem) -> Problem:
    """A problem of some rows alone. Its values stay out: only the ids of all rows could tell that none is an id."""
    value = problem.value if problem.value and problem.value.startswith(ROWS_ONLY) else None
    where = f"rows are counted from row {first + 1:,}, and those that follow were not examined"
    return replace(problem, value=value, help=f"{problem.help}; {where}" if problem.help else where)


def _fits_into_memory(series: Series, source: SourceBatches) -> bool:
    size = series.config.engine.embedded.memory_limit
    limit = available_memory() if size is None else bytes_of(size)
    return source.size + source.rows * (ROW + CELL * len(source.schema.names)) <= limit


def _in_columns(snapshot: Snapshot, folder: ColumnFolder) -> Snapshot:
    """The same snapshot with mapped arrays."""
    mapped: dict[str, Any] = {name: folder.written(name, getattr(snapshot, name)).mapped() for name in ARRAYS}
    return replace(snapshot, **mapped)


def _ids_in_columns(ids: WrittenIds | None, snapshot: Snapshot, folder: ColumnFolder) -> WrittenIds | None:
    """The same ids of the people of the snapshot with mapped arrays."""
    if ids is None:
        return None
    mapped: list[Any] = [folder.written("forms", ids.forms).mapped(), folder.written("rows", ids.rows).mapped()]
    return WrittenIds(snapshot.persons, *mapped)
