"""The csv files of `knowledge`: tables of probabilities, and data of other people, validated line by line."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path

from reanon_core.columns import label as nfc
from reanon_core.model.errors import InvalidSchema, Problem
from reanon_core.model.schema import Kind, QuasiIdentifier

MOST_PROBLEMS = 10
"""How many problems of one file are listed; the others are counted."""
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Line:
    """One line of a table."""

    number: int
    cells: Mapping[str, str]


@dataclass
class TableProblems:
    """The problems of one file, line by line."""

    what: str
    label: str
    problems: list[Problem] = field(default_factory=list)
    omitted: int = 0

    def add(self, rule: str, value: str, line: int | None = None) -> None:
        """Add a problem; those beyond the first few are only counted."""
        if len(self.problems) >= MOST_PROBLEMS:
            self.omitted += 1
            return
        where = f"{self.label}, line {line}" if line else self.label
        self.problems.append(Problem(self.what, rule, f"{where}: {value}" if value else where))

    def all(self) -> list[Problem]:
        """The problems, and how many more there are."""
        if not self.omitted:
            return self.problems
        return [*self.problems, Problem(self.what, f"be corrected in {self.omitted} more places", self.label)]


def read_lines(path: Path, problems: TableProblems, required: Sequence[str], optional: Sequence[str]) -> list[Line]:
    """The lines of a csv file with these columns; , or ; between the cells.

    Raises: InvalidSchema if it cannot be read or lacks a column.
    """
    what, label = problems.what, problems.label
    try:
        rows = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InvalidSchema(Problem(what, "be encoded as utf-8", label)) from None
    except OSError:
        advice = "paths start at the series' folder"
        raise InvalidSchema(Problem(what, "be a readable file", label, advice)) from None
    head = next((row for row in rows if row.strip()), "")
    separator = ";" if head.count(";") > head.count(",") else ","
    reader = csv.reader(rows, delimiter=separator)
    names: list[str] = []
    lines: list[Line] = []
    for number, cells in enumerate(reader, start=1):
        cleaned = [nfc(cell.strip()) for cell in cells]
        if not any(cleaned):
            continue
        if not names:
            names = cleaned
            _require_columns(names, what, label, required, optional)
        elif len(cleaned) != len(names):
            problems.add(f"have {len(names)} cells on every line", str(len(cleaned)), number)
        else:
            lines.append(Line(number, dict(zip(names, cleaned, strict=True))))
    if not lines and not problems.problems:
        raise InvalidSchema(Problem(what, "have a line with column names and at least one more", label))
    return lines


def _require_columns(names: list[str], what: str, label: str, required: Sequence[str], optional: Sequence[str]) -> None:
    missing = [name for name in required if name not in names]
    unknown = [name for name in names if name not in {*required, *optional}]
    if missing or unknown or len(set(names)) < len(names):
        more = f", and may have {', '.join(optional)}" if optional else ""
        raise InvalidSchema(
            Problem(what, f"have the columns {', '.join(required)}{more}", f"{label}: {', '.join(names)}")
        )


def probability(line: Line, problems: TableProblems) -> float | None:
    """The probability on a line."""
    text = line.cells["probability"]
    try:
        chance = float(text)
    except ValueError:
        chance = -1.0
    if not 0 <= chance <= 1:
        problems.add("hold probabilities between 0 and 1", text, line.number)
        return None
    return chance


def code_of(column: QuasiIdentifier, text: str) -> int | None:
    """The code of a value of a quasi-identifier; None if it has none."""
    if column.taxonomy is not None:
        return column.taxonomy.leaves.index(text) if text in column.taxonomy.leaves else None
    try:
        if column.kind is Kind.DATE:
            return date.fromisoformat(text).toordinal() - _EPOCH
        steps = Decimal(text) / column.granularity
    except (ValueError, InvalidOperation):
        return None
    return int(steps) if steps == steps.to_integral_value() and abs(steps) < 2**31 else None


def sums_wrong(sums: Mapping[tuple[str, int], float]) -> Iterator[tuple[str, float]]:
    """The rows of a table whose probabilities do not sum to 1, each name once."""
    listed = set()
    for (name, _), total in sums.items():
        if abs(total - 1) > 0.01 and name not in listed:
            listed.add(name)
            yield name, total
