"""Texts as positions in a list of distinct texts, and back: Arrow's dictionaries."""

from typing import TYPE_CHECKING

from reanon_core.kernels.first_occurrence import numbered_by_occurrence
from reanon_core.model.arrays import Int32

if TYPE_CHECKING:
    import pyarrow as pa

MOST_TEXT = 1 << 18
"""The most bytes of a list of texts that is encoded: a parquet file does so up to a megabyte, and then stops."""


def encoded_texts(values: "pa.Array", positions: Int32) -> "pa.DictionaryArray":
    """The texts at these positions of a list, encoded with those alone that occur, in the order of their first rows."""
    import pyarrow as pa

    occurring, number = numbered_by_occurrence(positions, values.is_null().to_numpy(zero_copy_only=False))
    null = number < 0
    indices = pa.array(number, mask=null if null.any() else None)
    return pa.DictionaryArray.from_arrays(indices, values.take(pa.array(occurring)))


def decoded(table: "pa.Table") -> "pa.Table":
    """The table with the values themselves where a column has positions in a list of values."""
    return table.cast(decoded_schema(table.schema))


def decoded_schema(schema: "pa.Schema") -> "pa.Schema":
    """The columns with the types of the values themselves."""
    import pyarrow as pa

    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))
