"""parquet files, with the types that they store."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, Problem

if TYPE_CHECKING:
    import pyarrow as pa


def read_parquet(data: bytes, columns: Sequence[str], label: str) -> tuple["pa.Table", list[str]]:
    """Those of the columns that exist, and the names of all columns.

    Raises: InvalidSnapshot if this is no parquet file, or one with a column twice.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(data))
        names = list(file.schema_arrow.names)
        table = file.read(columns=[name for name in columns if name in names])
    except (pa.ArrowException, OSError):
        raise InvalidSnapshot(Problem(label, "be a parquet file that can be read")) from None
    twice = [name for name in columns if names.count(name) > 1]
    if twice:
        raise InvalidSnapshot(Problem(label, "have every column once", ", ".join(twice)))
    return table, names
