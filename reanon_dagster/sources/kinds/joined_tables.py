"""The tables of several files as one: the same columns everywhere, in types that hold every value exactly."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, Problem, require

if TYPE_CHECKING:
    import pyarrow as pa


def joined(tables: Sequence["pa.Table"], labels: Sequence[str]) -> "pa.Table":
    """All rows, file after file.

    Raises: InvalidSnapshot if a column is in some files only, or has types that do not go together.
    """
    import pyarrow as pa

    require(list(_different_columns(tables, labels)), InvalidSnapshot)
    names = tables[0].column_names
    types = {name: _common_type([table[name].type for table in tables]) for name in names}
    clashes = [name for name, kind in types.items() if kind is None]
    if clashes:
        shown = [f"{name}: {', '.join(sorted({str(table[name].type) for table in tables}))}" for name in clashes]
        rule = "have columns of the same types"
        raise InvalidSnapshot(Problem(f"the files {labels[0]} to {labels[-1]}", rule, help="; ".join(shown)))
    schema = pa.schema([(name, types[name]) for name in names])
    return pa.concat_tables([table.select(names).cast(schema) for table in tables])


def _different_columns(tables: Sequence["pa.Table"], labels: Sequence[str]) -> list[Problem]:
    """The files whose columns are not those of the first."""
    first = set(tables[0].column_names)
    return [
        Problem(label, f"have the same columns as {labels[0]}", ", ".join(sorted(first ^ set(table.column_names))))
        for table, label in zip(tables[1:], labels[1:], strict=True)
        if set(table.column_names) != first
    ]


def _common_type(types: Sequence["pa.DataType"]) -> "pa.DataType | None":
    """A type that holds the values of all these types exactly; None if there is none."""
    import pyarrow as pa

    plain = {kind.value_type if pa.types.is_dictionary(kind) else kind for kind in types}
    plain = {kind for kind in plain if not pa.types.is_null(kind)} or {pa.null()}
    if len(plain) == 1:
        return plain.pop()
    if all(pa.types.is_integer(kind) and kind != pa.uint64() for kind in plain):
        return pa.int64()
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if all(any(is_text(kind) for is_text in texts) for kind in plain):
        return pa.large_string()
    return None
