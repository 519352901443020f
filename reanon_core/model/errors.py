"""Errors that carry their problems as objects and read as sentences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    from reanon_core.model.arrays import Int64

T = TypeVar("T")

LONGEST_TEXT = 400
"""The longest value that a message quotes."""


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
        """The problem as a sentence on one line; `private=False` leaves the value out."""
        shown = f" ({shortened(self.value)})" if private and self.value is not None else ""
        advice = f"; {self.help}" if self.help else ""
        return printable(f"{shortened(self.what)}{shown} must {self.rule}{advice}")


def shortened(text: str) -> str:
    """The text, or its beginning if it is too long for a message."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def printable(text: str) -> str:
    """The text with escapes for what would change a terminal or begin a line of its own."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


class ReanonError(Exception):
    """An error that the user can act on. Its text has one sentence for each problem."""

    exit_code: ClassVar[int] = 1
    persons: "Int64 | None" = None
    """Private: the pseudonyms of the people whom it concerns, if it concerns particular ones; never in its text."""
    remark: str = ""
    """What is added to its text, without any value of the data."""

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(problem.sentence() for problem in self.problems))

    def __str__(self) -> str:
        return f"{super().__str__()}{self.remark}"

    def redacted(self) -> str:
        """The sentences without any value from the data, for logs and the Dagster event log."""
        return "\n".join(problem.sentence(private=False) for problem in self.problems) + self.remark


class Caution(UserWarning):
    """A warning of ours: something is done that gives protection away, or that the data steward must read."""


class SentenceError(ReanonError):
    """An error whose text is a free sentence without personal data."""

    def __init__(self, sentence: str, *, persons: "Int64 | None" = None) -> None:
        self.said, self.persons = sentence, persons
        Exception.__init__(self, sentence)
        self.problems = ()

    def redacted(self) -> str:
        """The sentence, which has no personal data."""
        return f"{self.said}{self.remark}"


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

    def __init__(self, *, value: str, count: int, rows: int, m: int, largest_m: int, blocks: bool = False) -> None:
        self.value, self.count, self.rows, self.m, self.largest_m = value, count, rows, m, largest_m
        works = (
            f"in a series that begins, m = {largest_m} would work"
            if largest_m >= 2
            else "no m of at least 2 would work on these rows"
        )
        later = "publish a later snapshot, with more new people, under this name"
        way = (
            f"and no block can hide them, because they have fewer than {m} values, and others may join only if {m}, "
            f"theirs among them, are declared or were shown before; {later}, and declare the values of the sensitive "
            f"column when a series begins"
            if blocks
            else "or set not_eligible: blocks, which publishes them with counterfeits and may follow refuse in a series"
            f" on disk, or {later}"
        )
        self._rest = (
            f"has {count} of {rows} new rows, the bound is {rows // m} (one in {m}); {works}; {way}. "
            f"To leave this release out would tell that its new rows were refused"
        )
        super().__init__(f"new rows are not {m}-eligible: value {value!r} {self._rest}")

    def redacted(self) -> str:
        """The sentence without the value."""
        return f"new rows are not {self.m}-eligible: a value {self._rest}{self.remark}"


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
