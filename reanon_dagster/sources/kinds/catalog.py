"""The kinds of sources by the key of series.yaml that names them. A new kind is a file here and a line below."""

from collections.abc import Mapping

from reanon_dagster.sources.kinds.changes import ChangesSource
from reanon_dagster.sources.kinds.delta_tables import DeltaSource
from reanon_dagster.sources.kinds.duckdb_queries import DuckdbSource
from reanon_dagster.sources.kinds.files import FileSource
from reanon_dagster.sources.kinds.postgres_queries import PostgresSource
from reanon_dagster.sources.kinds.source import Source

SOURCES: dict[str, type[Source]] = {
    "path": FileSource,
    "changes": ChangesSource,
    "duckdb": DuckdbSource,
    "postgres": PostgresSource,
    "delta": DeltaSource,
}


def read_source(value: object) -> Source:
    """The source that the key `source` of series.yaml describes.

    Raises: pydantic.ValidationError with every problem at once.
    """
    return value if isinstance(value, Source) else _kind(value).model_validate(value)


def _kind(value: object) -> type[Source]:
    """The kind whose own key is there; failing that, the kind that shares the most keys."""
    keys = set(value) if isinstance(value, Mapping) else set()
    best = max(SOURCES, key=lambda key: (key in keys, len(keys & set(SOURCES[key].model_fields))))
    return SOURCES[best]
