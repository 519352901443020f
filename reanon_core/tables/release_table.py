"""From a release to the Arrow tables that are published: the same columns in a file and in a frame."""

from typing import TYPE_CHECKING

from reanon_core.model.arrays import AnyArray, Bool
from reanon_core.model.published_columns import COUNT, GROUP_ID, published_values
from reanon_core.model.release import Auxiliary, Release
from reanon_core.model.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


def release_table(release: Release, schema: Schema) -> "pa.Table":
    """The published rows, with values of the columns' own types."""
    import pyarrow as pa

    return pa.table(
        {
            column.name: value_array(listed.values, listed.missing).take(pa.array(listed.row))
            for column, listed in published_values(release, schema)
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
