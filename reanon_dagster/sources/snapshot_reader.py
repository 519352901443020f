"""The snapshot of a release: read, validated and coded."""

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.errors import InvalidSnapshot, Problem, require
from reanon_core.model.snapshot import Snapshot
from reanon_core.tables.id_forms import WrittenIds, row_forms
from reanon_core.tables.ids import people
from reanon_core.tables.snapshot_table import CodedTable, coded_columns, columns_of, restricted
from reanon_dagster.series.selections import Selection
from reanon_dagster.series.series import Series
from reanon_dagster.sources.selection_mask import (
    evaluate_selection,
    selection_columns,
    selection_problems,
    typed_values,
)
from reanon_dagster.sources.source_table import Table, read_table, row_digest

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_core.model.arrays import Bool, Int64


@dataclass(frozen=True, eq=False)
class Read:
    """A snapshot and what is recorded of its source."""

    snapshot: Snapshot
    """Its schema has the sensitive values of this and all earlier releases."""
    input_digest: str
    """The sha256 of the file's bytes, or of a query's rows in a canonical order."""
    rows: int
    """The number of rows in the source."""
    selected: int
    """The number of rows that the release selects."""
    persons: "Int64"
    """The people in the source, selected or not."""
    raw: "pa.Table | None"
    """The table as the source has it; None if the series expects nothing of it."""
    ids: WrittenIds | None = None
    """How the ids of the snapshot are written, those of forgotten people too; None if no source wrote them."""
    left_out: int = 0
    """How many people are left out because they match the mark of a forgotten person; they count nowhere else."""

    def without(self, forgotten: "Bool", kept: Snapshot | None = None) -> "Read":
        """The same without some people, bool[n] in the order of the snapshot, as if they had left the table.

        `kept` is the snapshot without them, if it is made elsewhere.
        """
        if not forgotten.any():
            return self
        snapshot = self.snapshot
        if kept is None:
            rows = np.flatnonzero(~forgotten)
            kept = snapshot.rows(rows, selected=None if snapshot.selected is None else snapshot.selected[rows])
        lost, count = int(np.count_nonzero(forgotten & snapshot.selection)), int(np.count_nonzero(forgotten))
        return replace(
            self,
            snapshot=kept,
            rows=self.rows - count,
            selected=self.selected - lost,
            left_out=count,
        )


def read_snapshot(
    series: Series,
    release: str,
    key: bytes,
    known_values: tuple[str, ...],
    known_other: tuple[tuple[str, ...], ...] = (),
    *,
    whole_table: bool | None = None,
) -> Read:
    """The release's snapshot, with ids replaced by pseudonyms under this key of 16 bytes.

    `known_values` are the sensitive values of earlier releases, in the order of their codes, and `known_other` those of
    each non-identifier. A column that no release has shown so far may be absent: it then has no codes. `whole_table`
    says whether a release with a selection gets the whole table with a mask; without it, the technique says so.

    Raises: SnapshotMissing; InvalidSnapshot with every problem at once.
    """
    import pyarrow as pa

    schema, id_name = series.schema, series.config.source.id
    selection = series.selections.get(release)
    table, problems = _checked_table(series, release)
    if not schema.sensitive.closed:
        schema = schema.with_sensitive_values(known_values)
    found, raw = table.digest, table.raw if series.config.expectations else None
    columns = columns_of(table.data)
    texts = columns.get(id_name)
    if selection is None and found is not None:
        del table  # its columns are coded one by one, and the memory of each is free then
    coded = coded_columns(
        columns,
        schema.with_other_values(known_other),
        id_column=id_name,
        key=key,
        columns=series.release_columns(release),
        problems=problems,
        with_codes=selection is not None,
    )
    snapshot, order = coded.snapshot, coded.people.order
    pa.default_memory_pool().release_unused()
    digest = _input_digest(found or row_digest(table.data, order), selection)
    if selection is None:
        ids = _written(id_name, texts, coded, key)
        return Read(snapshot, digest, len(order), len(order), snapshot.persons, raw, ids)
    values = {
        column.name: typed_values(column, coded.codes[column.name])
        for column in schema.quasi_identifiers
        if column.name in coded.codes
    }
    selected = evaluate_selection(selection, table, values)[order]
    whole = series.technique.declaration.answers_queries if whole_table is None else whole_table
    ids = _written(id_name, texts, coded, key)
    return Read(
        restricted(snapshot, selected, answers_queries=whole),
        digest,
        len(order),
        int(selected.sum()),
        snapshot.persons,
        raw,
        ids if whole else ids.at(np.flatnonzero(selected)),
    )


def _written(name: str, column: "pa.ChunkedArray | None", coded: CodedTable, key: bytes) -> WrittenIds:
    """How the ids of a coded table are written."""
    if column is None:
        raise AssertionError("a table that is coded has ids")
    order = coded.people.order
    return WrittenIds(coded.snapshot.persons, row_forms(name, column, coded.people.persons, key)[order], order)


def read_raw_table(series: Series, release: str) -> "pa.Table":
    """The snapshot as the source has it, with at least the columns that the series names; nothing is validated.

    Raises: SnapshotMissing; InvalidSnapshot if it cannot be read at all.
    """
    return _checked_table(series, release)[0].raw


def snapshot_digest(series: Series, release: str, key: bytes) -> str:
    """The input digest that `read_snapshot` would give for this snapshot, without coding it.

    A file is not even parsed, so its problems go unnoticed here.

    Raises: SnapshotMissing; InvalidSnapshot if two rows of a query have the same id.
    """
    digest = file_digest(series, release)
    if digest is None:
        table, problems = _checked_table(series, release)
        require(problems, InvalidSnapshot)
        id_name = series.config.source.id
        digest = table.digest or row_digest(table.data, people(id_name, table.data[id_name], key).order)
        return _input_digest(digest, series.selections.get(release))
    return digest


def file_digest(series: Series, release: str) -> str | None:
    """The input digest of a snapshot in files; None if the rows would have to be read.

    Raises: SnapshotMissing; InvalidSnapshot.
    """
    series.calendar.index(release)
    digest = series.source.digest(series.folder, release)
    return None if digest is None else _input_digest(digest, series.selections.get(release))


def _checked_table(series: Series, release: str) -> tuple[Table, list[Problem]]:
    """The columns that the release and its selection need, and the problems with those that do not exist."""
    columns, optional = needed_columns(series, release)
    selection = series.selections.get(release)
    more = selection_columns(selection, columns)
    table = read_table(series, release, (*columns, *more), optional=optional)
    return table, selection_problems(selection, table.problems, more)


def needed_columns(series: Series, release: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The columns of the series, its id first, and those that the snapshot of this release need not have."""
    schema = series.schema
    columns = (series.config.source.id, *schema.names, schema.sensitive.name, *schema.other)
    return columns, frozenset(columns[1:]) - series.required_columns(release)


def _input_digest(digest: str, selection: Selection | None) -> str:
    """The digest of the snapshot with its selection: another predicate is another input, whatever it selects."""
    if selection is None:
        return digest
    return hashlib.sha256(f"{digest} where {selection.text}".encode()).hexdigest()


def read_ids(series: Series, release: str, key: bytes) -> "tuple[pa.Array, Int64]":
    """The ids of a snapshot in the order of the source, and their pseudonyms; for `reanon trace` alone.

    Raises: SnapshotMissing; InvalidSnapshot.
    """
    id_name = series.config.source.id
    table = read_table(series, release, (id_name,))
    require(table.problems, InvalidSnapshot)
    ids = table.raw[id_name].combine_chunks()
    return ids, people(id_name, table.data[id_name], key).persons
