"""What a quasi-identifier is, as a person declares it: Numeric, Date or Categorical, in the column's own units."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import ClassVar, Literal, TypeAlias

from reanon_core.model.coding import LEAST_CODE, MOST_CODE, grid_problem, plain
from reanon_core.model.errors import InvalidSchema, Problem, collect_problems, require
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier
from reanon_core.model.taxonomy import Taxonomy

Number: TypeAlias = int | float | str | Decimal
MissingRule: TypeAlias = Missing | Literal["refuse", "separate"]

_EPOCH = date(1970, 1, 1).toordinal()

ORDER = "write its values as order: [low, middle, high]; reanon init --from F writes the line for a table"


@dataclass(frozen=True, kw_only=True)
class Numeric:
    """A quasi-identifier with numbers, published as intervals."""

    kind: ClassVar[Kind] = Kind.NUMERIC

    min_width: Number | None = None
    """The least width of a published interval, both ends counted; one step of the granularity if left out."""
    domain: tuple[Number, Number] | None = None
    """First and last value allowed; others are errors. If left out, it grows with the data."""
    granularity: Number = 1
    """The distance between two neighbouring values; 0.1 for one decimal."""
    missing: MissingRule = "refuse"
    """Whether an empty value is refused, or published as such in a column `<name>_missing` (separate)."""

    def described(self, name: str) -> QuasiIdentifier:
        """The column of a schema.

        Raises: InvalidSchema with every problem of this column at once.
        """
        granularity = _decimal(f"{name}: granularity", self.granularity)
        grid = grid_problem(name, granularity)
        require([] if grid is None else [grid], InvalidSchema)
        return _intervals(name, self, granularity, lambda text: _number_code(f"{name}: domain", text, granularity))


@dataclass(frozen=True, kw_only=True)
class Date:
    """A quasi-identifier with dates, published as intervals."""

    kind: ClassVar[Kind] = Kind.DATE

    min_width: Number | None = None
    """The least width of a published interval in days, both ends counted; one day if left out."""
    domain: tuple[date | str, date | str] | None = None
    """First and last date allowed, such as 2024-03-01. If left out, it grows with the data."""
    missing: MissingRule = "refuse"
    """Whether an empty value is refused, or published as such in a column `<name>_missing` (separate)."""

    def described(self, name: str) -> QuasiIdentifier:
        """The column of a schema.

        Raises: InvalidSchema with every problem of this column at once.
        """
        return _intervals(name, self, Decimal(1), lambda text: _date_code(f"{name}: domain", text))


@dataclass(frozen=True, kw_only=True)
class Categorical:
    """A quasi-identifier with labels, published as intervals of the leaves of a taxonomy, or of an order."""

    kind: ClassVar[Kind] = Kind.CATEGORICAL

    taxonomy: Taxonomy | Sequence[Sequence[str]] | None = None
    """The tree, or its lines: a value first, what it belongs to next, the root last. Covering nodes are published."""
    order: Sequence[str] | None = None
    """The values in order, where there is no taxonomy."""
    min_width: Number | None = None
    """The least number of values that a published interval covers; 1 if left out."""
    missing: MissingRule = "refuse"
    """Whether an empty value is refused, or published as such in a column `<name>_missing` (separate)."""

    def described(self, name: str) -> QuasiIdentifier:
        """The column of a schema.

        Raises: InvalidSchema with every problem of this column at once.
        """
        problems = list(_missing_problems(name, self.missing))
        taxonomy = None
        if (self.taxonomy is None) == (self.order is None):
            problems.append(
                Problem(
                    name, "have a taxonomy or an order, and only one of them, because it is categorical", help=ORDER
                )
            )
        elif self.order is not None:
            taxonomy = collect_problems(problems, _ordered, name, self.order)
        elif isinstance(self.taxonomy, Taxonomy):
            taxonomy = self.taxonomy
        elif isinstance(self.taxonomy, str):
            rule = "be a Taxonomy or a list of lines, leaf first and root last"
            problems.append(
                Problem(f"{name}: taxonomy", rule, self.taxonomy, "read the file into lists of labels first")
            )
        elif self.taxonomy is not None:
            lines = [[label(text) for text in line] for line in self.taxonomy]
            taxonomy = collect_problems(problems, lambda: Taxonomy.from_lines(lines, name=name))
        min_width = collect_problems(problems, steps_of_width, name, self.min_width, Decimal(1), self.kind)
        if taxonomy and min_width and min_width > len(taxonomy.leaves):
            rule = f"be at most the number of its values, {len(taxonomy.leaves)}"
            problems.append(Problem(f"{name}: min_width", rule, str(min_width)))
        require(problems, InvalidSchema)
        return QuasiIdentifier(
            name=name,
            kind=Kind.CATEGORICAL,
            min_width=min_width or 1,
            domain=(0, len(taxonomy.leaves) - 1) if taxonomy else None,
            taxonomy=taxonomy,
            hierarchical=self.taxonomy is not None,
            missing=Missing(self.missing),
        )


def label(text: str) -> str:
    """A label in the Unicode form (NFC) that data and taxonomies share."""
    return unicodedata.normalize("NFC", text)


def steps_of_width(name: str, width: Number | None, granularity: Decimal, kind: Kind) -> int:
    """The least width of an interval in codes.

    Raises: InvalidSchema.
    """
    if width is None:
        return 1
    given = _decimal(f"{name}: min_width", width)
    steps = given / granularity
    if steps < 1 or steps != steps.to_integral_value() or steps > MOST_CODE:
        unit = {
            Kind.DATE: "be a whole number of days, at least 1",
            Kind.CATEGORICAL: "be a whole number of values, at least 1",
        }.get(kind, f"be a whole number of steps of the granularity {plain(granularity)}, at least 1")
        raise InvalidSchema(Problem(f"{name}: min_width", unit, plain(given)))
    return int(steps)


def _intervals(name: str, column: Numeric | Date, granularity: Decimal, code: Callable[[str], int]) -> QuasiIdentifier:
    problems = list(_missing_problems(name, column.missing))
    domain = collect_problems(problems, _domain, name, column.domain, code)
    min_width = collect_problems(problems, steps_of_width, name, column.min_width, granularity, column.kind)
    require(problems, InvalidSchema)
    if domain and min_width and domain[1] - domain[0] + 1 < min_width:
        width = plain((domain[1] - domain[0] + 1) * granularity)
        rule = f"fit into the domain, which is {width} wide, counting both ends"
        raise InvalidSchema(Problem(f"{name}: min_width", rule, plain(min_width * granularity)))
    return QuasiIdentifier(
        name=name,
        kind=column.kind,
        granularity=granularity,
        min_width=min_width or 1,
        domain=domain,
        missing=Missing(column.missing),
    )


def _domain(name: str, domain: tuple[object, object] | None, code: Callable[[str], int]) -> tuple[int, int] | None:
    if domain is None:
        return None
    texts = [str(end) for end in domain]
    low, high = (code(text) for text in texts)
    if low > high:
        raise InvalidSchema(Problem(f"{name}: domain", "have its lower end first", ", ".join(texts)))
    return low, high


def _date_code(what: str, text: str) -> int:
    try:
        return date.fromisoformat(text).toordinal() - _EPOCH
    except ValueError:
        raise InvalidSchema(Problem(what, "be two dates such as 2024-03-01", text)) from None


def _number_code(what: str, text: str, granularity: Decimal) -> int:
    try:
        steps = Decimal(text) / granularity
        on_grid = steps == steps.to_integral_value()
    except InvalidOperation:
        raise InvalidSchema(Problem(what, "be two numbers", text)) from None
    if not on_grid:
        raise InvalidSchema(Problem(what, f"be multiples of the granularity {plain(granularity)}", text))
    if not LEAST_CODE <= steps <= MOST_CODE:
        raise InvalidSchema(Problem(what, f"be less than {MOST_CODE} steps of the granularity away from 0", text))
    return int(steps)


def _ordered(name: str, order: Sequence[str]) -> Taxonomy:
    values = [label(str(value)) for value in order]
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice or not values:
        raise InvalidSchema(Problem(f"{name}: order", "list every value once", ", ".join(twice[:5]) or "empty"))
    return Taxonomy.flat(values)


def _missing_problems(name: str, missing: str) -> list[Problem]:
    allowed = [rule.value for rule in Missing]
    return [] if missing in allowed else [Problem(f"{name}: missing", f"be {' or '.join(allowed)}", missing)]


def _decimal(what: str, number: Number) -> Decimal:
    try:
        return Decimal(str(number))
    except InvalidOperation:
        raise InvalidSchema(Problem(what, "be a number", str(number))) from None
