"""The product around the core: series files, the store, the command and the Dagster assets.

From Python, `open_series("series.yaml")` opens a series on disk, and `open_release("published/…")` answers questions
from what was published. In a `dg` project, `SeriesComponent` wraps a series; assets of
your own build on it with `release_partitions`, `release_of`, `PublishedReleases` and `each_release`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reanon_dagster.release_reader import open_release, open_releases, release_view
    from reanon_dagster.stored_series import StoredSeries, open_series

__all__ = ["StoredSeries", "open_release", "open_releases", "open_series", "release_view"]

HOMES = {
    "StoredSeries": "reanon_dagster.stored_series",
    "open_series": "reanon_dagster.stored_series",
    "open_release": "reanon_dagster.release_reader",
    "open_releases": "reanon_dagster.release_reader",
    "release_view": "reanon_dagster.release_reader",
    "PublishedReleases": "reanon_dagster.published_releases",
    "each_release": "reanon_dagster.published_releases",
    "release_of": "reanon_dagster.published_releases",
    "release_partitions": "reanon_dagster.published_releases",
    "SeriesComponent": "reanon_dagster.definitions",
}
"""Where each exported name is defined. A name is imported when it is used: the command must load none of them."""


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})  # `dg` finds components by their names here
