"""Where the snapshot of a release is, and whether it is there."""

from pathlib import Path

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.config import PLACEHOLDER, DuckdbSource
from reanon_dagster.series.series import Series


class SnapshotMissing(InvalidSnapshot):
    """The snapshot of a release is not there (yet)."""


def source_path(series: Series, release: str) -> Path:
    """The file that holds the release's snapshot, or that is queried for it."""
    source = series.config.source
    written = source.duckdb if isinstance(source, DuckdbSource) else source.path
    return series.folder / written.replace(PLACEHOLDER, release)


def shown_path(series: Series, path: Path) -> str:
    """A path as the steward knows it: relative to the series' folder where it lies inside."""
    return str(path.relative_to(series.folder)) if path.is_relative_to(series.folder) else str(path)


def snapshot_exists(series: Series, release: str) -> bool:
    """Whether the release's snapshot is there: its file, or a query with at least one row.

    Raises: InvalidSnapshot if the query itself is wrong.
    """
    path = source_path(series, release)
    if not path.is_file():
        return False
    if isinstance(series.config.source, DuckdbSource):
        from reanon_dagster.sources.queries import query_has_rows

        return query_has_rows(series, release)
    return True


def missing(series: Series, release: str) -> SnapshotMissing:
    """The error for a snapshot that is not there."""
    path = shown_path(series, source_path(series, release))
    return SnapshotMissing(Problem(f"the snapshot of {release}", "be there before it can be published", path))
