"""Rows for DuckDB: a table of few rows, or a stream of many, of which it keeps none once they are inserted."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reanon_core.model import arrays

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 122_880
"""The rows that DuckDB stores together."""


def arrow_rows(parts: Iterator[Mapping[str, Any]]) -> "pa.Table | pa.RecordBatchReader":
    """The rows of all parts, given by their columns.

    A table that is registered stays in memory until the end of the transaction, so many rows are a stream.

    Requires: at least one part; every part but the last has SLICE rows.
    """
    import pyarrow as pa

    first = pa.table(dict(next(parts)))
    if first.num_rows < arrays.SLICE:
        return first
    held = [first]

    def batches() -> Iterator["pa.RecordBatch"]:
        yield from held.pop().to_batches(BATCH)
        for part in parts:
            yield from pa.table(dict(part)).to_batches(BATCH)

    return pa.RecordBatchReader.from_batches(first.schema, batches())
