"""Builds the core's quasi-identifiers and taxonomies from the columns of series.yaml."""

import csv
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from reanon_core.columns import Categorical, Date, Numeric, label, steps_of_width
from reanon_core.model.coding import plain
from reanon_core.model.errors import InvalidSchema, Problem, collect_problems, require
from reanon_core.model.schema import Kind, QuasiIdentifier
from reanon_core.model.taxonomy import Taxonomy
from reanon_dagster.series.config import Column


def quasi_identifier(name: str, column: Column, folder: Path) -> QuasiIdentifier:
    """The quasi-identifier that a column of series.yaml describes.

    Raises: InvalidSchema with every problem of this column at once.
    """
    problems = list(_misplaced(name, column))
    tree = None
    if column.taxonomy is not None and column.order is None and column.kind is Kind.CATEGORICAL:
        tree = collect_problems(problems, read_taxonomy, name, folder / column.taxonomy, column.taxonomy)
        if tree is None:
            collect_problems(problems, steps_of_width, name, column.min_width, Decimal(1), column.kind)
            raise InvalidSchema(problems)
    described = collect_problems(problems, _core_column(column, tree).described, name)
    if problems or described is None:
        raise InvalidSchema(problems)
    return described


def _core_column(column: Column, tree: Taxonomy | None) -> Numeric | Date | Categorical:
    missing, width = column.missing, column.min_width
    if column.kind is Kind.CATEGORICAL:
        taxonomy = () if column.taxonomy is not None and tree is None else tree
        return Categorical(taxonomy=taxonomy, order=column.order, min_width=width, missing=missing)
    if column.kind is Kind.DATE:
        return Date(min_width=width, domain=column.domain, missing=missing)
    return Numeric(min_width=width, domain=column.domain, granularity=column.granularity, missing=missing)


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
        rule = "be left out, because only numeric columns have one"
        yield Problem(f"{name}: granularity", rule, plain(column.granularity))
