"""The columns of a published table: their names, their order and their values, once for every format."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from reanon_core.model.arrays import MISSING, AnyArray, Bool, Int32, Int64
from reanon_core.model.coding import decode, label_array
from reanon_core.model.errors import Problem
from reanon_core.model.release import MISSING_WORDS, Release
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier, Schema

GROUP_ID = "group_id"
"""The column with the group of each row, in the table and in the counterfeit counts."""
COUNT = "count"
"""The column with the number of counterfeits of each group."""


class IntervalNames(NamedTuple):
    """The names of the columns that publish the interval of one quasi-identifier."""

    least: str
    greatest: str
    missing: str


def interval_names(quasi_identifier: str) -> IntervalNames:
    """The published names: `age_min`, `age_max` and, where values may be missing, `age_missing`."""
    return IntervalNames(*(f"{quasi_identifier}_{suffix}" for suffix in ("min", "max", "missing")))


class Role(StrEnum):
    """What a published column shows."""

    GROUP = "group"
    LEAST = "least"
    GREATEST = "greatest"
    NODE = "node"
    MISSING = "missing"
    SENSITIVE = "sensitive"
    OTHER = "other"


@dataclass(frozen=True)
class PublishedColumn:
    """One column of a published table."""

    name: str
    role: Role
    source: str
    """The column of the schema that it comes from; empty for the group."""


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """The values of one published column: a list of values, and which of them each row shows."""

    values: AnyArray  # [v] of the column's own type
    missing: Bool  # [v] where the list has no value
    row: Int32  # [rows] position in the list; the box of the row if boxes have the positions
    box: Int32 | None = None  # [boxes] position in the list

    def positions(self, rows: slice | Int64) -> Int32:
        """The positions of some rows in the list."""
        return self.row[rows] if self.box is None else self.box[self.row[rows]]


def published_columns(
    schema: Schema, shown: Container[str] | None = None, *, grouped: bool = True
) -> tuple[PublishedColumn, ...]:
    """The columns of a published table, in order.

    `shown` are the columns of the schema that the release shows, None for all; `grouped` says whether it has groups.
    """
    return tuple(_columns(schema, shown, grouped=grouped))


def clash_problems(schema: Schema) -> list[Problem]:
    """A problem for each published name that would come from more than one column; stores ignore case."""
    names = [column.name.lower() for column in published_columns(schema)]
    return [
        Problem(f"published column {name}", "come from one column only", help="rename a column of the source")
        for name in sorted({name for name in names if names.count(name) > 1})
    ]


def _columns(schema: Schema, shown: Container[str] | None, *, grouped: bool) -> Iterator[PublishedColumn]:
    if grouped:
        yield PublishedColumn(GROUP_ID, Role.GROUP, "")
    for column in schema.quasi_identifiers:
        if shown is None or column.name in shown:
            yield from _interval_columns(column)
    sensitive = schema.sensitive.name
    if shown is None or sensitive in shown:
        yield PublishedColumn(sensitive, Role.SENSITIVE, sensitive)
    for name in schema.other:
        if shown is None or name in shown:
            yield PublishedColumn(name, Role.OTHER, name)


def _interval_columns(column: QuasiIdentifier) -> Iterator[PublishedColumn]:
    names = interval_names(column.name)
    yield PublishedColumn(names.least, Role.LEAST, column.name)
    yield PublishedColumn(names.greatest, Role.GREATEST, column.name)
    if column.hierarchical:
        yield PublishedColumn(column.name, Role.NODE, column.name)
    if column.missing is Missing.SEPARATE:
        yield PublishedColumn(names.missing, Role.MISSING, column.name)


def published_values(release: Release, schema: Schema) -> Iterator[tuple[PublishedColumn, PublishedValues]]:
    """Each column of the table that shows this release, with its values decoded."""
    for column in published_columns(schema, release.columns, grouped=release.grouped):
        yield column, _values(column, release, schema)


def _values(column: PublishedColumn, release: Release, schema: Schema) -> PublishedValues:
    if column.role is Role.GROUP:
        return _listed(np.arange(release.boxes.count, dtype=np.int32), release.group)
    if column.role is Role.SENSITIVE:
        return _listed(label_array(schema.sensitive.values), release.sensitive)
    if column.role is Role.OTHER:
        at = schema.other.index(column.source)
        # An empty text stands for a missing value of a non-identifier.
        return _listed(label_array([value or None for value in schema.other_values[at]]), release.other[at])
    return _interval_values(column, release, schema)


def _interval_values(column: PublishedColumn, release: Release, schema: Schema) -> PublishedValues:
    at = schema.names.index(column.source)
    source, low, high = schema.quasi_identifiers[at], release.boxes.low[at], release.boxes.high[at]
    if column.role is Role.MISSING:
        return _listed(label_array(MISSING_WORDS), release.group, release.boxes.missing[at].astype(np.int32))
    if column.role is Role.NODE and source.taxonomy is not None:
        known = low != MISSING
        node = source.taxonomy.covering_node(np.where(known, low, 0), np.where(known, high, 0))
        nodes = label_array((*source.taxonomy.labels, None))
        return _listed(nodes, release.group, np.where(known, node, len(nodes) - 1).astype(np.int32))
    codes = low if column.role is Role.LEAST else high
    if source.kind is Kind.CATEGORICAL:
        leaves = label_array((*(source.taxonomy.leaves if source.taxonomy else ()), None))
        return _listed(leaves, release.group, np.where(codes == MISSING, len(leaves) - 1, codes).astype(np.int32))
    return PublishedValues(decode(source, codes), codes == MISSING, release.group)


def _listed(values: AnyArray, row: Int32, box: Int32 | None = None) -> PublishedValues:
    missing = np.array([value is None for value in values]) if values.dtype == object else np.zeros(len(values))
    return PublishedValues(values, missing.astype(np.bool_), row, box)
