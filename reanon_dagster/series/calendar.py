"""The releases of a series in order: cadences, names, periods, due dates, Dagster's partition keys."""

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.series.cron import Cron, parse_cron


@dataclass(frozen=True)
class Cadence:
    """Periods of one length, numbered without gaps."""

    name: str
    example: str
    pattern: str
    start_of: Callable[[list[int]], date]
    """The first day of the period, from the numbers in its name."""
    number_of: Callable[[date], int]
    start: Callable[[int], date]
    named: Callable[[date], str]

    def parse(self, release: str) -> int | None:
        """The number of the period with this name; None if there is none."""
        match = re.fullmatch(self.pattern, release, re.ASCII)
        if match is None:
            return None
        try:
            number = self.number_of(self.start_of([int(part) for part in match.groups()]))
            self.start(number + 1)  # the period must end before the calendar does
        except (ValueError, OverflowError):
            return None
        return number

    def at(self, number: int) -> str:
        """The name of the period with this number."""
        return self.named(self.start(number))


def _week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


CADENCES = {
    cadence.name: cadence
    for cadence in (
        Cadence(
            "daily",
            "a day such as 2024-03-01",
            r"(\d{4})-(\d\d)-(\d\d)",
            lambda n: date(*n),
            date.toordinal,
            date.fromordinal,
            date.isoformat,
        ),
        Cadence(
            "weekly",
            "an ISO week such as 2024-W09",
            r"(\d{4})-W(\d\d)",
            lambda n: date.fromisocalendar(n[0], n[1], 1),
            lambda day: (day.toordinal() - 1) // 7,  # day 1 of the calendar is a Monday
            lambda number: date.fromordinal(number * 7 + 1),
            _week,
        ),
        Cadence(
            "monthly",
            "a month such as 2024-03",
            r"(\d{4})-(\d\d)",
            lambda n: date(n[0], n[1], 1),
            lambda day: day.year * 12 + day.month - 1,
            lambda number: date(number // 12, number % 12 + 1, 1),
            lambda day: f"{day.year:04}-{day.month:02}",
        ),
        Cadence(
            "quarterly",
            "a quarter such as 2024-Q1",
            r"(\d{4})-Q([1-4])",
            lambda n: date(n[0], 3 * n[1] - 2, 1),
            lambda day: day.year * 4 + (day.month - 1) // 3,
            lambda number: date(number // 4, number % 4 * 3 + 1, 1),
            lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
        ),
        Cadence(
            "yearly",
            "a year such as 2024",
            r"(\d{4})",
            lambda n: date(n[0], 1, 1),
            lambda day: day.year,
            lambda number: date(number, 1, 1),
            lambda day: f"{day.year:04}",
        ),
    )
}


NAMED_BY_DATE = ("daily", "monthly", "yearly")
"""The cadences whose names Dagster can read as dates."""
_NEXT_TICK = timedelta(days=366 * 9)
"""A cron expression that ever ticks does so within nine years: 29 February 1896 to 1904 is the longest gap."""


@dataclass(frozen=True)
class Period:
    """The days that a release covers."""

    start: date
    end: date
    """The first day after the period."""


class Calendar(ABC):
    """The releases of a series, in order."""

    @abstractmethod
    def at(self, index: int) -> str | None:
        """The release with this index, counted from 0; None if there is none."""

    @abstractmethod
    def index(self, release: str) -> int:
        """The place of a release in the order, counted from 0.

        Raises: InvalidParameter if the series has no such release.
        """

    @abstractmethod
    def period(self, release: str) -> Period | None:
        """The days that a release covers; None if releases have names only."""

    @abstractmethod
    def due(self, today: date) -> list[str]:
        """The releases whose period has ended, in order."""

    @abstractmethod
    def partition_key(self, release: str) -> str:
        """Dagster's key for the release: its name where Dagster can read and sort it, else a key that says it."""

    @abstractmethod
    def release_of(self, partition_key: str) -> str:
        """The release of a partition key: the inverse of `partition_key`."""

    @abstractmethod
    def frozen_as(self) -> dict[str, object]:
        """What must not change after the first release, by key of series.yaml."""

    @property
    def first(self) -> str:
        """The first release."""
        return str(self.at(0))

    def next_after(self, release: str) -> str | None:
        """The release that follows; None after the last name."""
        return self.at(self.index(release) + 1)

    def previous(self, release: str) -> str | None:
        """The release before; None before the first."""
        return self.at(self.index(release) - 1)

    def backwards(self, release: str) -> Iterator[str]:
        """The release, the one before it, and so on to the first."""
        while True:
            yield release
            before = self.previous(release)
            if before is None:
                return
            release = before

    def is_due(self, release: str, today: date) -> bool:
        """Whether the release's period has ended."""
        self.index(release)
        period = self.period(release)
        return period is None or period.end <= today


@dataclass(frozen=True)
class RegularCalendar(Calendar):
    """One release for each period of a cadence, without end."""

    cadence: Cadence
    origin: int
    """The number of the first period."""

    @staticmethod
    def of(cadence: str, first: str) -> "RegularCalendar":
        """The calendar that begins with the period called `first`."""
        periods = CADENCES[cadence]
        origin = periods.parse(first)
        if origin is None:
            raise InvalidParameter(Problem("releases.first", f"be {periods.example}", first))
        return RegularCalendar(periods, origin)

    def at(self, index: int) -> str | None:
        """The release with this index."""
        return self.cadence.at(self.origin + index) if index >= 0 else None

    def index(self, release: str) -> int:
        """The number of periods since the first."""
        number = self.cadence.parse(release)
        if number is None:
            raise InvalidParameter(Problem("release", f"be {self.cadence.example}", release))
        if number < self.origin:
            raise InvalidParameter(Problem("release", f"not be before the first, {self.first}", release))
        return number - self.origin

    def period(self, release: str) -> Period:
        """From the first day of this period to that of the next."""
        number = self.origin + self.index(release)
        return Period(self.cadence.start(number), self.cadence.start(number + 1))

    def due(self, today: date) -> list[str]:
        """All periods before the one that holds today."""
        return [self.cadence.at(number) for number in range(self.origin, self.cadence.number_of(today))]

    def partition_key(self, release: str) -> str:
        """The name of a day, month or year; the first day of a week or a quarter."""
        if self.cadence.name in NAMED_BY_DATE:
            self.index(release)
            return release
        return self.period(release).start.isoformat()

    def release_of(self, partition_key: str) -> str:
        """The period of this name, or that begins on this day."""
        if self.cadence.name in NAMED_BY_DATE:
            return self.partition_key(partition_key)
        number = CADENCES["daily"].parse(partition_key)
        release = None if number is None else self.cadence.named(date.fromordinal(number))
        if release is None or self.partition_key(release) != partition_key:
            raise InvalidParameter(
                Problem("partition key", f"be the first day of {self.cadence.example}", partition_key)
            )
        return release

    def frozen_as(self) -> dict[str, object]:
        """The cadence and its first period."""
        return {"releases.cadence": self.cadence.name, "releases.first": self.first}


@dataclass(frozen=True)
class CronCalendar(Calendar):
    """One release for each tick of a cron expression, named by its date; it is due on that day."""

    expression: str
    begin: date
    cron: Cron

    @staticmethod
    def of(expression: str, first: str) -> "CronCalendar":
        """The calendar of the ticks on and after the day `first`."""
        number = CADENCES["daily"].parse(first)
        if number is None:
            raise InvalidParameter(Problem("releases.first", "be a day such as 2024-03-01", first))
        calendar = CronCalendar(expression, date.fromordinal(number), parse_cron(expression))
        if calendar.at(0) is None:
            raise InvalidParameter(Problem("releases.cron", "tick on some day", expression))
        return calendar

    def _ticks(self, begin: date, end: date) -> Iterator[date]:
        days = (begin + timedelta(days=ahead) for ahead in range((end - begin).days))
        return (day for day in days if self.cron.ticks_on(day))

    def at(self, index: int) -> str | None:
        """The release with this index."""
        day: date | None = self.begin - timedelta(days=1)
        for _ in range(index + 1):
            day = next(self._ticks(day + timedelta(days=1), day + _NEXT_TICK), None) if day else None
        return day.isoformat() if day and index >= 0 else None

    def next_after(self, release: str) -> str | None:
        """The tick that follows."""
        day = self._day(release) + timedelta(days=1)
        following = next(self._ticks(day, day + _NEXT_TICK), None)
        return following.isoformat() if following else None

    def previous(self, release: str) -> str | None:
        """The tick before; None before the first."""
        day = self._day(release)
        earlier = (day - timedelta(days=back) for back in range(1, (day - self.begin).days + 1))
        return next((one.isoformat() for one in earlier if self.cron.ticks_on(one)), None)

    def index(self, release: str) -> int:
        """The number of ticks since the first."""
        return sum(1 for _ in self._ticks(self.begin, self._day(release)))

    def _day(self, release: str) -> date:
        number = CADENCES["daily"].parse(release)
        day = date.fromordinal(number) if number is not None else date.min
        if day < self.begin or not self.cron.ticks_on(day):
            raise InvalidParameter(Problem("release", f"be a day on which {self.expression!r} ticks", release))
        return day

    def period(self, release: str) -> Period:
        """From the tick before (for the first: from its own day) to this tick."""
        before = self.previous(release)
        return Period(date.fromisoformat(before or release), date.fromisoformat(release))

    def due(self, today: date) -> list[str]:
        """All ticks up to today."""
        return [day.isoformat() for day in self._ticks(self.begin, today + timedelta(days=1))]

    def partition_key(self, release: str) -> str:
        """The day of the tick, which is the name."""
        return self._day(release).isoformat()

    def release_of(self, partition_key: str) -> str:
        """The tick on this day."""
        return self.partition_key(partition_key)

    def frozen_as(self) -> dict[str, object]:
        """The expression and its first day."""
        return {"releases.cron": self.expression, "releases.first": self.begin.isoformat()}


@dataclass(frozen=True)
class NamedCalendar(Calendar):
    """Releases with names, in the order in which they are listed; each is always due."""

    names: tuple[str, ...]

    def at(self, index: int) -> str | None:
        """The release with this index."""
        return self.names[index] if 0 <= index < len(self.names) else None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def index(self, release: str) -> int:
        """The place in the list."""
        if release not in self._places:
            raise InvalidParameter(Problem("release", f"be one of {', '.join(self.names)}", release))
        return self._places[release]

    def period(self, release: str) -> None:
        """A name has no days."""
        self.index(release)

    def due(self, today: date) -> list[str]:  # noqa: ARG002  a name is always due
        """All names."""
        return list(self.names)

    def partition_key(self, release: str) -> str:
        """The name as long as the list sorts as text; from the first name that does not, as r10 after r9, "~010 r10".

        Dagster sorts keys as text, and names may be added at the end: so a key depends on no later name.
        """
        place = self.index(release)
        return release if place < self._sorted else f"~{place + 1:03d} {release}"

    def release_of(self, partition_key: str) -> str:
        """The name without its place."""
        release = partition_key.rpartition(" ")[2]
        if release not in self._places or self.partition_key(release) != partition_key:
            keys = ", ".join(self.partition_key(name) for name in self.names)
            raise InvalidParameter(Problem("partition key", f"be one of {keys}", partition_key))
        return release

    @cached_property
    def _sorted(self) -> int:
        """How many names at the beginning of the list sort as text."""
        pairs = itertools.pairwise(self.names)
        return next((place for place, (before, name) in enumerate(pairs, 1) if name < before), len(self.names))

    def frozen_as(self) -> dict[str, object]:
        """The names; more may follow."""
        return {"releases.names": list(self.names)}
