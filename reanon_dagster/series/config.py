"""The keys of series.yaml: their types, defaults and meanings. docs/series-yaml.md is generated from here."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import AliasChoices, BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from reanon_core.brakes import MAX_DRIFT, MIN_RETURNING, Limits
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.schema import Ends, Kind, Missing, Schema
from reanon_core.protocols import Form
from reanon_dagster.series.calendar import Calendar, CronCalendar, NamedCalendar, RegularCalendar
from reanon_dagster.series.engine_config import Engine, as_engine
from reanon_dagster.series.expectations import ExpectationConfig
from reanon_dagster.series.field_types import Parameters, Part, ProblemError, Text, Texts, as_list, keyed_by
from reanon_dagster.series.knowledge_config import Adversary, KnowledgeConfig
from reanon_dagster.series.store_key import StoreKey
from reanon_dagster.sources.kinds.catalog import read_source
from reanon_dagster.sources.kinds.source import Source

_RELEASE = r"[A-Za-z0-9][A-Za-z0-9._-]*"
RESERVED = ("readme.md", "datapackage.json", "report.html")
"""Names of documents in the folder of a series, in lower case: a release cannot be called so."""


class _Releases(Part):
    columns: dict[str, Texts] = Field(
        default={},
        description="The columns that single releases show, for techniques whose releases may differ in their columns: "
        "`{r1: [age, disease]}`. List all columns of the release, including the sensitive one if it is shown. "
        "A release that is not listed shows every column.",
    )
    select: dict[str, Text] = Field(
        default={},
        description='A condition over the source\'s columns for single releases, such as {r1: "age > 30"}: the people '
        "whom the release selects. A release without a condition selects everyone.",
    )

    @model_validator(mode="after")
    def _is_a_calendar(self) -> "_Releases":
        try:
            calendar = self.calendar()
        except InvalidParameter as error:
            raise ProblemError(error.problems[0]) from None
        for key, named in (("columns", self.columns), ("select", self.select)):
            for release in named:
                try:
                    calendar.index(release)
                except InvalidParameter as error:
                    rule = "name a release of the series"
                    raise ProblemError(Problem(f"releases.{key}.{release}", rule, help=str(error))) from None
        for release, columns in self.columns.items():
            if not columns or len(set(columns)) != len(columns):
                raise ProblemError(Problem(f"releases.columns.{release}", "list at least one column, each once"))
        return self

    def calendar(self) -> Calendar:
        """The calendar of these releases."""
        raise NotImplementedError


class RegularReleases(_Releases):
    """One release for each period."""

    cadence: Literal["daily", "weekly", "monthly", "quarterly", "yearly"] = Field(description="How often.")
    first: Text = Field(description="The first release: 2024-03-01, 2024-W09, 2024-03, 2024-Q1 or 2024.")

    def calendar(self) -> Calendar:
        """One release for each period, without end."""
        return RegularCalendar.of(self.cadence, self.first)


class CronReleases(_Releases):
    """One release for each tick of a cron expression, named by its date."""

    cron: Text = Field(description="Minute, hour, day of month, month, day of week; at most one tick per day.")
    first: Text = Field(description="The first day on which a tick counts, such as 2024-03-01.")

    def calendar(self) -> Calendar:
        """One release for each tick, without end."""
        return CronCalendar.of(self.cron, self.first)


class NamedReleases(_Releases):
    """Releases with names, in this order, always due."""

    names: Texts = Field(description="The names in order. You may add more at the end later.")

    @field_validator("names")
    @classmethod
    def _usable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        odd = [name for name in value if not re.fullmatch(_RELEASE, name)]
        if odd:
            raise ValueError(f"use letters, digits, '.', '_' and '-' only, because a name is a folder; not {odd[0]!r}")
        taken = [name for name in value if name.lower() in RESERVED]
        if taken:
            raise ValueError(f"be other names than those of documents beside the releases, such as {taken[0]}")
        if not value or len({name.lower() for name in value}) < len(value):
            raise ValueError("list at least one name, each once")
        return value

    def calendar(self) -> Calendar:
        """The list."""
        return NamedCalendar(self.names)


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


_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"


class Column(Part):
    """A quasi-identifier: a column that an adversary may know."""

    kind: Kind = Field(default=Kind.NUMERIC, description="numeric, date or categorical.")
    min_width: Decimal | None = Field(
        default=None,
        description="The least width of a published interval, in the column's unit (days for dates, values for "
        "categories), counting both ends. With `publish.ends: grid` it is the width of a bin. Default: one step of "
        "the granularity, and bins by the domain or by the size of the numbers (docs/limitations.md).",
    )
    domain: tuple[Text, Text] | None = Field(
        default=None,
        description="The first and the last allowed value; others are errors. Default: it grows with the data.",
    )
    granularity: Decimal = Field(
        default=Decimal(1), description="numeric: the distance between two neighbouring values; 0.1 for one decimal."
    )
    missing: Missing = Field(
        default=Missing.REFUSE,
        description="Whether empty values are refused, or published as missing in <name>_missing (separate).",
    )
    taxonomy: Text | None = Field(
        default=None, description="categorical: a csv file; each line begins with a value and ends with the root."
    )
    order: Texts | None = Field(default=None, description="categorical: the values in order, instead of a taxonomy.")


class SensitiveColumn(Part):
    """The column whose link to a person is protected."""

    column: Text = Field(description="Its name.")
    values: Texts | None = Field(
        default=None, description="Its values, if no others may occur. Default: each release may bring new values."
    )
    taxonomy: Text | None = Field(
        default=None,
        description="Instead of values: a csv file; each line begins with a value and ends with the root.",
    )


class TechniqueConfig(Parameters):
    """The technique that makes the releases safe."""

    name: Text = Field(description="One of the techniques below.")


class MoreCheck(Parameters):
    """A check beyond those that the technique always passes."""

    name: Text = Field(description="Its name.")


class Publish(Part):
    """Where the public files go, and where their intervals end."""

    to: Text = Field(default="published", description="A folder; the series gets a folder of its own inside.")
    formats: Annotated[tuple[Literal["parquet", "csv"], ...], BeforeValidator(as_list)] = Field(
        default=("parquet", "csv"), min_length=1, description="The file types of the table."
    )
    ends: Ends = Field(
        default=Ends.GRID,
        description="Where published intervals begin and end: where bins of a fixed grid do (grid), or at values "
        "of the group's members (exact). The first release freezes it.",
    )
    form: Form | None = Field(
        default=None,
        description="A box for each person, and the values of each group apart from them (decoupled); or a box for "
        "each group, as in the papers (boxes). Default: decoupled with a technique that has this form, but for its "
        "`variant: paper`; otherwise boxes. The first release freezes it.",
    )
    k: int = Field(
        default=10, ge=2, description="decoupled: the least number of people who share a box. Frozen as well."
    )
    report: bool = Field(
        default=True,
        description="Whether report.html, a page about the release, lies beside its tables. It is computed from public "
        "data alone.",
    )
    sign: Text | None = Field(
        default=None,
        description="The file of a private key that signs every manifest, from `reanon keygen` "
        "(docs/backup-and-keys.md).",
    )

    @model_validator(mode="after")
    def _has_a_k_to_share(self) -> "Publish":
        if "k" in self.model_fields_set and self.form == "boxes":
            raise ProblemError(Problem("publish.k", "be given with `form: decoupled`, and only then", str(self.k)))
        return self


class Private(Part):
    """Where the private files go."""

    to: Text = Field(default="private", description="A folder that only you can read, outside the public one.")
    head: Text | None = Field(
        default=None,
        description="One more file that records the newest release, such as heads/hospital.json on another disk. "
        "With it, older copies of the private and the public folder are noticed even if both are put back together.",
    )
    key: StoreKey | None = Field(
        default=None,
        description="Encrypts the store and the pseudonym key (docs/backup-and-keys.md): `{file: F}`, "
        "`{environment: NAME}` or `{keyring: NAME}`. Default: they are not encrypted.",
    )


ColumnOrNothing: TypeAlias = Annotated[Column, BeforeValidator(lambda value: {} if value is None else value)]


class SeriesConfig(Part):
    """A series: one table of people, published again and again."""

    series: Text = Field(pattern=rf"^{_NAME}$", description="The name: letters, digits, _ and -. It names folders.")
    title: Text = Field(default="", description="A title to show to people. Default: the name.")
    description: Text | None = Field(
        default=None, description="What the table is about. It is published in README.md with each release."
    )
    licence: Text | None = Field(
        default=None,
        validation_alias=AliasChoices("licence", "license"),
        description="Under which terms the releases may be used, such as CC-BY-4.0, or the address of the terms. It is "
        "published in README.md. `license` is the same key.",
    )
    contact: Text | None = Field(
        default=None, description="Whom an analyst may ask: an e-mail or web address. It is published in README.md."
    )
    owners: Texts = Field(default=(), description="Who is responsible for it.")
    source: Annotated[Source, BeforeValidator(read_source)] = Field(
        description="Where the snapshots are, in one of the forms below."
    )
    releases: Releases = Field(description="When there is a release, and what it is called.")
    quasi_identifiers: dict[str, ColumnOrNothing] = Field(
        min_length=1, description="The columns that an adversary may know, each with its settings."
    )
    sensitive: Annotated[SensitiveColumn, keyed_by("column")] = Field(
        description="The column to protect: its name, or its name and values."
    )
    other: Texts = Field(default=(), description="Further columns, published unchanged where the technique allows.")
    technique: Annotated[TechniqueConfig, keyed_by("name")] = Field(
        description="The technique that makes the releases safe."
    )
    compare: dict[str, dict[str, Any]] = Field(
        default={},
        description="Parameters of other techniques for `reanon compare` (docs/choosing.md): a technique with its "
        "parameters, or a label of your own with a `name`. Default: k = ell = m and n = min(3, m - 1).",
    )
    knowledge: KnowledgeConfig | None = Field(
        default=None,
        description="What an adversary is assumed to know about sensitive values, for techniques and checks that use "
        "it. Default: what can be counted in the original tables.",
    )
    adversary: Adversary = Field(default=Adversary(), description="What the attacks of `reanon audit` may know.")
    checks: Annotated[tuple[Annotated[MoreCheck, keyed_by("name")], ...], BeforeValidator(as_list)] = Field(
        default=(),
        description="Checks beyond those of the technique, which always run: names, or a name with parameters.",
    )
    expectations: tuple[ExpectationConfig, ...] = Field(
        default=(),
        description="What you expect of every snapshot, in the words of Great Expectations (docs/adding-a-series.md). "
        "A snapshot that fails one is refused.",
    )
    max_drift: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=MAX_DRIFT,
        description="Refuse a snapshot whose number of people differs from the previous release's by more than this "
        "share; null for any number. The default lets a change of fewer than 50 people pass.",
    )
    min_returning: Annotated[float, Field(ge=0, le=1)] = Field(
        default=MIN_RETURNING,
        description="Refuse a snapshot that has less than this share of the previous release's people, because their "
        "ids may have changed; 0 for any share. The default lets a release after one of fewer than 50 people pass.",
    )
    max_lost: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=Limits().lost,
        description="Refuse a release that loses more than this share of the people with one sensitive value, of "
        "values with 50 people or more (docs/adding-a-series.md#brakes); null for any share.",
    )
    max_withheld: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=Limits().withheld,
        description="Refuse a release that withholds more than this share of the people, and 50 or more; null for any "
        "share.",
    )
    max_growth: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = Field(
        default=Limits().growth,
        description="Refuse a release in which a typical count is farther off than so many times the release before, "
        "from 500 people and an error of 5% on; null for any error.",
    )
    automation: Literal["sensor", "condition"] = Field(
        default="sensor",
        description="What requests releases once it is switched on in Dagster: the sensor for landed snapshots "
        "(sensor), or an automation condition of `release`, to which that sensor reports snapshots (condition).",
    )
    publish: Publish = Field(default=Publish(), description="Where the public files go, and where intervals end.")
    engine: Annotated[Engine, BeforeValidator(as_engine)] = Field(
        default=Engine(),
        description="Where releases are computed: embedded, in the process that runs the command, or spark. Either may "
        'have a limit for its memory: `{embedded: {memory_limit: 6GB}}`, `{spark: {master: "local[2]"}}`.',
    )
    threads: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        default=None,
        description="How many threads split buckets, for the techniques that have them; any number gives the same "
        "release. Arrow and DuckDB use all cores. Default: one for each core.",
    )
    private: Private = Field(default=Private(), description="Where the private files go.")


class SchemaConfig(Part):
    """The columns of releases that reanon did not make: as much of a series file as an attack needs."""

    id: Text = Field(default="id", description="The column of the people file that identifies the person of each row.")
    quasi_identifiers: dict[str, ColumnOrNothing] = Field(
        min_length=1, description="The columns that an adversary may know, each with its settings."
    )
    sensitive: Annotated[SensitiveColumn, keyed_by("column")] = Field(description="The column to protect.")
    other: Texts = Field(default=(), description="Further columns of the releases, published unchanged.")
    optional: Texts = Field(default=(), description="The columns that some releases may lack.")
    decimal: Literal[".", ","] = Field(default=".", description="The decimal mark of numbers in the files.")


class ExternalSchema(NamedTuple):
    """How to read releases that reanon did not make, and a file of people."""

    id: str
    """The column that identifies a person."""
    schema: Schema
    optional: frozenset[str]
    """The columns that some releases may lack."""
    decimal: str = "."
