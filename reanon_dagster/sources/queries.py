"""Snapshots that a DuckDB query gives."""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.config import PLACEHOLDER, DuckdbSource
from reanon_dagster.series.series import Series
from reanon_dagster.sources.snapshot_location import missing, shown_path, source_path

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from reanon_core.model.arrays import Int64


def read_query(series: Series, release: str) -> "pa.Table":
    """The table that the query gives for a release.

    Raises: SnapshotMissing if the file or a table of the query is not there; InvalidSnapshot if the query fails.
    """
    import duckdb

    try:
        with closing(_connected(series, release)) as connection:
            return connection.execute(_query(series, release)).to_arrow_table()
    except duckdb.CatalogException as error:
        raise missing(series, release) from error
    except duckdb.Error as error:
        raise InvalidSnapshot(_said(series, release, error)) from error


def query_has_rows(series: Series, release: str) -> bool:
    """Whether the query gives at least one row.

    Raises: InvalidSnapshot if the query fails for another reason than a table that is not there.
    """
    import duckdb

    try:
        with closing(_connected(series, release)) as connection:
            return connection.sql(_query(series, release)).limit(1).fetchone() is not None
    except duckdb.CatalogException:
        return False
    except duckdb.Error as error:
        raise InvalidSnapshot(_said(series, release, error)) from error


def digest_of(table: "pa.Table", names: Sequence[str], order: "Int64") -> str:
    """The sha256 of the rows in a canonical order: a query may give the same rows in any order."""
    import pyarrow as pa

    digest = hashlib.sha256()
    for name in names:
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


def _connected(series: Series, release: str) -> "duckdb.DuckDBPyConnection":
    import duckdb

    path = source_path(series, release)
    if not path.is_file():
        raise missing(series, release)
    return duckdb.connect(str(path), read_only=True)


def _query(series: Series, release: str) -> str:
    source = series.config.source
    if not isinstance(source, DuckdbSource):
        raise TypeError("only a DuckDB source has a query")
    series.calendar.index(release)  # a name of this calendar is plain text that no query can mistake for SQL
    return source.query.replace(PLACEHOLDER, release)


def _said(series: Series, release: str, error: "duckdb.Error") -> Problem:
    """The failure in a sentence. Only errors about the query's text are quoted: others may quote the data."""
    import duckdb

    if isinstance(error, duckdb.IOException):
        path = shown_path(series, source_path(series, release))
        return Problem("source.duckdb", "be a DuckDB file that no other program holds open", path)
    quotable = isinstance(error, duckdb.ParserException | duckdb.BinderException)
    reason = str(error).splitlines()[0] if quotable else type(error).__name__
    return Problem("source.query", f"run for {release}", help=reason)
