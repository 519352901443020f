"""A decoupled release from its files: rows of people, and the values of their groups in a second file beside them."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reanon_core.model.arrays import MISSING, Int32
from reanon_core.model.coding import named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_core.model.history import Published
from reanon_core.model.release import ALL_MISSING, NONE_MISSING, SOME_MISSING, Auxiliary, Boxes, PersonRows, Release

ROWS, VALUES = "rows", "values"


class GroupValues(NamedTuple):
    """The file of values, row by row: the label of the group, the code of the value, and the count as it is written."""

    groups: list[str]
    sensitive: Int32
    counts: list[str]


def values_beside(file: Path) -> Path | None:
    """The file of values that belongs to a file of rows, if this is one."""
    if file.stem != ROWS:
        return None
    beside = (file.with_name(f"{VALUES}{suffix}") for suffix in (file.suffix, ".parquet", ".csv"))
    return next((path for path in beside if path.is_file()), None)


def decoupled_release(labels: list[str], rows: PersonRows, values: GroupValues, name: str) -> Published:
    """The release of these rows, whose groups are numbered in the order of `labels`, with these values.

    Raises: InvalidSnapshot if a group has rows and no values, values and no rows, or more rows than values.
    """
    number = {label: at for at, label in enumerate(labels)}
    group = np.array([number.get(label, -1) for label in values.groups], dtype=np.int64)
    count = np.array([int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0 for text in values.counts], dtype=np.int64)
    wrong = (group < 0) | (count < 1)
    if wrong.any():
        rule = "name groups that have rows, with counts of at least 1"
        raise InvalidSnapshot(Problem(name, rule, named_rows(wrong)))
    shown = np.bincount(group, weights=count, minlength=len(labels)).astype(np.int64)
    invented = shown - np.bincount(rows.group, minlength=len(labels))
    if (invented < 0).any():
        few = ", ".join(labels[at] for at in np.flatnonzero(invented < 0)[:3])
        raise InvalidSnapshot(Problem(name, "have a value for each row of a group", f"fewer in group {few}"))
    release = Release(
        np.repeat(group, count).astype(np.int32),
        np.repeat(values.sensitive, count),
        _hulls(rows, len(labels)),
        person_rows=rows,
    )
    holding = np.flatnonzero(invented)
    return Published(release, Auxiliary(holding.astype(np.int32), invented[holding].astype(np.int32)))


def _hulls(rows: PersonRows, groups: int) -> Boxes:
    """The hull of the boxes of each group's rows."""
    low = np.full((len(rows.boxes.low), groups), 2**31 - 1, np.int32)
    high = np.full(low.shape, MISSING, np.int32)
    missing = np.full(low.shape, NONE_MISSING, np.int8)
    for attribute, signs in enumerate(rows.boxes.missing):
        known, sign = signs[rows.box] != ALL_MISSING, signs[rows.box]
        box, group = rows.box[known], rows.group[known]
        np.minimum.at(low[attribute], group, rows.boxes.low[attribute, box])
        np.maximum.at(high[attribute], group, rows.boxes.high[attribute, box])
        missing[attribute, rows.group[sign != NONE_MISSING]] = SOME_MISSING
        empty = high[attribute] == MISSING
        low[attribute, empty], missing[attribute, empty] = MISSING, ALL_MISSING
    return Boxes(low, high, missing)
