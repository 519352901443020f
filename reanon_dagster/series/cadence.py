"""Cadences: days, ISO weeks, months, quarters and years, numbered and named."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date


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
