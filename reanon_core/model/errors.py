"""Errors that carry their problems as objects and read as sentences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Problem:
    """One problem, which reads *what (value) must rule; help*."""

    what: str
    """The column, option or key that is wrong."""
    rule: str
    """What it must be or do, without the word "must"."""
    value: str | None = None
    """The offending value: shown to the steward, left out of logs."""
    help: str | None = None
    """What would help."""

    def sentence(self, *, private: bool = True) -> str:
        """The problem as a sentence; `private=False` leaves the value out."""
        shown = f" ({self.value})" if private and self.value is not None else ""
        advice = f"; {self.help}" if self.help else ""
        return f"{self.what}{shown} must {self.rule}{advice}"


class ReanonError(Exception):
    """An error that the user can act on. Its text has one sentence for each problem."""

    exit_code: ClassVar[int] = 1

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(problem.sentence() for problem in self.problems))

    def redacted(self) -> str:
        """The sentences without any value from the data, for logs and the Dagster event log."""
        return "\n".join(problem.sentence(private=False) for problem in self.problems)


class SentenceError(ReanonError):
    """An error whose text is a free sentence without personal data."""

    def __init__(self, sentence: str) -> None:
        self.said = sentence
        Exception.__init__(self, sentence)
        self.problems = ()

    def redacted(self) -> str:
        """The sentence, which has no personal data."""
        return self.said


class InvalidParameter(ReanonError):
    """A parameter of a technique, a check or a command is out of its range."""

    exit_code: ClassVar[int] = 2


class InvalidSchema(ReanonError):
    """The description of the series is wrong."""

    exit_code: ClassVar[int] = 2


class InvalidSnapshot(ReanonError):
    """The data of a snapshot is wrong: nulls, domains, duplicate ids, missing columns, types."""

    exit_code: ClassVar[int] = 2


class OutOfOrder(SentenceError):
    """A release was requested out of order, or later releases have frozen it."""


class Refused(SentenceError):
    """A candidate was rejected: a required check failed, or the series is frozen."""


class Unpublishable(SentenceError):
    """The technique cannot keep its promise on this data. Nothing was changed."""


class NotEligible(Unpublishable):
    """The new rows are not m-eligible: one value is too frequent among them.

    Paper: [XT07] Section 4.1.
    """

    def __init__(self, *, value: str, count: int, rows: int, m: int, largest_m: int) -> None:
        self.value, self.count, self.rows, self.m, self.largest_m = value, count, rows, m, largest_m
        works = (
            f"the largest m that would work is {largest_m}"
            if largest_m >= 2
            else "no m of at least 2 would work on these rows"
        )
        self._rest = (
            f"has {count} of {rows} new rows, the bound is {rows // m} (one in {m}); {works}; "
            f"or set not_eligible: partial-blocks (publish some of them in a block, with counterfeits)"
        )
        super().__init__(f"new rows are not {m}-eligible: value {value!r} {self._rest}")

    def redacted(self) -> str:
        """The sentence without the value."""
        return f"new rows are not {self.m}-eligible: a value {self._rest}"


class TooFewValues(Unpublishable):
    """A person's new value cannot be protected: too few values are disjoint from their earlier signatures."""


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun: "1 person", "2 people"."""
    return f"{number:,} {one if number == 1 else many}"


def require(problems: Sequence[Problem], error: type[ReanonError]) -> None:
    """Raise the error with all problems at once, if there are any."""
    if problems:
        raise error(problems)


def collect_problems(problems: list[Problem], function: Callable[..., T], *given: object) -> T | None:
    """The function's result; None if it raises one of our errors, whose problems are added to the list."""
    try:
        return function(*given)
    except ReanonError as error:
        problems.extend(error.problems)
        return None
