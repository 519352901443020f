"""From a release to the Arrow tables that are published: the same columns in a file and in a frame."""

from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import AnyArray, Bool
from reanon_core.model.coding import label_array
from reanon_core.model.published_columns import COUNT, GROUP_ID, published_values
from reanon_core.model.release import Auxiliary, PersonRows, Release
from reanon_core.model.schema import Schema
from reanon_core.tables.arrow_columns import MOST_TEXT, encoded_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

PART_ROWS = 1 << 20
"""The rows of a part: those of a row group of a parquet file, so that parts make the same file as the whole."""


def published_tables(release: Release, auxiliary: Auxiliary, schema: Schema) -> "dict[str, pa.Table]":
    """The tables of a release by the name of their file."""
    if release.person_rows is not None:
        return {"rows": person_table(release.person_rows, schema), "values": value_table(release, schema)}
    tables = {"table": release_table(release, schema)}
    if release.grouped:  # counts belong to groups
        tables["counterfeits"] = counterfeit_table(auxiliary)
    return tables


def published_parts(release: Release, auxiliary: Auxiliary, schema: Schema) -> "dict[str, Iterable[pa.Table]]":
    """The same tables in parts; the rows of a release with groups are made part by part, their texts encoded."""
    if release.person_rows is not None or not release.grouped:
        return {name: [table] for name, table in published_tables(release, auxiliary, schema).items()}
    return {"table": release_parts(release, schema, encoded=True), "counterfeits": [counterfeit_table(auxiliary)]}


def person_table(rows: PersonRows, schema: Schema) -> "pa.Table":
    """The rows of a decoupled release: the group of each person and the box of their own."""
    import pyarrow as pa

    boxes = Release(rows.box, np.zeros(len(rows.box), np.int32), rows.boxes, columns=schema.names)
    table = release_table(boxes, schema)
    return table.set_column(table.column_names.index(GROUP_ID), GROUP_ID, pa.array(rows.group))


def value_table(release: Release, schema: Schema) -> "pa.Table":
    """The values of a decoupled release: how often each group shows each value, counterfeits included."""
    import pyarrow as pa

    labels = np.array(schema.sensitive.values)
    known = max(1, len(labels))
    alphabetical = np.argsort(np.argsort(labels)) if len(labels) else np.zeros(0, np.int64)  # codes tell when they came
    keys, count = np.unique(
        release.group.astype(np.int64) * known + alphabetical[release.sensitive], return_counts=True
    )
    shown = value_array(label_array(tuple(sorted(schema.sensitive.values))), np.zeros(len(labels), np.bool_))
    return pa.table(
        {
            GROUP_ID: (keys // known).astype(np.int32),
            schema.sensitive.name: shown.take(pa.array(keys % known)),
            COUNT: count.astype(np.int32),
        }
    )


def release_table(release: Release, schema: Schema) -> "pa.Table":
    """The published rows, with values of the columns' own types."""
    return next(iter(release_parts(release, schema, max(1, release.size))))


def release_parts(
    release: Release, schema: Schema, rows: int = PART_ROWS, *, encoded: bool = False
) -> "Iterator[pa.Table]":
    """The published rows in parts of so many, which need less memory; at least one part, which may be empty.

    `encoded` texts are positions in a list of the values that the part has, in the order of their first rows. A parquet
    file has them so anyway: it gets the same bytes in less time, and never a value that none of its rows shows.
    """
    import pyarrow as pa

    columns = [
        (column.name, value_array(listed.values, listed.missing), listed)
        for column, listed in published_values(release, schema)
    ]
    for start in range(0, max(1, release.size), rows):
        part = slice(start, start + rows)
        yield pa.table(
            {
                name: encoded_texts(values, listed.positions(part))
                if encoded and pa.types.is_string(values.type) and values.nbytes <= MOST_TEXT
                else values.take(pa.array(listed.positions(part)))
                for name, values, listed in columns
            }
        )


def counterfeit_table(auxiliary: Auxiliary) -> "pa.Table":
    """How many counterfeits each group has; groups without any are left out."""
    import pyarrow as pa

    return pa.table({GROUP_ID: auxiliary.group, COUNT: auxiliary.count})


def value_array(values: AnyArray, missing: Bool) -> "pa.Array":
    """Decoded values as an Arrow array, null where they are missing."""
    import pyarrow as pa

    text = pa.string() if values.dtype == object else None
    return pa.array(values, mask=missing if missing.any() else None, type=text)
