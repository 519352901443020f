"""The product around the core: series files, the store, the command and the Dagster assets.

From Python, `open_series("series.yaml")` opens a series on disk.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reanon_dagster.stored_series import StoredSeries, open_series

__all__ = ["StoredSeries", "open_series"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from reanon_dagster import stored_series  # the command must not load it

    return getattr(stored_series, name)
