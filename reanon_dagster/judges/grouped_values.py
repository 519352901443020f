"""The sensitive values of a release group by group, as many groups at a time as fit into memory."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64
from reanon_dagster.judges.workspace import Workspace

ROW_BYTES, GROUP_BYTES = 4, 8
SHORT = 24
"""Groups of up to so many rows are sorted by insertion, which is fastest for them."""


class GroupedValues(NamedTuple):
    """The values of consecutive groups."""

    first: int
    """The first of the groups."""
    ends: Int64  # [groups] where the values of each group end; they begin where those of the group before end
    values: Int32  # [rows] ascending within a group

    @property
    def stop(self) -> int:
        """The group after the last one."""
        return self.first + len(self.ends)


def values_by_group(
    group: Int32, sensitive: Int32, sizes: Int32, space: Workspace, *, group_bytes: int = 0
) -> Iterator[GroupedValues]:
    """All groups in order; `group_bytes` is what the caller needs for each of those that it gets at a time.

    A part has at least one group. So the memory has to hold the largest group, with four bytes a row.

    Requires: every row has a group, and `sizes` are their numbers of rows.
    """
    first = 0
    while first < len(sizes):
        # The caller still holds the part before while the next one is made.
        stop, rows = _part_end(sizes, first, space.part_bytes // 2, GROUP_BYTES + group_bytes, space.least)
        ends = np.zeros(stop - first, np.int64)
        np.cumsum(sizes[first : stop - 1], out=ends[1:])
        values = np.empty(rows, np.int32)
        for part in space.chunks(len(group), group, sensitive):
            _place(group[part], sensitive[part], first, ends, values)
        _sort_within(ends, values)
        yield GroupedValues(first, ends, values)
        first = stop


@compiled
def count_groups(group: Int32, first: int, sizes: Int32) -> None:
    """Add the number of rows of each group from `first` on."""
    for number in group:
        if first <= number < first + len(sizes):
            sizes[number - first] += 1


@compiled
def _part_end(sizes: Int32, first: int, memory: int, group_bytes: int, least: int) -> tuple[int, int]:
    """The end of the longest part whose groups fit into the memory, and the number of its rows."""
    stop, rows = first, 0
    while stop < len(sizes):
        more = rows + sizes[stop]
        needed = ROW_BYTES * more + group_bytes * (stop + 1 - first)
        if needed > memory and more > least and stop > first:
            break
        rows = more
        stop += 1
    return stop, rows


@compiled
def _place(group: Int32, sensitive: Int32, first: int, ends: Int64, values: Int32) -> None:
    """Put every value at the end of its group so far."""
    for row in range(len(group)):
        number = group[row] - first
        if 0 <= number < len(ends):
            values[ends[number]] = sensitive[row]
            ends[number] += 1


@compiled
def _sort_within(ends: Int64, values: Int32) -> None:
    begin = 0
    for end in ends:
        if end - begin > SHORT:
            values[begin:end].sort()
        else:
            for at in range(begin + 1, end):
                value, place = values[at], at
                while place > begin and values[place - 1] > value:
                    values[place] = values[place - 1]
                    place -= 1
                values[place] = value
        begin = end
