"""Cron expressions that tick at most once a day: five fields with *, lists, ranges, steps and names."""

from dataclasses import dataclass
from datetime import date

from reanon_core.model.errors import InvalidParameter, Problem

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
_MONTHS = dict(
    zip(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), range(1, 13), strict=True)
)
_WEEKDAYS = dict(zip(("sun", "mon", "tue", "wed", "thu", "fri", "sat"), range(7), strict=True))
_NAMES: tuple[dict[str, int], ...] = ({}, {}, {}, _MONTHS, _WEEKDAYS)


@dataclass(frozen=True)
class Cron:
    """The days on which an expression ticks."""

    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Sunday is 0."""
    either: bool
    """Whether a day of the month or of the week is enough: cron's rule when both are given."""

    def ticks_on(self, day: date) -> bool:
        """Whether there is a tick on this day."""
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return of_month or of_week if self.either else of_month and of_week


def parse_cron(expression: str) -> Cron:
    """The days of the expression.

    Raises: InvalidParameter if it is no cron expression, or ticks more than once a day.
    """
    fields = expression.lower().split()
    if len(fields) != len(_FIELDS):
        rule = "have five fields: minute, hour, day of month, month, day of week"
        raise InvalidParameter(Problem("releases.cron", rule, expression))
    minutes, hours, days, months, weekdays = (_values(text, at, expression) for at, text in enumerate(fields))
    if len(minutes) > 1 or len(hours) > 1:
        rule = "tick at most once a day, because a release is named by its date"
        raise InvalidParameter(Problem("releases.cron", rule, expression, "give one minute and one hour"))
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    return Cron(days, months, frozenset(day % 7 for day in weekdays), either)


def _values(text: str, field: int, expression: str) -> frozenset[int]:
    name, low, high = _FIELDS[field]
    values: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        try:
            begin = low if first == "*" else _number(first, field)
            end = _number(last, field) if dash else high if first == "*" or step else begin
            every = int(step) if step else 1
        except ValueError:
            begin, end, every = high + 1, high + 1, 1
        if not low <= begin <= end <= high or every < 1:
            rule = f"have a {name} from {low} to {high}"
            raise InvalidParameter(Problem("releases.cron", rule, f"{part} in {expression}"))
        values.update(range(begin, end + 1, every))
    return frozenset(values)


def _number(text: str, field: int) -> int:
    return _NAMES[field][text] if text in _NAMES[field] else int(text)
