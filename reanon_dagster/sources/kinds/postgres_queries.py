"""Snapshots that a query returns on a Postgres server, read in one read-only transaction."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.field_types import ProblemError, Text
from reanon_dagster.series.memory_size import Size
from reanon_dagster.sources.kinds.csv_files import read_csv
from reanon_dagster.sources.kinds.size_limit import most_bytes, require_size
from reanon_dagster.sources.kinds.source import NOTE, PLACEHOLDER, Query, Source, SourceTable, extra_package

if TYPE_CHECKING:
    import pyarrow as pa

_QUERY = "source.query"
_BOOLEAN = 16
"""The number of the type boolean."""
_UNDEFINED_TABLE, _READ_ONLY, _CANCELED = "42P01", "25006", "57014"
_ABOUT_THE_TEXT = "42"
"""How the codes of errors begin that are about the text of a query or the rights of the role, not about values."""
_LAST_TRANSACTION = "SELECT txid_snapshot_xmax(txid_current_snapshot())"
_SETTINGS = {"datestyle": "ISO, YMD", "intervalstyle": "iso_8601", "bytea_output": "hex", "extra_float_digits": "1"}
"""What decides how a value is written; a server or a role may have other defaults."""


class PostgresSource(Source):
    """Snapshots that a query returns on a Postgres server."""

    title: ClassVar[str] = "a Postgres query"
    note: ClassVar[str] = (
        f"{NOTE} It needs `reanon[postgres-source]`, and [a role that can only read](sources.md#postgres)."
    )

    postgres: Text = Field(
        description="The name of an environment variable that holds the connection string, which stays out of this "
        "file, of arguments and of messages.",
    )
    query: Query = Field(description="One SELECT that returns the snapshot, with {release} for the release's name.")
    changed: Text | None = Field(
        default=None,
        description="One SELECT of a value that changes when the snapshot does, for the Dagster sensor. Default: every "
        "transaction that writes to the server counts.",
    )
    timeout: int = Field(default=600, ge=1, description="After how many seconds the server gives the query up.")
    max_size: Size | None = Field(
        default=None,
        description="How much the snapshot may be as text, such as 4GB. Default: half of the memory that is free.",
    )

    @field_validator("postgres")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value, re.ASCII):  # it may be a password: it is not quoted
            rule = "be the name of an environment variable, such as CLINIC_DSN, and not the connection string itself"
            raise ProblemError(Problem("source.postgres", rule))
        return value

    @property
    def format(self) -> str:
        """A Postgres server."""
        return "postgres"

    def exists(self, folder: Path, release: str) -> bool:  # noqa: ARG002
        """Whether the query returns at least one row. A table that does not exist yet has none."""
        try:
            with self._transaction(release) as cursor:
                return self._has_rows(cursor, release)
        except _TableMissing:
            return False

    def version(self, folder: Path, release: str) -> str:
        """What `changed` returns; by default the number of the server's next transaction."""
        try:
            with self._transaction(release) as cursor:
                if not self._has_rows(cursor, release):
                    raise self.missing(folder, release)
                return self._changed(cursor, release)
        except _TableMissing:
            raise self.missing(folder, release) from None

    def read(self, folder: Path, release: str, columns: Sequence[str]) -> SourceTable:
        """Those of the columns that the query returns, as the exact text of their values."""
        try:
            with self._transaction(release) as cursor:
                types = _column_types(cursor, self._select(release))
                content = self._csv(cursor, release)
        except _TableMissing:
            raise self.missing(folder, release) from None
        names = [name for name, _ in types]
        return SourceTable(_typed(content, types, columns), names, _QUERY)

    def describe(self, folder: Path, release: str) -> str:  # noqa: ARG002
        """The variable with the connection string."""
        return f"the rows of {_QUERY} on the server of {self.postgres}"

    def _select(self, release: str) -> str:
        return self.query.replace(PLACEHOLDER, release)

    def _has_rows(self, cursor: Any, release: str) -> bool:
        _column_types(cursor, self._select(release))
        cursor.execute(f"SELECT EXISTS ({self._select(release)}\n)")
        return bool(cursor.fetchone()[0])

    def _changed(self, cursor: Any, release: str) -> str:
        query = (self.changed or _LAST_TRANSACTION).replace(PLACEHOLDER, release).rstrip().rstrip(";")
        _column_types(cursor, query, "source.changed")
        cursor.execute(query)
        row = cursor.fetchone()
        return "" if row is None else str(row[0])

    def _csv(self, cursor: Any, release: str) -> bytes:
        """The rows as csv, if they are no more than the limit."""
        blocks, size, limit = [], 0, most_bytes(self.max_size)
        with cursor.copy(f"COPY ({self._select(release)}\n) TO STDOUT (FORMAT csv, HEADER)") as rows:
            for block in rows:
                size += len(block)
                require_size(size, limit, _QUERY)
                blocks.append(bytes(block))
        return b"".join(blocks)

    @contextmanager
    def _transaction(self, release: str) -> Iterator[Any]:
        """A cursor in a transaction that reads one state of the database and cannot write.

        Raises: InvalidSnapshot, _TableMissing.
        """
        psycopg = extra_package("psycopg", "postgres-source", "source.postgres")
        try:
            connection = psycopg.connect(**self._address(psycopg))
        except psycopg.Error:  # its text may quote the connection string
            rule = "lead to a Postgres server and a database that accept the connection"
            raise InvalidSnapshot(
                Problem("source.postgres", rule, self.postgres, "the server's log has the reason")
            ) from None
        try:
            with connection:
                connection.read_only = True
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                cursor = connection.cursor()
                for name, value in {**_SETTINGS, "statement_timeout": f"{self.timeout}s"}.items():
                    cursor.execute("SELECT set_config(%s, %s, true)", (name, value))
                yield cursor
        except psycopg.Error as error:
            if error.sqlstate == _UNDEFINED_TABLE:
                raise _TableMissing from None
            raise InvalidSnapshot(self._problem(release, error)) from None

    def _address(self, psycopg: Any) -> dict[str, Any]:
        """What the connection string says, with a limit for the time to connect.

        Raises: InvalidSnapshot if the variable is not set.
        """
        text = os.environ.get(self.postgres, "")
        if not text.strip():
            rule = "name an environment variable that holds a connection string"
            raise InvalidSnapshot(Problem("source.postgres", rule, f"{self.postgres} is not set"))
        given = psycopg.conninfo.conninfo_to_dict(text)
        return {"connect_timeout": 10, "application_name": "reanon", **given, "client_encoding": "utf8"}

    def _problem(self, release: str, error: Any) -> Problem:
        """The failure in a sentence. Only errors about the query's text are quoted: others may quote the data."""
        code = error.sqlstate or ""
        if code == _READ_ONLY:
            return Problem(_QUERY, "only read")
        if code == _CANCELED:
            return Problem(_QUERY, f"end within {self.timeout} seconds", help="set source.timeout")
        reason = error.diag.message_primary if code.startswith(_ABOUT_THE_TEXT) else f"the server's code is {code}"
        return Problem(_QUERY, f"run for {release}", help=reason if code else "the connection ended")


class _TableMissing(Exception):
    """A table of the query does not exist (yet)."""


def _column_types(cursor: Any, query: str, key: str = _QUERY) -> list[tuple[str, int]]:
    """The names of the columns that a query returns, and the numbers of their types.

    Preparing it refuses more than one statement, so that no part of the text can leave the read-only transaction.

    Raises: InvalidSnapshot if it is not one statement that returns rows.
    """
    server = cursor.connection.pgconn
    prepared = server.prepare(b"", query.encode())
    if prepared.error_message:
        code = (prepared.error_field(ord("C")) or b"").decode()
        reason = (prepared.error_field(ord("M")) or b"").decode(errors="replace")
        if code == _UNDEFINED_TABLE:
            raise _TableMissing
        raise InvalidSnapshot(Problem(key, "be one SELECT that the server accepts", help=reason))
    found = server.describe_prepared(b"")
    if not found.nfields:
        raise InvalidSnapshot(Problem(key, "be one SELECT", "a statement without rows"))
    return [((found.fname(at) or b"").decode(), found.ftype(at)) for at in range(found.nfields)]


def _typed(content: bytes, types: Sequence[tuple[str, int]], columns: Sequence[str]) -> "pa.Table":
    """The rows as text, with null for empty; true and false as such, because Postgres writes t and f."""
    import pyarrow as pa
    from pyarrow import compute

    names = [name for name, _ in types]
    if not set(names) & set(columns):
        return pa.table({})
    table, _ = read_csv(content, columns, _QUERY)
    for name in (name for name, kind in types if kind == _BOOLEAN and name in table.column_names):
        table = table.set_column(table.column_names.index(name), name, compute.equal(table[name], "t"))
    return table
