"""What is public of a series and of a release: documents are made from this, and from nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, TypeAlias

from reanon_core.model.published_columns import PublishedColumn, published_columns
from reanon_core.model.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_dagster.series.calendar import Period
    from reanon_dagster.series.series import Series


Releases: TypeAlias = Mapping[str, Mapping[str, str]]
"""The sha256 of each published file of each release that is not withdrawn, in order."""


@dataclass(frozen=True, kw_only=True)
class PublicSeries:
    """What the series file declares, without sources, folders and keys."""

    name: str
    title: str
    description: str | None
    licence: str | None
    contact: str | None
    schema: Schema
    """The columns as they are declared. Values that were only observed are not in it: some are in no published row."""
    technique: Mapping[str, object]
    """Its name and its parameters."""
    promise: str
    """What the technique promises, in one sentence."""
    is_decoupled: bool
    k: int
    """The least number of people who share a box, in the decoupled form."""

    @staticmethod
    def of(series: "Series") -> "PublicSeries":
        """The public part of a series file."""
        from reanon_core.catalog import TECHNIQUES

        config, schema = series.config, series.schema.with_other_values(())
        return PublicSeries(
            name=series.name,
            title=_line(series.title),
            description=config.description,
            licence=None if config.licence is None else _line(config.licence),
            contact=None if config.contact is None else _line(config.contact),
            schema=schema if schema.sensitive.closed else schema.with_sensitive_values(()),
            technique={"name": config.technique.name, **series.parameters},
            promise=str(TECHNIQUES[config.technique.name].__doc__).splitlines()[0],
            is_decoupled=series.form == "decoupled",
            k=config.publish.k,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicRelease:
    """What anyone may know about a release."""

    series: PublicSeries
    release: str
    period: "Period | None"
    """The days that it covers; None if releases have names only."""
    columns: tuple[str, ...] | None
    """The columns of the schema that it shows; None for all."""
    is_grouped: bool
    facts: Mapping[str, object]
    """The manifest without the digests of files."""
    files: Mapping[str, str]
    """The sha256 of each file with data, by name."""
    tables: "Callable[[], Mapping[str, pa.Table]]"
    """The published tables by the name of their file, decoded when they are asked for."""
    report: Callable[[], str] | None = None
    """Makes the page about the release; None if the steward does not want one."""

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats of its tables, in their order."""
        endings = [name.rpartition(".")[2] for name in self.files]
        return tuple(dict.fromkeys(ending for ending in endings if ending in {"parquet", "csv"}))

    @property
    def days(self) -> tuple[date, date] | None:
        """The first and the last day that it covers; None if releases have names only."""
        return None if self.period is None else (self.period.start, self.period.end - timedelta(days=1))

    def shows(self, column: str) -> bool:
        """Whether it shows a column of the schema."""
        return self.columns is None or column in self.columns

    @property
    def row_columns(self) -> tuple[PublishedColumn, ...]:
        """The columns of its table, or in the decoupled form of its rows."""
        schema = self.series.schema
        if self.series.is_decoupled:
            return published_columns(schema, schema.names)
        return published_columns(schema, self.columns, grouped=self.is_grouped)


def _line(text: str) -> str:
    """A text of the steward on one line."""
    return " ".join(text.split())
