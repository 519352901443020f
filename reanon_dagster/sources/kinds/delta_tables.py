"""Snapshots in Delta tables on this machine: a table for each release, or one table with the releases in a column."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.field_types import ProblemError, Text
from reanon_dagster.sources.kinds.source import PLACEHOLDER, Source, SourceTable, extra_package, relative

if TYPE_CHECKING:
    from pyarrow import dataset


class DeltaSource(Source):
    """Snapshots in Delta tables on this machine."""

    title: ClassVar[str] = "a Delta table"
    note: ClassVar[str] = "The newest version of the table is read. It needs `reanon[delta]`."

    delta: Text = Field(description="The folder of the table, with {release} in its name if each release has its own.")
    release_column: Text | None = Field(
        default=None, description="The column that holds the release's name, if one table has all releases."
    )

    @field_validator("delta")
    @classmethod
    def _is_a_folder(cls, value: str) -> str:
        if "://" in value:
            raise ValueError("be a folder on this machine")
        return value

    @model_validator(mode="after")
    def _tells_releases_apart(self) -> "DeltaSource":
        if (PLACEHOLDER in self.delta) == (self.release_column is not None):
            rule = "contain {release}, or source.release_column must name the column that tells releases apart"
            raise ProblemError(Problem("source.delta", f"either {rule}", self.delta))
        return self

    @property
    def format(self) -> str:
        """A Delta table."""
        return "delta"

    def exists(self, folder: Path, release: str) -> bool:
        """Whether the table is there, and has a row of the release."""
        delta = extra_package("deltalake", "delta", "source.delta")
        if not delta.DeltaTable.is_deltatable(str(self._folder(folder, release))):
            return False
        return bool(self._dataset(self._table(folder, release), folder, release).head(1).num_rows)

    def version(self, folder: Path, release: str) -> str:
        """The table's own id and version."""
        if not self.exists(folder, release):
            raise self.missing(folder, release)
        table = self._table(folder, release)
        return f"{table.metadata().id}:{table.version()}"

    def read(self, folder: Path, release: str, columns: Sequence[str]) -> SourceTable:
        """Those of the columns that the table has, with the types that it stores."""
        import pyarrow as pa

        rows = self._dataset(self._table(folder, release), folder, release)
        names = list(rows.schema.names)
        try:
            data = rows.to_table(columns=[name for name in columns if name in names])
        except (pa.ArrowException, OSError):
            advice = "a file of it is missing or damaged"
            raise InvalidSnapshot(Problem(self.describe(folder, release), "be readable", help=advice)) from None
        if not data.num_rows and self.release_column is not None:
            raise self.missing(folder, release)
        return SourceTable(data, names, self.describe(folder, release))

    def describe(self, folder: Path, release: str) -> str:
        """The folder of the table."""
        return relative(folder, self._folder(folder, release))

    def private_paths(self) -> Mapping[str, str]:
        """The table is private."""
        return {"delta": self.delta}

    def _folder(self, folder: Path, release: str) -> Path:
        return folder / self.delta.replace(PLACEHOLDER, release)

    def _table(self, folder: Path, release: str) -> Any:
        """The newest version of the table.

        Raises: SnapshotMissing; InvalidSnapshot if this is no Delta table that can be read.
        """
        delta = extra_package("deltalake", "delta", "source.delta")
        place = self._folder(folder, release)
        if not delta.DeltaTable.is_deltatable(str(place)):
            raise self.missing(folder, release)
        try:
            return delta.DeltaTable(str(place))
        except delta.exceptions.DeltaError:
            raise InvalidSnapshot(self._no_table(folder, release)) from None

    def _dataset(self, table: Any, folder: Path, release: str) -> "dataset.Dataset":
        """The rows of a release.

        Raises: InvalidSnapshot if the table has no such column, or a feature that Arrow cannot read.
        """
        from pyarrow import dataset

        delta = extra_package("deltalake", "delta", "source.delta")
        try:
            rows = table.to_pyarrow_dataset()
        except delta.exceptions.DeltaError:
            raise InvalidSnapshot(self._no_table(folder, release)) from None
        if self.release_column is None:
            return rows
        if self.release_column not in rows.schema.names:
            rule = f"be a column of {self.describe(folder, release)}"
            raise InvalidSnapshot(Problem("source.release_column", rule, self.release_column))
        return rows.filter(dataset.field(self.release_column).cast("string") == release)

    def _no_table(self, folder: Path, release: str) -> Problem:
        advice = "it is damaged, or has a feature such as deletion vectors that Arrow cannot read"
        return Problem(self.describe(folder, release), "be a Delta table that can be read", help=advice)
