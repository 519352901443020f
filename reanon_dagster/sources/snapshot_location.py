"""Where the snapshot of a release is, whether it is there, and whether it has changed."""

from pathlib import Path

from reanon_dagster.series.series import Series
from reanon_dagster.sources.kinds.source import SnapshotMissing, relative

__all__ = [
    "SnapshotMissing",
    "missing",
    "shown_path",
    "snapshot_exists",
    "snapshot_place",
    "snapshot_version",
]


def snapshot_exists(series: Series, release: str) -> bool:
    """Whether the release's snapshot is there.

    Raises: InvalidSnapshot if the source itself is wrong.
    """
    series.calendar.index(release)  # a name of the calendar is safe in a path and in a query
    return series.source.exists(series.folder, release)


def snapshot_version(series: Series, release: str) -> str:
    """A text that changes when the release's snapshot may have changed; cheap enough for a sensor.

    Raises: SnapshotMissing.
    """
    series.calendar.index(release)
    return series.source.version(series.folder, release)


def snapshot_place(series: Series, release: str) -> str:
    """Where the release's snapshot is, or will be, as the steward knows it."""
    return series.source.describe(series.folder, release)


def shown_path(series: Series, path: Path) -> str:
    """A path as the steward knows it: relative to the series' folder where it lies inside."""
    return relative(series.folder, path)


def missing(series: Series, release: str) -> SnapshotMissing:
    """The error for a snapshot that is not there."""
    return series.source.missing(series.folder, release)
