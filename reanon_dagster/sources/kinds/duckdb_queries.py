"""Snapshots that a DuckDB query returns."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from pydantic import Field, field_validator

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.field_types import Text, typed
from reanon_dagster.sources.kinds.source import NOTE, PLACEHOLDER, Query, Source, SourceTable, file_version, relative

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Error

Settings: TypeAlias = dict[str, str | bool | int | float | list[str]]


class DuckdbSource(Source):
    """Snapshots that a query returns."""

    title: ClassVar[str] = "a DuckDB query"
    note: ClassVar[str] = NOTE

    duckdb: Text = Field(description="A DuckDB file; it is opened read-only.")
    query: Query = Field(description="One SELECT that returns the snapshot, with {release} for the release's name.")
    external: bool = Field(
        default=False,
        description="Whether the query may read files and the network, as with read_parquet('…').",
    )

    @field_validator("external", mode="before")
    @classmethod
    def _typed(cls, value: object) -> object:
        return typed(value)

    @property
    def format(self) -> str:
        """A DuckDB file."""
        return "duckdb"

    def exists(self, folder: Path, release: str) -> bool:
        """Whether the query returns at least one row. A table that does not exist yet has none."""
        import duckdb

        if not self._file(folder, release).is_file():
            return False
        try:
            with closing(self._connect(folder, release)) as connection:
                return connection.sql(self._select(connection, release)).limit(1).fetchone() is not None
        except duckdb.Error as error:
            if _is_missing_table(error):
                return False
            raise InvalidSnapshot(self._problem(folder, release, error)) from error

    def version(self, folder: Path, release: str) -> str:
        """The file's time of change and size: any change of the database counts."""
        try:
            return file_version(self._file(folder, release))
        except FileNotFoundError:
            raise self.missing(folder, release) from None

    def read(self, folder: Path, release: str, columns: Sequence[str]) -> SourceTable:  # noqa: ARG002
        """The table that the query returns; a missing table of the query is a missing snapshot."""
        import duckdb

        try:
            with closing(self._connect(folder, release)) as connection:
                data = connection.execute(self._select(connection, release)).to_arrow_table()
        except duckdb.Error as error:
            if _is_missing_table(error):
                raise self.missing(folder, release) from error
            raise InvalidSnapshot(self._problem(folder, release, error)) from error
        return SourceTable(data, data.column_names, "source.query")

    def describe(self, folder: Path, release: str) -> str:
        """The database's path."""
        return relative(folder, self._file(folder, release))

    def private_paths(self) -> Mapping[str, str]:
        """The database is private."""
        return {"duckdb": self.duckdb}

    def _file(self, folder: Path, release: str) -> Path:
        return folder / self.duckdb.replace(PLACEHOLDER, release)

    def _select(self, connection: "DuckDBPyConnection", release: str) -> str:
        """The query for a release.

        Raises: InvalidSnapshot if it is not one SELECT: any other statement could write files, even from a database
        that is opened read-only.
        """
        import duckdb

        text = self.query.replace(PLACEHOLDER, release)
        statements = connection.extract_statements(text)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            found = ", ".join(statement.type.name for statement in statements) or "nothing"
            raise InvalidSnapshot(Problem("source.query", "be one SELECT", found))
        return text

    def _connect(self, folder: Path, release: str) -> "DuckDBPyConnection":
        import duckdb

        path = self._file(folder, release)
        if not path.is_file():
            raise self.missing(folder, release)
        # Also without access to files DuckDB would load extensions, which may bring it back.
        closed: Settings = {"enable_external_access": False, "autoinstall_known_extensions": False}
        # A name that no table has must never find a variable of ours.
        config: Settings = {"python_enable_replacements": False, **({} if self.external else closed)}
        return duckdb.connect(str(path), read_only=True, config=config)

    def _problem(self, folder: Path, release: str, error: "Error") -> Problem:
        """The failure in a sentence. Only errors about the query's text are quoted: others may quote the data."""
        import duckdb

        if isinstance(error, duckdb.PermissionException):
            return Problem("source.query", "read no file and no network", help="unless source.external is true")
        if isinstance(error, duckdb.IOException):
            rule = "be a DuckDB file that no other program holds open"
            return Problem("source.duckdb", rule, self.describe(folder, release))
        quotable = isinstance(error, duckdb.ParserException | duckdb.BinderException | duckdb.CatalogException)
        reason = str(error).splitlines()[0] if quotable else type(error).__name__
        return Problem("source.query", f"run for {release}", help=reason)


def _is_missing_table(error: "Error") -> bool:
    """Whether a query failed because its table does not exist yet; a missing function is an error of the query."""
    import duckdb

    return isinstance(error, duckdb.CatalogException) and "Table with name" in str(error)
