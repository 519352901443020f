"""The key `releases` of series.yaml: when there is a release, and what it is called."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.series.calendar import Calendar, CronCalendar, NamedCalendar, RegularCalendar
from reanon_dagster.series.field_types import Part, ProblemError, Text, Texts

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
