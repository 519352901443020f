"""For assets that people build on `release`: its partitions, the release of a run, its tables, and when to run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import dagster as dg
from pydantic import Field

from reanon_core.model.errors import Refused
from reanon_dagster.partitions import CRON, partitions_of
from reanon_dagster.release_reader import open_release, published_tables
from reanon_dagster.series.calendar import RegularCalendar
from reanon_dagster.series.series_file import load_series

if TYPE_CHECKING:
    import pyarrow as pa


def release_partitions(series: str | Path) -> dg.PartitionsDefinition[str]:
    """The partitions of a series' releases, from its series.yaml."""
    return partitions_of(load_series(Path(series), lazily=True).calendar)


def release_of(context: dg.AssetExecutionContext) -> str:
    """The name of the release of a run's partition, such as 2024-Q2 for 2024-04-01."""
    key, partitions = context.partition_key, context.assets_def.partitions_def
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        for cadence, first in {"quarterly": "1900-Q1", "weekly": "1900-W01"}.items():
            if partitions.cron_schedule == CRON[cadence]:
                return str(RegularCalendar.of(cadence, first).release_of(key))
    return str(key).rpartition(" ")[2]


def each_release() -> dg.AutomationCondition[Any]:
    """Run once for each release that is published, older ones too, and not again after a failure."""
    condition = dg.AutomationCondition
    waits = condition.any_deps_missing() | condition.in_progress() | condition.execution_failed()
    return condition.missing() & ~waits


PEOPLE = "people"
"""The table that every release has: `open_release(folder).people()`."""


class PublishedReleases(dg.ConfigurableIOManager):
    """Loads a table of `release` for an asset below it, from the public files alone.

    The type of the parameter decides what it gets: a DataFrame of pandas or polars, a relation of DuckDB, or an Arrow
    table. A run of several partitions gets one for each, by the name of the release.
    """

    series: str = Field(description="The series file, or its folder.")
    table: str = Field(
        default=PEOPLE, description="people, in either form; or a file: table, rows, values, counterfeits."
    )

    def load_input(self, context: dg.InputContext) -> Any:
        """The table of the release, or of each release.

        Raises: Refused if it is not there.
        """
        series = load_series(Path(self.series), lazily=True)
        library = str(getattr(context.dagster_type.typing_type, "__module__", "")).partition(".")[0]
        found = {}
        for key in context.asset_partition_keys:
            release = series.calendar.release_of(key)
            folder = series.published_folder / release
            tables = published_tables(folder)
            if tables and self.table == PEOPLE:
                tables[PEOPLE] = open_release(folder).people().to_arrow()
            if self.table not in tables:
                has = f"; it has {', '.join(tables)}" if tables else ": it is not published, or was withdrawn"
                raise Refused(f"release {release} of {series.name} has no {self.table}{has}")
            found[release] = _as(library, tables[self.table])
        return found if len(found) > 1 else next(iter(found.values()))

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:  # noqa: ARG002
        """Refuse to write: only the gate publishes."""
        raise Refused("published releases are read here and never written; give your asset an IO manager of its own")


def _as(library: str, table: "pa.Table") -> Any:
    if library == "pandas":
        return table.to_pandas()
    if library == "polars":
        import polars as pl

        return pl.from_arrow(table)
    if library.lstrip("_") == "duckdb":
        import duckdb

        return cast("Any", duckdb).from_arrow(table)
    return table
