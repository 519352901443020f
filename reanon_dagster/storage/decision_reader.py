"""Queries of a series' store: what people have decided about its releases, and who is forgotten."""

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from reanon_core.model.mark import Mark
from reanon_dagster.storage.records import AcceptedDrift, Halt, Withdrawal

if TYPE_CHECKING:
    import duckdb


_tables: "WeakKeyDictionary[duckdb.DuckDBPyConnection, list[tuple[str, str]]]" = WeakKeyDictionary()
"""The tables that each connection has seen, with their schemas. A table stays, so that only a missing one is asked for
again."""


def has_table(connection: "duckdb.DuckDBPyConnection", schema: str, table: str) -> bool:
    """Whether the store has a table: later versions added some."""
    if (schema, table) in _tables.get(connection, ()):
        return True
    # Without parameters, for which DuckDB imports pandas, and without the views of information_schema: both are slow.
    query = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database()"
    _tables[connection] = connection.execute(query).fetchall()
    return (schema, table) in _tables[connection]


def halts(connection: "duckdb.DuckDBPyConnection") -> tuple[Halt, ...]:
    """The halts that stand, the oldest first; none in a store of 0.1.0."""
    if not has_table(connection, "private", "halts"):
        return ()
    query = "SELECT release, halted, reason FROM private.halts WHERE lifted IS NULL ORDER BY halted, rowid"
    return tuple(Halt(*row) for row in connection.execute(query).fetchall())


def accepted_flaws(connection: "duckdb.DuckDBPyConnection") -> frozenset[str]:
    """The flaws of the published folder that a person has accepted; none in a store of 0.1.0."""
    if not has_table(connection, "private", "accepted_flaws"):
        return frozenset()
    return frozenset(text for (text,) in connection.execute("SELECT sentence FROM private.accepted_flaws").fetchall())


def accepted_drifts(connection: "duckdb.DuckDBPyConnection") -> dict[str, tuple[AcceptedDrift, ...]]:
    """The brakes that a person has accepted, by release; none in a store of 0.1.0."""
    if not has_table(connection, "private", "accepted_drifts"):
        return {}
    rows = connection.execute("SELECT release, brake, reason FROM private.accepted_drifts ORDER BY rowid").fetchall()
    found: dict[str, tuple[AcceptedDrift, ...]] = {}
    for release, brake, reason in rows:
        found[release] = (*found.get(release, ()), AcceptedDrift(brake, reason))
    return found


def withdrawals(connection: "duckdb.DuckDBPyConnection") -> tuple[Withdrawal, ...]:
    """The releases that were taken back, in the order of the releases; none in a store of 0.1.0."""
    if not has_table(connection, "private", "withdrawals"):
        return ()
    query = (
        "SELECT release, withdrawn, because, tombstone, releases FROM private.withdrawals "
        "JOIN private.releases USING (position) ORDER BY position"
    )
    return tuple(Withdrawal(*row) for row in connection.execute(query).fetchall())


def marks(connection: "duckdb.DuckDBPyConnection") -> tuple[Mark, ...]:
    """What is left of the people who are forgotten; none in a store of 0.1.0."""
    if not has_table(connection, "private", "forgotten"):
        return ()
    rows = connection.execute("SELECT number, bits, releases FROM private.forgotten ORDER BY number").fetchall()
    return tuple(Mark(*row) for row in rows)
