"""Flaws of published intervals, in themselves and against the values of their members, as queries."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from reanon_core.checks.grid_ends import off_grid
from reanon_core.checks.judged_release import JudgedRelease
from reanon_core.model.arrays import MISSING
from reanon_core.model.release import ALL_MISSING, ANYTHING, NONE_MISSING, SOME_MISSING
from reanon_core.model.schema import Ends, QuasiIdentifier

Columns = Sequence[tuple[int, QuasiIdentifier]]
"""Quasi-identifiers with their numbers."""


def unpublished_flaws(release: JudgedRelease, hidden: Columns) -> int:
    """How many boxes reveal something about a column that is not shown."""
    low, high, missing = ANYTHING
    numbers = [number for number, _ in hidden]
    telling = _over(numbers, lambda n: f"low_{n} <> {low} OR high_{n} <> {high} OR missing_{n} <> {missing}")
    return release.number(f"SELECT {telling} FROM boxes")


def box_flaws(release: JudgedRelease, boxes: str, columns: Columns) -> dict[str, int]:
    """Flaws of the intervals themselves, counted over the boxes of a table and the columns that are shown.

    Paper: [XT07] Definition 2, and Section 4.1 on the least length of an interval.
    """
    numbers, by_number = [number for number, _ in columns], dict(columns)
    rules: dict[str, Callable[[int], str]] = {
        "unknown missing flags": lambda n: f"missing_{n} NOT BETWEEN {NONE_MISSING} AND {ALL_MISSING}",
        "intervals at odds with their missing flag": lambda n: (
            f"(low_{n} = {MISSING}) = ({_interval(n)}) OR (high_{n} = {MISSING}) = ({_interval(n)})"
        ),
        "intervals that end before they begin": lambda n: f"{_interval(n)} AND low_{n} > high_{n}",
        "intervals too narrow": lambda n: f"{_interval(n)} AND {_width(n)} BETWEEN 1 AND {by_number[n].min_width - 1}",
        "intervals outside the domain": lambda n: f"{_interval(n)} AND {_beyond(n, by_number[n])}",
    }
    counted = ", ".join(f'{_over(numbers, rule)} AS "{name}"' for name, rule in rules.items())
    found = release.numbers(f"SELECT {counted} FROM {boxes}")
    return {**found, **_end_flaws(release, boxes, columns)}


def uncovered(columns: Columns) -> str:
    """An aggregate over people with boxes: how many of their values are outside the interval.

    Paper: [XT07] Definition 2, property 2: the interval covers the value.
    """
    return _over(
        [number for number, _ in columns],
        lambda n: (
            f"CASE WHEN qi_{n} = {MISSING} THEN missing_{n} NOT IN ({SOME_MISSING}, {ALL_MISSING}) "
            f"ELSE missing_{n} = {ALL_MISSING} OR qi_{n} NOT BETWEEN low_{n} AND high_{n} END"
        ),
    )


def lacking(columns: Columns) -> str:
    """The same: how many values are missing, or may be by their box."""
    return _over([number for number, _ in columns], lambda n: f"qi_{n} = {MISSING} OR missing_{n} <> {NONE_MISSING}")


def flag_flaws(release: JudgedRelease, people: str, box: str, columns: Columns) -> int:
    """Boxes whose missing sign contradicts their members, who are in the table `people` with the number of their box.

    A box of counterfeits alone has no members.
    """
    numbers = [number for number, _ in columns]
    lack = ", ".join(f"count(*) FILTER (qi_{n} = {MISSING}) AS lack_{n}, min(missing_{n}) AS sign_{n}" for n in numbers)
    wrong = _over(
        numbers,
        lambda n: (
            f"sign_{n} <> CASE WHEN lack_{n} = 0 THEN {NONE_MISSING} WHEN lack_{n} = members THEN {ALL_MISSING} "
            f"ELSE {SOME_MISSING} END"
        ),
    )
    return release.number(f"SELECT {wrong} FROM (SELECT count(*) AS members, {lack} FROM {people} GROUP BY {box})")


def _end_flaws(release: JudgedRelease, boxes: str, columns: Columns) -> dict[str, int]:
    """Intervals with an end inside a bin; nothing to count if all ends may be exact."""
    gridded = [(number, column) for number, column in columns if column.ends is Ends.GRID]
    if not gridded:
        return {}
    off = 0
    for number, column in gridded:
        found = release.arrays(
            f"SELECT low_{number} AS low, high_{number} AS high, count(*) AS boxes FROM {boxes} "
            f"WHERE {_interval(number)} GROUP BY ALL"
        )
        low, high = (np.asarray(found[end], np.int32) for end in ("low", "high"))
        off += int(np.asarray(found["boxes"], np.int64)[off_grid(low, high, column)].sum())
    return {"intervals that end inside a bin": off}


def _interval(number: int) -> str:
    """Without members that have a value there is no interval."""
    return f"missing_{number} <> {ALL_MISSING}"


def _width(number: int) -> str:
    return f"high_{number}::BIGINT - low_{number} + 1"


def _beyond(number: int, column: QuasiIdentifier) -> str:
    domain = column.domain
    if domain is None and column.taxonomy is not None:  # the values of a category are its leaves
        domain = 0, len(column.taxonomy.leaves) - 1
    return "false" if domain is None else f"(low_{number} < {domain[0]} OR high_{number} > {domain[1]})"


def _over(numbers: Iterable[int], rule: Callable[[int], str]) -> str:
    """How often a rule applies to a column of a row, over these columns."""
    return " + ".join(f"count(*) FILTER ({rule(number)})" for number in numbers) or "0"
