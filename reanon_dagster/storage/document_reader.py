"""Queries of a series' store: the documents that explain what is published, as they were written."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


def release_documents(connection: "duckdb.DuckDBPyConnection", position: int) -> dict[str, bytes]:
    """The documents beside the tables of a release, by name."""
    # A constant of ours, without parameters, for which DuckDB imports pandas.
    query = f"SELECT name, content FROM public.documents WHERE position = {int(position)} ORDER BY name"  # noqa: S608
    return {name: bytes(content) for name, content in connection.execute(query).fetchall()}


def series_documents(connection: "duckdb.DuckDBPyConnection") -> dict[str, bytes]:
    """The documents in the folder of the series, as the latest release found it, by name; maybe none."""
    found = connection.execute("SELECT name, content FROM public.series_documents ORDER BY name").fetchall()
    return {name: bytes(content) for name, content in found}
