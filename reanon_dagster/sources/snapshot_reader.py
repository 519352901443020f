"""The snapshot of a release: read, validated and coded."""

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from reanon_core.model.arrays import MISSING, Bool
from reanon_core.model.errors import InvalidSnapshot, Problem, require
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.schema import Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_dagster.series.problems import collect_problems
from reanon_dagster.series.selections import Selection
from reanon_dagster.series.series import Series
from reanon_dagster.sources.arrow_columns import coded_column, coded_other, coded_sensitive
from reanon_dagster.sources.ids import people
from reanon_dagster.sources.row_digest import row_digest
from reanon_dagster.sources.selection_mask import (
    evaluate_selection,
    selection_columns,
    selection_problems,
    typed_values,
)
from reanon_dagster.sources.source_table import Table, read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from reanon_core.model.arrays import Int64
    from reanon_core.model.coding import Coded

T = TypeVar("T")


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


def read_snapshot(
    series: Series,
    release: str,
    key: bytes,
    known_values: tuple[str, ...],
    known_other: tuple[tuple[str, ...], ...] = (),
) -> Read:
    """The release's snapshot, with ids replaced by pseudonyms under this key of 16 bytes.

    `known_values` are the sensitive values of earlier releases, in the order of their codes, and `known_other` those of
    each non-identifier. A column that no release has shown so far may be absent: it then has no codes.

    Raises: SnapshotMissing; InvalidSnapshot with every problem at once.
    """
    schema, id_name = series.schema, series.config.source.id
    selection = series.selections.get(release)
    table, problems = _checked_table(series, release)
    column = schema.sensitive if schema.sensitive.closed else schema.sensitive.with_values(known_values)
    ids = _from(table, id_name, problems, partial(people, id_name, key=key))
    codes = [_from(table, qi.name, problems, partial(coded_column, qi)) for qi in schema.quasi_identifiers]
    sensitive = _from(table, column.name, problems, partial(coded_sensitive, column))
    before = schema.with_other_values(known_other).other_values
    others = [
        _from(table, name, problems, partial(coded_other, Sensitive(name=name, values=values)))
        for name, values in zip(schema.other, before, strict=True)
    ]
    problems += [problem for coded in (*codes, *_codes([sensitive, *others])) if coded for problem in coded.problems]
    require(problems, InvalidSnapshot)
    if ids is None or sensitive is None:
        raise AssertionError("a snapshot without problems has all its parts")
    rows = len(ids.order)
    empty = np.full(rows, MISSING, dtype=np.int32), np.full(rows, UNPUBLISHED, dtype=np.int32)
    qi = [empty[0] if coded is None else coded.codes[ids.order] for coded in codes]
    other = [empty[1] if coded is None else coded.codes[ids.order] for coded in _codes(others)]
    grown = schema.with_sensitive_values(sensitive[1].values).with_other_values(
        tuple(one[1].values if one else values for one, values in zip(others, before, strict=True))
    )
    snapshot = Snapshot(
        grown,
        ids.persons[ids.order],
        np.stack(qi),
        sensitive[0].codes[ids.order],
        np.array(other, dtype=np.int32).reshape(len(other), rows),
        series.release_columns(release),
    )
    digest = _input_digest(table.digest or row_digest(table.data, ids.order), selection)
    if selection is None:
        return Read(snapshot, digest, rows, rows)
    values = {
        column.name: typed_values(column, coded.codes)
        for column, coded in zip(schema.quasi_identifiers, codes, strict=True)
        if coded is not None
    }
    selected = evaluate_selection(selection, table, values)[ids.order]
    return Read(_selected(series, snapshot, selected), digest, rows, int(selected.sum()))


def snapshot_digest(series: Series, release: str, key: bytes) -> str:
    """The input digest that `read_snapshot` would give for this snapshot, without coding it.

    A file is not even parsed, so its problems go unnoticed here.

    Raises: SnapshotMissing; InvalidSnapshot if two rows of a query have the same id.
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
    more = selection_columns(selection, columns)
    optional = frozenset(columns[1:]) - series.required_columns(release)
    table = read_table(series, release, (*columns, *more), optional=optional)
    return table, selection_problems(selection, table.problems, more)


def _input_digest(digest: str, selection: Selection | None) -> str:
    """The digest of the snapshot with its selection: another predicate is another input, whatever it selects."""
    if selection is None:
        return digest
    return hashlib.sha256(f"{digest} where {selection.text}".encode()).hexdigest()


def _selected(series: Series, snapshot: Snapshot, selected: Bool) -> Snapshot:
    """The whole table with a mask for a technique that answers queries; for others the selected rows only."""
    if series.technique.declaration.answers_queries:
        return replace(snapshot, selected=selected)
    return snapshot.rows(np.flatnonzero(selected), selected=None)


def _codes(coded: "Sequence[tuple[Coded, Sensitive] | None]") -> "list[Coded | None]":
    return [one[0] if one else None for one in coded]


def read_ids(series: Series, release: str, key: bytes) -> "tuple[pa.Array, Int64]":
    """The ids of a snapshot in the order of the source, and their pseudonyms; for `reanon trace` alone.

    Raises: SnapshotMissing; InvalidSnapshot.
    """
    id_name = series.config.source.id
    table = read_table(series, release, (id_name,))
    require(table.problems, InvalidSnapshot)
    ids = table.data[id_name].combine_chunks()
    return ids, people(id_name, table.data[id_name], key).persons


def _from(table: Table, name: str, problems: list[Problem], convert: "Callable[[pa.ChunkedArray], T]") -> T | None:
    """A column, converted; None if it is absent or has problems."""
    return collect_problems(problems, convert, table.data[name]) if name in table.data.column_names else None
