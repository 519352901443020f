"""Frames of any kind in and out: pandas, polars and Arrow, by Arrow's own protocol."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reanon_core.model.errors import InvalidSnapshot, Problem, collect_problems
from reanon_core.tables.snapshot_table import column_problems

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Table:
    """A table that every frame library can take: `to_pandas`, `to_polars`, `to_arrow`.

    It supports Arrow's stream protocol too, so `polars.DataFrame(table)` and `pyarrow.table(table)` work.
    """

    def __init__(self, data: "pa.Table") -> None:
        self._data = data

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._data.column_names)

    def to_arrow(self) -> "pa.Table":
        """The table as an Arrow table."""
        return self._data

    def to_pandas(self) -> "pd.DataFrame":
        """The table as a pandas frame; dates become datetime64."""
        frame: pd.DataFrame = self._data.to_pandas(date_as_object=False)
        return frame

    def to_polars(self) -> Any:  # polars is optional, so its type is not known here
        """The table as a polars frame.

        Raises: ImportError if polars is not installed.
        """
        import polars as pl

        return pl.from_arrow(self._data)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._data.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._data.num_rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows: {', '.join(self.column_names)})"


class PrivateTable(Table):
    """A table that uses the truth behind the releases: never publish it."""


def frame_columns(
    frame: object, names: Sequence[str], *, optional: frozenset[str] = frozenset()
) -> "tuple[pa.Table, list[Problem]]":
    """These columns of a frame as an Arrow table, and the problems with those that are absent or cannot be converted.

    Other columns are not looked at, and optional ones may be absent.

    Raises: InvalidSnapshot if it is no frame, or if it has a column twice.
    """
    import pyarrow as pa

    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        # pandas: only these columns are converted, each by itself, to name the wrong one
        present = [str(name) for name in frame.columns]
        problems = column_problems(names, present, "the frame", optional=optional)
        converted = {name: collect_problems(problems, _pandas_column, frame, name) for name in names if name in present}
        return pa.table({name: column for name, column in converted.items() if column is not None}), problems
    try:
        table = pa.table(frame)
    except (TypeError, ValueError, pa.ArrowException):
        rule = "be a pandas or polars frame, or an Arrow table"
        raise InvalidSnapshot(Problem("the frame", rule, type(frame).__name__)) from None
    problems = column_problems(names, table.column_names, "the frame", optional=optional)
    return table.select([name for name in names if name in table.column_names]), problems


def _pandas_column(frame: Any, name: str) -> "pa.Array":
    import pyarrow as pa

    try:
        return pa.array(frame[name], from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        rule = "have values of one type"
        raise InvalidSnapshot(Problem(name, rule, str(frame[name].dtype), "cast it to text or to numbers")) from None
