"""The digest of a table's rows, for sources that return the same rows in any order."""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_core.model.arrays import Int32


def row_digest(table: "pa.Table", order: "Int32") -> str:
    """The sha256 of the rows taken in this order, column by column."""
    import pyarrow as pa

    digest = hashlib.sha256()
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        texts = column.cast(pa.large_string()).combine_chunks().take(pa.array(order))
        valid = texts.is_valid().to_numpy(zero_copy_only=False)
        texts = texts.fill_null("")
        digest.update(f"{name}\0{len(texts)}\0".encode())
        digest.update(np.packbits(valid).tobytes())
        for buffer in texts.buffers()[1:]:
            digest.update(buffer if buffer is not None else b"")
    return digest.hexdigest()
