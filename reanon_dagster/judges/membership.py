"""Published intervals against the values of their members."""

from collections.abc import Callable, Iterable

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.engine.column_folder import forget_pages
from reanon_core.model.arrays import MISSING, Int8, Int32, Int64
from reanon_core.model.release import ALL_MISSING, NONE_MISSING, SOME_MISSING, Boxes
from reanon_core.model.release import covers as covers_code
from reanon_dagster.judges.grouped_values import count_groups
from reanon_dagster.judges.workspace import Workspace

BOX_BYTES, COUNT_BYTES = 9, 4
Members = Callable[[], Iterable[tuple[Int64, Int32]]]
"""Gives the members of all boxes a chunk at a time, each time from the first one on: position and box of each."""

covers = compiled(covers_code)


def member_flaws(boxes: Boxes, qi: Int32, members: Members, space: Workspace, *, signs: bool = True) -> dict[str, int]:
    """How many values are outside their interval, and how many missing signs contradict the members.

    `signs` says whether a box is of its members alone, so that its missing signs are theirs.

    Paper: [XT07] Definition 2, property 2: the interval covers the value.
    """
    columns = len(boxes.low)
    uncovered = wrong = 0
    for first, stop in space.parts(boxes.count, columns * (BOX_BYTES + COUNT_BYTES) + COUNT_BYTES):
        people = np.zeros(stop - first, np.int32)
        lacking = np.zeros((columns, stop - first), np.int32)
        for position, box in members():
            count_groups(box, first, people)
            for column in range(columns):
                sides = (boxes.low[column], boxes.high[column], boxes.missing[column])
                uncovered += _count_uncovered(*sides, qi[column], position, box, first, lacking[column])
        forget_pages(boxes.low, boxes.high, boxes.missing)
        if signs:
            for column in range(columns):
                wrong += _count_wrong_signs(boxes.missing[column, first:stop], people, lacking[column])
    return {"values outside their interval": uncovered, "wrong missing flags": wrong}


@compiled
def _count_uncovered(
    low: Int32, high: Int32, missing: Int8, codes: Int32, position: Int64, box: Int32, first: int, lacking: Int32
) -> int:
    """Count the values outside their interval, and for each box those that are missing."""
    uncovered = 0
    for member in range(len(box)):
        at = box[member]
        if first <= at < first + len(lacking):
            code = codes[position[member]]
            lacking[at - first] += code == MISSING
            uncovered += not covers(low[at], high[at], missing[at], code)
    return uncovered


@compiled
def _count_wrong_signs(missing: Int8, people: Int32, lacking: Int32) -> int:
    """How many signs contradict the members; a box without any has nothing to contradict."""
    wrong = 0
    for box in range(len(missing)):
        if people[box]:
            sign = NONE_MISSING if not lacking[box] else ALL_MISSING if lacking[box] == people[box] else SOME_MISSING
            wrong += missing[box] != sign
    return wrong
