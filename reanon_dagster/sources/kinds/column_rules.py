"""Rules for the columns of every table: each is there once, and ids are exact."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.coding import named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem

if TYPE_CHECKING:
    import pyarrow as pa


def require_once(names: Sequence[str], columns: Sequence[str], label: str) -> None:
    """Refuse a table that has one of these columns more than once.

    Raises: InvalidSnapshot.
    """
    twice = [name for name in dict.fromkeys(columns) if names.count(name) > 1]
    if twice:
        raise InvalidSnapshot(Problem(label, "have every column once", ", ".join(twice)))


LARGEST_EXACT = 2**53 - 1
"""Up to here every whole number is a floating point number of its own."""


def with_exact_ids(table: "pa.Table", name: str, label: str, largest: int = LARGEST_EXACT) -> "pa.Table":
    """The table with its id column as whole numbers, if it is floating point; any other type stays.

    Raises: InvalidSnapshot if an id has a fraction, or is larger than what the format keeps exactly.
    """
    import pyarrow as pa

    if name not in table.column_names or not pa.types.is_floating(table[name].type):
        return table
    column = table[name].combine_chunks()
    numbers = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.float64)
    empty = np.isnan(numbers) | np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    inexact = ~empty & ((np.abs(numbers) > largest) | (numbers != np.floor(numbers)))
    if inexact.any():
        rule = f"be text or whole numbers of at most {largest}, which is what this format keeps exactly"
        where = f"not in {named_rows(inexact)}"
        raise InvalidSnapshot(Problem(f"{label}: {name}", rule, where, "store the ids as text"))
    whole = pa.array(np.where(empty, 0, numbers).astype(np.int64), mask=empty)
    return table.set_column(table.column_names.index(name), name, whole)
