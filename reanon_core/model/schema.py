"""The columns of a series: their roles, their values, and how finely they are published."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum

from reanon_core.model.errors import InvalidSchema, Problem, require
from reanon_core.model.taxonomy import Taxonomy


class Kind(StrEnum):
    """How the values of a quasi-identifier are ordered and measured."""

    NUMERIC = "numeric"
    DATE = "date"
    CATEGORICAL = "categorical"


class Missing(StrEnum):
    """How missing values of a quasi-identifier are treated."""

    REFUSE = "refuse"
    SEPARATE = "separate"


class Ends(StrEnum):
    """Where published intervals begin and end."""

    GRID = "grid"
    """Where bins of a grid do that is the same in every release, so that an end tells no more than a bin."""
    EXACT = "exact"
    """At values of the group's members, as far as min_width allows."""


SHARE = 128
"""Without a min_width a bin is as wide as the largest power of two that is not above a 128th of the declared domain
or, without a domain, of the number itself; but at least SMALLEST."""
SMALLEST = 2
FOUR_WEEKS = 28
"""Without a min_width and a domain, the days of a bin of dates."""
TELLS_APART = "values published as they are tell the rows of a group apart"
LINKS = "a value published as it is links a person's rows across releases"
"""Why a technique publishes no non-identifiers."""


@dataclass(frozen=True, kw_only=True)
class QuasiIdentifier:
    """A column that an adversary may know, published as intervals of integer codes.

    A code is a position on the column's own grid: value / granularity for numbers, days since 1970
    for dates, the leaf's position for categories. Lengths are differences of codes.
    """

    name: str
    kind: Kind = Kind.NUMERIC
    granularity: Decimal = Decimal(1)
    """The distance between adjacent values, in the column's own unit."""
    min_width: int = 1
    """The least number of codes that a published interval covers."""
    domain: tuple[int, int] | None = None
    """The first and last code allowed; None if the domain grows with the data."""
    taxonomy: Taxonomy | None = None
    hierarchical: bool = False
    """Whether the taxonomy is more than an order, so that covering nodes are published."""
    missing: Missing = Missing.REFUSE
    ends: Ends = Ends.EXACT
    """Where intervals begin and end; the doors' default is GRID, docs/limitations.md says what the bins are."""

    def __post_init__(self) -> None:
        """Check the ranges that other modules rely on."""
        require(list(self._problems()), InvalidSchema)

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The first and last possible code, if known: of the declared domain, or of the leaves."""
        if self.taxonomy is not None:
            return (0, len(self.taxonomy.paths) - 1)
        return self.domain

    def _problems(self) -> Iterator[Problem]:
        if self.granularity <= 0:
            yield Problem(f"{self.name}: granularity", "be above 0", str(self.granularity))
        if self.min_width < 1:
            yield Problem(f"{self.name}: min_width", "be at least one step of the granularity", str(self.min_width))
        if (self.kind is Kind.CATEGORICAL) != (self.taxonomy is not None):
            yield Problem(f"{self.name}", "have a taxonomy or an order if, and only if, it is categorical")
        if self.bounds is not None:
            low, high = self.bounds
            if low > high:
                yield Problem(f"{self.name}: domain", "begin before it ends", f"{low}, {high}")
            elif high - low + 1 < self.min_width:
                yield Problem(f"{self.name}: min_width", "fit into the domain", str(self.min_width))


@dataclass(frozen=True, kw_only=True)
class Sensitive:
    """The column whose link to a person is protected. Its values are categories."""

    name: str
    values: tuple[str, ...] = ()
    """The values known so far; a code is a position in this list, so the list only grows."""
    closed: bool = False
    """Whether the values are declared, so that any other value is an error."""
    taxonomy: Taxonomy | None = None
    """The tree whose leaves are the values, if one is declared."""

    def with_values(self, values: tuple[str, ...]) -> "Sensitive":
        """The same column with more values known."""
        return replace(self, values=values)


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The columns of a series, frozen at the first release except for the growing lists of values."""

    quasi_identifiers: tuple[QuasiIdentifier, ...]
    sensitive: Sensitive
    other: tuple[str, ...] = field(default=())
    """The non-identifiers: published as they are, together with the sensitive value."""
    other_values: tuple[tuple[str, ...], ...] = field(default=())
    """The values of each non-identifier known so far; a code is a position in its list, so the lists only grow."""

    def __post_init__(self) -> None:
        """Check that every column has one role."""
        problems = [] if self.quasi_identifiers else [Problem("quasi_identifiers", "name at least one column")]
        names = [*self.names, self.sensitive.name, *self.other]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            problems.append(Problem("a column", "have one role only", ", ".join(twice)))
        require(problems, InvalidSchema)
        known = (*self.other_values, *((),) * (len(self.other) - len(self.other_values)))
        object.__setattr__(self, "other_values", known[: len(self.other)])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers, in order."""
        return tuple(column.name for column in self.quasi_identifiers)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that can be published."""
        return (*self.names, self.sensitive.name, *self.other)

    def with_ends(self, ends: Ends) -> "Schema":
        """The same schema with these ends of intervals for every quasi-identifier."""
        return replace(self, quasi_identifiers=tuple(replace(column, ends=ends) for column in self.quasi_identifiers))

    def with_other_values(self, values: tuple[tuple[str, ...], ...]) -> "Schema":
        """The same schema with more values of the non-identifiers known."""
        return replace(self, other_values=values)

    def with_sensitive_values(self, values: tuple[str, ...]) -> "Schema":
        """The same schema with more sensitive values known."""
        return replace(self, sensitive=self.sensitive.with_values(values))

    def other_problems(self, technique: str, why: str) -> list[Problem]:
        """What is wrong with non-identifiers, if the technique can publish none."""
        if not self.other:
            return []
        advice = "make it a quasi-identifier, or leave it out"
        return [Problem("other", f"be empty with {technique}: {why}", ", ".join(self.other), advice)]
