"""A release's snapshot, read, validated and coded."""

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from reanon_core.model.arrays import Bool
from reanon_core.model.errors import InvalidSnapshot, Problem, require
from reanon_core.model.snapshot import Snapshot
from reanon_dagster.series.columns import kept
from reanon_dagster.series.declared import Series
from reanon_dagster.sources.arrow_columns import coded_column, coded_sensitive
from reanon_dagster.sources.ids import people
from reanon_dagster.sources.queries import digest_of
from reanon_dagster.sources.selecting import asked_by, coded_values, more_columns, said_by
from reanon_dagster.sources.tables import Table, read_table

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from reanon_core.model.arrays import Int64

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Read:
    """A snapshot as it was read."""

    snapshot: Snapshot
    """Its schema knows the sensitive values of this and all earlier releases."""
    input_digest: str
    """The sha256 of the file's bytes, or of a query's rows in a canonical order."""
    rows: int
    """How many rows the source has."""
    asked: int
    """How many of them the release asks for."""


def read_snapshot(series: Series, release: str, key: bytes, known_values: tuple[str, ...]) -> Read:
    """The release's snapshot, its ids replaced by pseudonyms under this key of 16 bytes.

    `known_values` are the sensitive values of earlier releases, in the order of their codes.

    Raises: SnapshotMissing; InvalidSnapshot with every problem at once.
    """
    schema, id_name = series.schema, series.config.source.id
    selection = series.selections.get(release)
    wanted = (id_name, *schema.names, schema.sensitive.name, *schema.other)
    more = more_columns(selection, wanted)
    table = read_table(series, release, (*wanted, *more))
    problems = said_by(selection, table.problems, more)
    known = schema.sensitive if schema.sensitive.closed else schema.sensitive.with_values(known_values)
    who = _from(table, id_name, problems, lambda column: people(id_name, column, key))
    codes = [_from(table, qi.name, problems, partial(coded_column, qi)) for qi in schema.quasi_identifiers]
    secret = _from(table, known.name, problems, partial(coded_sensitive, known))
    right = [coded for coded in (*codes, secret[0] if secret else None) if coded is not None]
    problems += [problem for coded in right for problem in coded.problems]
    require(problems, InvalidSnapshot)
    if who is None or secret is None:
        raise AssertionError("a snapshot without problems has all its parts")
    *qi, sensitive = (coded.codes[who.order] for coded in right)
    grown = schema.with_sensitive_values(secret[1].values)
    snapshot = Snapshot(grown, who.persons[who.order], np.stack(qi), sensitive)
    digest = table.digest or digest_of(table.data, (*wanted, *more), who.order)
    if selection is None:
        return Read(snapshot, digest, len(who.persons), len(who.persons))
    values = [coded_values(column, coded.codes) for column, coded in zip(schema.quasi_identifiers, right, strict=False)]
    asked = asked_by(selection, table, dict(zip(schema.names, values, strict=True)))[who.order]
    # Another predicate is another input, whatever it selects.
    digest = hashlib.sha256(f"{digest} where {selection.text}".encode()).hexdigest()
    return Read(_selected(series, snapshot, asked), digest, len(who.persons), int(asked.sum()))


def _selected(series: Series, snapshot: Snapshot, asked: Bool) -> Snapshot:
    """The whole table with the mask for a technique that answers queries; for others only whom the query asks for."""
    from reanon_core.catalog import ANSWERS_QUERIES

    if series.publisher.name in ANSWERS_QUERIES:
        return replace(snapshot, asked=asked)
    return snapshot.rows(np.flatnonzero(asked), asked=None)


def read_ids(series: Series, release: str, key: bytes) -> "tuple[pa.Array, Int64]":
    """The ids of a snapshot as and where they stand in the source, and their pseudonyms; for `reanon trace` alone.

    Raises: SnapshotMissing; InvalidSnapshot.
    """
    id_name = series.config.source.id
    table = read_table(series, release, (id_name,))
    require(table.problems, InvalidSnapshot)
    ids = table.data[id_name].combine_chunks()
    return ids, people(id_name, table.data[id_name], key).persons


def _from(table: Table, name: str, problems: list[Problem], made: "Callable[[pa.ChunkedArray], T]") -> T | None:
    """What is made of a column; None if the column is not there, or wrong."""
    return kept(problems, made, table.data[name]) if name in table.data.column_names else None
