"""A release as all judges at size read it: whether it can be read, and figures of its groups, computed once."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.engine.column_folder import forget_pages
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.verdict import Verdict
from reanon_dagster.judges.grouped_values import count_groups, values_by_group
from reanon_dagster.judges.workspace import Workspace

NOWHERE = -1
"""The hosting group of a traced person whose row, or its group, does not exist."""


class ValueFigures(NamedTuple):
    """How the sensitive values of each group are distributed."""

    distinct: Int32  # [groups] the number of different values
    largest: Int32  # [groups] the number of rows with the most frequent value


@dataclass(frozen=True, eq=False)
class JudgedRelease:
    """One release, with what the judges have read of it so far."""

    entry: Entry
    space: Workspace

    @cached_property
    def silent(self) -> bool:
        """Whether the release shows no sensitive value, so that a rule about values has nothing to judge."""
        release = self.entry.release
        if release.shows(self.entry.snapshot.schema.sensitive.name):
            return False
        codes = release.sensitive
        return all(bool((codes[part] == UNPUBLISHED).all()) for part in self.space.chunks(len(codes)))

    @cached_property
    def unreadable(self) -> int:
        """How many numbers of the release and its trace refer to nothing, or put the trace out of order."""
        release, trace = self.entry.release, self.entry.trace
        if len(release.group) != len(release.sensitive) or len(trace.persons) != len(trace.rows):
            return max(1, len(release.group))
        values = len(self.entry.snapshot.schema.sensitive.values)
        return (
            self.outside(release.group, release.boxes.count)
            + (0 if self.silent else self.outside(release.sensitive, values))
            + self.outside(trace.rows, release.size)
            + self.disorder(trace.persons)
        )

    @cached_property
    def sizes(self) -> Int32:
        """The number of rows of each group, counterfeits included; rows of no group are left out."""
        group, groups = self.entry.release.group, self.entry.release.boxes.count
        column = self.space.temporary("sizes", np.int32, (groups,))
        for first, stop in self.space.parts(groups, 4):
            sizes = np.zeros(stop - first, np.int32)
            for part in self.space.chunks(len(group), group):
                count_groups(group[part], first, sizes)
            column.write(first, sizes)
        return cast("Int32", np.asarray(column.mapped()))

    @cached_property
    def figures(self) -> ValueFigures:
        """How the values of each group are distributed.

        Requires: the release is readable and not silent.
        """
        release, groups = self.entry.release, self.entry.release.boxes.count
        columns = [self.space.temporary(name, np.int32, (groups,)) for name in ValueFigures._fields]
        for part in values_by_group(release.group, release.sensitive, self.sizes, self.space, group_bytes=8):
            distinct, largest = np.empty(len(part.ends), np.int32), np.empty(len(part.ends), np.int32)
            _fill_figures(part.ends, part.values, distinct, largest)
            columns[0].write(part.first, distinct)
            columns[1].write(part.first, largest)
        return ValueFigures(*(cast("Int32", np.asarray(column.mapped())) for column in columns))

    @cached_property
    def hosting(self) -> Int32:
        """The group that hosts each traced person, in the order of the trace, or NOWHERE.

        Paper: [XT07] Definition 2, the generalized hosting group.
        Requires: the trace has a row for each person.
        """
        release, rows = self.entry.release, self.entry.trace.rows
        column = self.space.temporary("hosting", np.int32, rows.shape)
        for first, stop in self.space.parts(release.size, 4):
            for part in self.space.chunks(len(rows), rows):
                begun = first > 0
                groups = column.read(part.start, part.stop) if begun else np.full(part.stop - part.start, NOWHERE)
                found = np.ascontiguousarray(groups, np.int32)
                _find_groups(release.group, release.boxes.count, rows[part], first, stop, found)
                column.write(part.start, found)
            forget_pages(release.group)
        return cast("Int32", np.asarray(column.mapped()))

    def outside(self, numbers: Int32, end: int) -> int:
        """How many of the numbers are not from 0 to before `end`."""
        unsigned = numbers.view(np.uint32)  # a negative number is above all ends
        return sum(int(np.count_nonzero(unsigned[part] >= end)) for part in self.space.chunks(len(unsigned), numbers))

    def disorder(self, persons: Int64) -> int:
        """How many persons are not above the one before."""
        pairs = self.space.chunks(max(0, len(persons) - 1), persons)
        return sum(int(np.count_nonzero(persons[pair.start + 1 : pair.stop + 1] <= persons[pair])) for pair in pairs)


def unreadable_verdict(check: str, numbers: int) -> Verdict:
    """The verdict on a release that cannot be read: a rule that cannot be judged does not hold."""
    sentence = "every group, value and traced row of the release exists, and no one is traced twice"
    return Verdict(check, holds=False, violations=numbers, observed={"unreadable": numbers}, sentence=sentence)


def silent_verdict(check: str) -> Verdict:
    """The verdict of a rule about sensitive values on a release that shows none."""
    sentence = "the release shows no sensitive value"
    return Verdict(check, holds=True, observed={"rows with a sensitive value": 0}, sentence=sentence)


@compiled
def _fill_figures(ends: Int64, values: Int32, distinct: Int32, largest: Int32) -> None:
    begin = 0
    for group in range(len(ends)):
        runs = most = run = 0
        for row in range(begin, ends[group]):
            if row == begin or values[row] != values[row - 1]:
                runs += 1
                run = 0
            run += 1
            most = max(most, run)
        distinct[group], largest[group] = runs, most
        begin = ends[group]


@compiled
def _find_groups(group: Int32, groups: int, rows: Int32, first: int, stop: int, found: Int32) -> None:
    """Look up the rows from `first` to before `stop`."""
    for place in range(len(rows)):
        if first <= rows[place] < stop and 0 <= group[rows[place]] < groups:
            found[place] = group[rows[place]]
