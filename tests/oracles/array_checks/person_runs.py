"""Where the people of one release are in a judge's sorted table of everyone ever published."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Bool, Int64


@dataclass(frozen=True, eq=False)
class PersonRuns:
    """The rows of the table that each person has, and every pair of a person and such a row."""

    start: Int64  # [n]
    end: Int64  # [n] start if the person is not in the table
    current: Int64  # [pairs] the person
    earlier: Int64  # [pairs] the row of the table


def runs_of(table: Int64, persons: Int64) -> PersonRuns:
    """The rows of these people in the table.

    Requires: both ascending, persons strictly.
    """
    start = table.searchsorted(persons, side="left")
    lengths = _run_lengths(table, start, persons)
    current = np.repeat(np.arange(len(start)), lengths)
    offset = np.arange(len(current)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return PersonRuns(start, start + lengths, current, start[current] + offset)


def _run_lengths(table: Int64, start: Int64, persons: Int64) -> Int64:
    """How many rows of the sorted table each person has; the first would be at `start`."""
    lengths = np.zeros(len(persons), dtype=np.int64)
    open_ = np.flatnonzero(start < len(table))
    at = start[open_]
    while len(open_):  # one turn more than the most signatures of a person: nearly always two
        here = table[at] == persons[open_]
        open_, at = open_[here], at[here] + 1
        lengths[open_] += 1
        inside = at < len(table)
        open_, at = open_[inside], at[inside]
    return lengths


def any_of(index: Int64, size: int) -> Bool:
    """Which of so many items are in the index."""
    found = np.zeros(size, dtype=np.bool_)
    found[index] = True
    return found


def inserted(rows: int, at: Int64) -> tuple[Bool, Int64]:
    """Which places the rows of a table keep, and the places of new ones that are each inserted before the row `at`."""
    target = at + np.arange(len(at))
    stays = np.ones(rows + len(at), dtype=np.bool_)
    stays[target] = False
    return stays, target
