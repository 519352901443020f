"""A table after the inserts, updates and deletes of one release. No message contains an id: rows have numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import Bool
from reanon_core.model.coding import named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem, require
from reanon_core.tables.ids import canonical_texts
from reanon_dagster.sources.kinds.joined_tables import joined

if TYPE_CHECKING:
    import pyarrow as pa

INSERT, UPDATE, DELETE = "insert", "update", "delete"


@dataclass(frozen=True)
class ChangeKeys:
    """The columns that say whom a change concerns and what it does."""

    id: str
    operation: str


def changed_table(
    before: "pa.Table | None", changes: "pa.Table", keys: ChangeKeys, label: str, label_before: str
) -> "pa.Table":
    """The table before (None if there is none) with these changes. An insert and an update bring the whole row.

    Raises: InvalidSnapshot with every problem of the changes at once.
    """
    from pyarrow import compute

    missing = [name for name in (keys.id, keys.operation) if name not in changes.column_names]
    if missing:
        raise InvalidSnapshot(Problem(label, "have the columns of a change", f"not {', '.join(missing)}"))
    ids = canonical_texts(keys.id, changes[keys.id]).fill_null("")
    known = None if before is None else canonical_texts(keys.id, before[keys.id]).fill_null("")
    operations = _operations(changes[keys.operation])
    require(list(_problems(ids, known, operations, keys, label)), InvalidSnapshot)
    arriving = changes.drop_columns([keys.operation]).filter(_mask(operations != DELETE))
    if before is None or known is None:
        return arriving
    kept = before.filter(compute.invert(compute.is_in(known, value_set=ids.filter(_mask(operations != INSERT)))))
    return joined([kept, arriving], [label_before, label]) if arriving.num_rows else kept


def _operations(column: "pa.ChunkedArray") -> np.ndarray:
    """What each change does, as text."""
    import pyarrow as pa
    from pyarrow import compute

    texts = compute.utf8_lower(compute.utf8_trim_whitespace(column.cast(pa.string()).fill_null("")))
    return np.asarray(texts.to_numpy(zero_copy_only=False), dtype=object)


def _problems(
    ids: "pa.StringArray", known: "pa.StringArray | None", operations: np.ndarray, keys: ChangeKeys, label: str
) -> Iterator[Problem]:
    """What is wrong with the changes."""
    import pyarrow as pa
    from pyarrow import compute

    empty = _numpy(compute.equal(ids, ""))
    counts = ids.value_counts()
    repeated = counts.field("values").filter(compute.greater(counts.field("counts"), 1))
    again = _numpy(compute.is_in(ids, value_set=repeated)) & ~empty
    there = _numpy(compute.is_in(ids, value_set=pa.array([], pa.string()) if known is None else known))
    wrong = ~np.isin(operations.astype(str), [INSERT, UPDATE, DELETE])
    rules = (
        (wrong, keys.operation, f"be {INSERT}, {UPDATE} or {DELETE}"),
        (empty, keys.id, "identify the person of each change"),
        (again, keys.id, "occur once among the changes of a release"),
        ((operations == INSERT) & there & ~empty, keys.id, "be new where it is inserted"),
        ((operations == UPDATE) & ~there & ~empty, keys.id, "be in the table before where it is updated"),
        ((operations == DELETE) & ~there & ~empty, keys.id, "be in the table before where it is deleted"),
    )
    for mask, column, rule in rules:
        if mask.any():
            yield Problem(f"{label}: {column}", rule, f"not in {named_rows(mask)}")


def _mask(values: Bool) -> "pa.BooleanArray":
    import pyarrow as pa

    return pa.array(values)


def _numpy(values: "pa.BooleanArray") -> Bool:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)
