"""Builds the core's quasi-identifiers and taxonomies from the columns of series.yaml."""

import csv
import unicodedata
from collections.abc import Iterable
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path

from reanon_core.model.coding import LEAST_CODE, MOST_CODE, grid_problem, plain
from reanon_core.model.errors import InvalidSchema, Problem, require
from reanon_core.model.schema import Kind, QuasiIdentifier
from reanon_core.model.taxonomy import Taxonomy
from reanon_dagster.series.config import Column
from reanon_dagster.series.problems import collect_problems

_EPOCH = date(1970, 1, 1).toordinal()


def quasi_identifier(name: str, column: Column, folder: Path) -> QuasiIdentifier:
    """The quasi-identifier that a column of series.yaml describes.

    Raises: InvalidSchema with every problem of this column at once.
    """
    problems = list(_misplaced(name, column))
    if column.kind is Kind.CATEGORICAL:
        return _categorical(name, column, folder, problems)
    if (problem := grid_problem(name, column.granularity)) is not None:
        problems.append(problem)
    require(problems, InvalidSchema)
    domain = collect_problems(problems, _domain, name, column)
    min_width = collect_problems(problems, _min_width, name, column)
    require(problems, InvalidSchema)
    if domain and min_width and domain[1] - domain[0] + 1 < min_width:
        width = plain((domain[1] - domain[0] + 1) * column.granularity)
        rule = f"fit into the domain, which is {width} wide, counting both ends"
        raise InvalidSchema(Problem(f"{name}: min_width", rule, plain(min_width * column.granularity)))
    return QuasiIdentifier(
        name=name,
        kind=column.kind,
        granularity=column.granularity,
        min_width=min_width or 1,
        domain=domain,
        missing=column.missing,
    )


def label(text: str) -> str:
    """A label in the Unicode form (NFC) that data and taxonomies share."""
    return unicodedata.normalize("NFC", text)


def read_taxonomy(name: str, path: Path, written: str) -> Taxonomy:
    """The taxonomy in a csv file whose lines begin with a leaf and end with the root; the separator is , or ;.

    Raises: InvalidSchema.
    """
    what = f"{name}: taxonomy"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidSchema(Problem(what, "be encoded as utf-8", written)) from None
    except OSError:
        advice = "paths start at the series' folder"
        raise InvalidSchema(Problem(what, "be a readable file", written, advice)) from None
    lines = _lines(text)
    if not lines:
        raise InvalidSchema(Problem(what, "have at least one line", written))
    problems = []
    for number, line in lines.items():
        if len(line) < 2 or not all(line):
            rule = "have on every line a value first and the root last, with no empty cell between"
            problems.append(Problem(what, rule, f"{written}, line {number}"))
    require(problems[:5], InvalidSchema)
    return Taxonomy.from_lines(list(lines.values()), name=name)


def _lines(text: str) -> dict[int, list[str]]:
    """The labels of each line that is not blank, by line number."""
    rows = text.splitlines()
    first = next((row for row in rows if row.strip()), "")
    separator = max(",;", key=lambda character: len(next(csv.reader([first], delimiter=character), [])))
    lines = {}
    for number, row in enumerate(csv.reader(rows, delimiter=separator), start=1):
        cells = [label(cell.strip()) for cell in row]
        if any(cells):
            lines[number] = cells
    return lines


def _misplaced(name: str, column: Column) -> Iterable[Problem]:
    """Settings that only another kind of column has."""
    if column.kind is not Kind.CATEGORICAL:
        for key in ("taxonomy", "order"):
            if getattr(column, key) is not None:
                rule = "be left out, because the column is not categorical"
                yield Problem(f"{name}: {key}", rule, help="or set kind: categorical")
    elif column.domain is not None:
        yield Problem(f"{name}: domain", "be left out, because the taxonomy or the order lists the values")
    if column.kind is not Kind.NUMERIC and column.granularity != 1:
        yield Problem(
            f"{name}: granularity", "be left out, because only numeric columns have one", plain(column.granularity)
        )


def _categorical(name: str, column: Column, folder: Path, problems: list[Problem]) -> QuasiIdentifier:
    taxonomy = None
    if (column.taxonomy is None) == (column.order is None):
        problems.append(Problem(name, "have a taxonomy or an order, not both, because it is categorical"))
    elif column.taxonomy is not None:
        taxonomy = collect_problems(problems, read_taxonomy, name, folder / column.taxonomy, column.taxonomy)
    else:
        taxonomy = collect_problems(problems, _ordered, name, column)
    min_width = collect_problems(problems, _min_width, name, column)
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
        hierarchical=column.taxonomy is not None,
        missing=column.missing,
    )


def _ordered(name: str, column: Column) -> Taxonomy:
    values = [label(value) for value in column.order or ()]
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice or not values:
        raise InvalidSchema(Problem(f"{name}: order", "list every value once", ", ".join(twice[:5]) or "empty"))
    return Taxonomy.flat(values)


def _domain(name: str, column: Column) -> tuple[int, int] | None:
    if column.domain is None:
        return None
    low, high = (_code(f"{name}: domain", text, column) for text in column.domain)
    if low > high:
        raise InvalidSchema(Problem(f"{name}: domain", "have its lower end first", ", ".join(column.domain)))
    return low, high


def _min_width(name: str, column: Column) -> int:
    if column.min_width is None:
        return 1
    steps = column.min_width / column.granularity
    if steps < 1 or steps != steps.to_integral_value() or steps > MOST_CODE:
        unit = {
            Kind.DATE: "be a whole number of days, at least 1",
            Kind.CATEGORICAL: "be a whole number of values, at least 1",
        }.get(column.kind, f"be a whole number of steps of the granularity {plain(column.granularity)}, at least 1")
        raise InvalidSchema(Problem(f"{name}: min_width", unit, plain(column.min_width)))
    return int(steps)


def _code(what: str, text: str, column: Column) -> int:
    """The code of one value in the file."""
    if column.kind is Kind.DATE:
        try:
            return date.fromisoformat(text).toordinal() - _EPOCH
        except ValueError:
            raise InvalidSchema(Problem(what, "be two dates such as 2024-03-01", text)) from None
    try:
        steps = Decimal(text) / column.granularity
        on_grid = steps == steps.to_integral_value()
    except InvalidOperation:
        raise InvalidSchema(Problem(what, "be two numbers", text)) from None
    if not on_grid:
        rule = f"be multiples of the granularity {plain(column.granularity)}"
        raise InvalidSchema(Problem(what, rule, text))
    if not LEAST_CODE <= steps <= MOST_CODE:
        raise InvalidSchema(Problem(what, f"be less than {MOST_CODE} steps of the granularity away from 0", text))
    return int(steps)
