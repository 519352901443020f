"""The keys of series.yaml: their types, defaults and meanings. docs/series-yaml.md is made from here."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.schema import Kind, Missing
from reanon_dagster.series.adversary_config import Adversary
from reanon_dagster.series.calendar import Calendar, CronCalendar, NamedCalendar, RegularCalendar
from reanon_dagster.series.field_types import Parameters, Part, Text, Texts, Told, as_list, keyed_by
from reanon_dagster.series.knowledge_config import KnowledgeConfig
from reanon_dagster.sources.kinds.catalog import read_source
from reanon_dagster.sources.kinds.source import Source

_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"
_RELEASE = r"[A-Za-z0-9][A-Za-z0-9._-]*"


ENGINES: dict[str, str] = {"embedded": "in the process that runs the command"}
"""The engines by the value of `engine` in series.yaml, and where each one works."""


def _known_engine(value: object) -> object:
    if not isinstance(value, str) or value not in ENGINES:
        raise ValueError(f"be {' or '.join(ENGINES)} for now; Spark and the options of the engines come later")
    return value


class _Releases(Part):
    columns: dict[str, Texts] = Field(
        default={},
        description="The columns that single releases show, for techniques that let them differ: "
        "`{r1: [age, disease]}`. All of a release's columns are listed, the sensitive one too if it is shown. "
        "A release that is not listed shows every column.",
    )
    select: dict[str, Text] = Field(
        default={},
        description='For single releases a condition over the source\'s columns, such as {r1: "age > 30"}: whom the '
        "release asks for. A release without one asks for everybody.",
    )

    @model_validator(mode="after")
    def _is_a_calendar(self) -> "_Releases":
        try:
            calendar = self.calendar()
        except InvalidParameter as error:
            raise Told(error.problems[0]) from None
        for key, named in (("columns", self.columns), ("select", self.select)):
            for release in named:
                try:
                    calendar.index(release)
                except InvalidParameter as error:
                    rule = "name a release of the series"
                    raise Told(Problem(f"releases.{key}.{release}", rule, help=str(error))) from None
        for release, columns in self.columns.items():
            if not columns or len(set(columns)) != len(columns):
                raise Told(Problem(f"releases.columns.{release}", "list at least one column, and each once"))
        return self

    def calendar(self) -> Calendar:
        """The calendar of these releases."""
        raise NotImplementedError


class RegularReleases(_Releases):
    """One release a period."""

    cadence: Literal["daily", "weekly", "monthly", "quarterly", "yearly"] = Field(description="How often.")
    first: Text = Field(description="The first release: 2024-03-01, 2024-W09, 2024-03, 2024-Q1 or 2024.")

    def calendar(self) -> Calendar:
        """One release a period, without end."""
        return RegularCalendar.of(self.cadence, self.first)


class CronReleases(_Releases):
    """One release for each tick of a cron expression, named by its date."""

    cron: Text = Field(description="Minute, hour, day of month, month, day of week; at most one tick a day.")
    first: Text = Field(description="The day from which ticks count, such as 2024-03-01.")

    def calendar(self) -> Calendar:
        """One release a tick, without end."""
        return CronCalendar.of(self.cron, self.first)


class NamedReleases(_Releases):
    """Releases with names, in this order, always due."""

    names: Texts = Field(description="The names in order. More may be added at the end later.")

    @field_validator("names")
    @classmethod
    def _usable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        odd = [name for name in value if not re.fullmatch(_RELEASE, name)]
        if odd:
            raise ValueError(f"use letters, digits, '.', '_' and '-' only, because a name is a folder; not {odd[0]!r}")
        if not value or len({name.lower() for name in value}) < len(value):
            raise ValueError("list at least one name, and each once")
        return value

    def calendar(self) -> Calendar:
        """The list."""
        return NamedCalendar(self.names)


class Column(Part):
    """A quasi-identifier: what others may know of a person."""

    kind: Kind = Field(default=Kind.NUMERIC, description="numeric, date or categorical.")
    min_width: Decimal | None = Field(
        default=None,
        description="The least width of a published interval, in the column's unit (days for dates, values for "
        "categories), both ends counted. Default: one step of the granularity.",
    )
    domain: tuple[Text, Text] | None = Field(
        default=None,
        description="First and last value allowed; others are errors. Default: it grows with the data.",
    )
    granularity: Decimal = Field(
        default=Decimal(1), description="numeric: the distance between two neighbouring values; 0.1 for one decimal."
    )
    missing: Missing = Field(
        default=Missing.REFUSE,
        description="An empty value is refused, or published as such in <name>_missing (separate).",
    )
    taxonomy: Text | None = Field(
        default=None, description="categorical: a csv file, on each line the value first and the root of the tree last."
    )
    order: Texts | None = Field(
        default=None, description="categorical: the values in order, where there is no taxonomy."
    )


class SensitiveColumn(Part):
    """The column whose link to a person is protected."""

    column: Text = Field(description="Its name.")
    values: Texts | None = Field(
        default=None, description="Its values, if only these may occur. Default: new values may come with each release."
    )
    taxonomy: Text | None = Field(
        default=None,
        description="Instead of values: a csv file, on each line the value first and the root of the tree last.",
    )


class TechniqueConfig(Parameters):
    """How the table is made safe."""

    name: Text = Field(description="One of the techniques below.")


class MoreCheck(Parameters):
    """A check beyond those of the technique."""

    name: Text = Field(description="Its name.")


class Publish(Part):
    """Where the public files go."""

    to: Text = Field(default="published", description="A folder; the series gets its own folder inside.")
    formats: Annotated[tuple[Literal["parquet", "csv"], ...], BeforeValidator(as_list)] = Field(
        default=("parquet", "csv"), min_length=1, description="The file types of the table."
    )


class Private(Part):
    """Where the steward's own files go."""

    to: Text = Field(default="private", description="A folder that only you can read; never inside the public one.")


def _releases_tag(value: object) -> str:
    keys = set(value) if isinstance(value, Mapping) else set()
    if isinstance(value, NamedReleases) or "names" in keys:
        return "<names>"
    return "<cron>" if isinstance(value, CronReleases) or "cron" in keys else "<cadence>"


Releases: TypeAlias = Annotated[
    Annotated[RegularReleases, Tag("<cadence>")]
    | Annotated[CronReleases, Tag("<cron>")]
    | Annotated[NamedReleases, Tag("<names>")],
    Discriminator(_releases_tag),
]
ColumnOrNothing: TypeAlias = Annotated[Column, BeforeValidator(lambda value: {} if value is None else value)]


class SeriesConfig(Part):
    """A series: one table of people, published again and again."""

    later: ClassVar[Mapping[str, str]] = {
        "source.postgres": "Postgres comes later; a DuckDB file or an exported csv or parquet file works now",
    }

    series: Text = Field(pattern=rf"^{_NAME}$", description="The name: letters, digits, _ and -. It names folders.")
    title: Text = Field(default="", description="A title for people. Default: the name.")
    description: Text | None = Field(default=None, description="What the table is about.")
    owners: Texts = Field(default=(), description="Who answers for it.")
    source: Annotated[Source, BeforeValidator(read_source)] = Field(
        description="Where the snapshots are, in one of the forms below."
    )
    releases: Releases = Field(description="When there is a release, and what it is called.")
    quasi_identifiers: dict[str, ColumnOrNothing] = Field(
        min_length=1, description="The columns that others may know of a person, each with its settings."
    )
    sensitive: Annotated[SensitiveColumn, keyed_by("column")] = Field(
        description="The column to protect: its name, or its name and values."
    )
    other: Texts = Field(default=(), description="Further columns, published as they are where the technique allows.")
    technique: Annotated[TechniqueConfig, keyed_by("name")] = Field(description="How the table is made safe.")
    compare: dict[str, dict[str, Any]] = Field(
        default={},
        description="Parameters of other techniques to compare with. It is accepted, but no command reads it yet.",
    )
    knowledge: KnowledgeConfig | None = Field(
        default=None,
        description="What an adversary is assumed to know about sensitive values, for techniques and checks that use "
        "it. Default: what can be counted in the original tables.",
    )
    adversary: Adversary = Field(default=Adversary(), description="What the attacks of `reanon audit` are given.")
    checks: Annotated[tuple[Annotated[MoreCheck, keyed_by("name")], ...], BeforeValidator(as_list)] = Field(
        default=(),
        description="Checks beyond the technique's own, which are always on: names, or a name with parameters.",
    )
    max_drift: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="Refuse a snapshot whose number of people differs from that of the release before by more than "
        "this share, such as 0.3. Default: nothing is refused, and more than 0.5 is shown as a warning in Dagster.",
    )
    publish: Publish = Field(default=Publish(), description="Where the public files go.")
    engine: Annotated[str, BeforeValidator(_known_engine)] = Field(
        default="embedded",
        description=f"Where releases are computed: {'; '.join(f'{name}, {where}' for name, where in ENGINES.items())}.",
    )
    private: Private = Field(default=Private(), description="Where the steward's own files go.")
