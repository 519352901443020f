"""A release's snapshot, read, validated and coded."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, Problem, require
from reanon_core.model.snapshot import Snapshot
from reanon_core.tables.ids import people
from reanon_core.tables.snapshot_table import coded_table, restricted
from reanon_dagster.series.selections import Selection
from reanon_dagster.series.series import Series
from reanon_dagster.sources.row_digest import row_digest
from reanon_dagster.sources.selection_mask import coded_values, more_columns, said_by, selection_mask_of
from reanon_dagster.sources.source_table import Table, read_table

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_core.model.arrays import Int64


@dataclass(frozen=True, eq=False)
class Read:
    """A snapshot as it was read."""

    snapshot: Snapshot
    """Its schema knows the sensitive values of this and all earlier releases."""
    input_digest: str
    """The sha256 of the file's bytes, or of a query's rows in a canonical order."""
    rows: int
    """How many rows the source has."""
    selected: int
    """How many of them the release asks for."""


def read_snapshot(
    series: Series,
    release: str,
    key: bytes,
    known_values: tuple[str, ...],
    known_other: tuple[tuple[str, ...], ...] = (),
) -> Read:
    """The release's snapshot, its ids replaced by pseudonyms under this key of 16 bytes.

    `known_values` are the sensitive values of earlier releases, in the order of their codes, and `known_other` those of
    each non-identifier. A column that no release has shown so far may not be there yet: it has no codes then.

    Raises: SnapshotMissing; InvalidSnapshot with every problem at once.
    """
    schema, id_name = series.schema, series.config.source.id
    selection = series.selections.get(release)
    table, problems = _checked_table(series, release)
    if not schema.sensitive.closed:
        schema = schema.with_sensitive_values(known_values)
    coded = coded_table(
        table.data,
        schema.with_other_values(known_other),
        id_column=id_name,
        key=key,
        columns=series.shown(release),
        problems=problems,
    )
    snapshot, who, rows = coded.snapshot, coded.people, len(coded.people.order)
    digest = _input_digest(table.digest or row_digest(table.data, who.order), selection)
    if selection is None:
        return Read(snapshot, digest, rows, rows)
    values = {
        column.name: coded_values(column, coded.codes[column.name])
        for column in schema.quasi_identifiers
        if column.name in coded.codes
    }
    selected = selection_mask_of(selection, table, values)[who.order]
    shown = restricted(snapshot, selected, answers_queries=series.technique.declaration.answers_queries)
    return Read(shown, digest, rows, int(selected.sum()))


def snapshot_digest(series: Series, release: str, key: bytes) -> str:
    """The input digest that `read_snapshot` would give for this snapshot, without coding it.

    A file is not even parsed, so its problems go unnoticed here.

    Raises: SnapshotMissing; InvalidSnapshot if the rows of a query cannot be told apart.
    """
    series.calendar.index(release)
    selection = series.selections.get(release)
    digest = series.config.source.digest(series.folder, release)
    if digest is None:
        table, problems = _checked_table(series, release)
        require(problems, InvalidSnapshot)
        id_name = series.config.source.id
        digest = table.digest or row_digest(table.data, people(id_name, table.data[id_name], key).order)
    return _input_digest(digest, selection)


def _checked_table(series: Series, release: str) -> tuple[Table, list[Problem]]:
    """The columns that the release and its selection need, and the problems with those that do not exist."""
    schema = series.schema
    columns = (series.config.source.id, *schema.names, schema.sensitive.name, *schema.other)
    selection = series.selections.get(release)
    more = more_columns(selection, columns)
    optional = frozenset(columns[1:]) - series.needed(release)
    table = read_table(series, release, (*columns, *more), optional=optional)
    return table, said_by(selection, table.problems, more)


def _input_digest(digest: str, selection: Selection | None) -> str:
    """The digest of the snapshot with its selection: another predicate is another input, whatever it selects."""
    if selection is None:
        return digest
    return hashlib.sha256(f"{digest} where {selection.text}".encode()).hexdigest()


def read_ids(series: Series, release: str, key: bytes) -> "tuple[pa.Array, Int64]":
    """The ids of a snapshot as and where they stand in the source, and their pseudonyms; for `reanon trace` alone.

    Raises: SnapshotMissing; InvalidSnapshot.
    """
    id_name = series.config.source.id
    table = read_table(series, release, (id_name,))
    require(table.problems, InvalidSnapshot)
    ids = table.data[id_name].combine_chunks()
    return ids, people(id_name, table.data[id_name], key).persons
