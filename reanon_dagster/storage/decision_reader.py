"""Queries of a series' store: what people have decided about its releases, and who is forgotten."""

from typing import TYPE_CHECKING

from reanon_core.model.mark import Mark
from reanon_dagster.storage.records import AcceptedDrift, Halt, Withdrawal

if TYPE_CHECKING:
    import duckdb


def halts(connection: "duckdb.DuckDBPyConnection") -> tuple[Halt, ...]:
    """The halts that stand, the oldest first."""
    query = "SELECT release, halted, reason FROM private.halts WHERE lifted IS NULL ORDER BY halted, rowid"
    return tuple(Halt(*row) for row in connection.execute(query).fetchall())


def accepted_flaws(connection: "duckdb.DuckDBPyConnection") -> frozenset[str]:
    """The flaws of the published folder that a person has accepted."""
    return frozenset(text for (text,) in connection.execute("SELECT sentence FROM private.accepted_flaws").fetchall())


def accepted_drifts(connection: "duckdb.DuckDBPyConnection") -> dict[str, tuple[AcceptedDrift, ...]]:
    """The brakes that a person has accepted, by release."""
    rows = connection.execute("SELECT release, brake, reason FROM private.accepted_drifts ORDER BY rowid").fetchall()
    found: dict[str, tuple[AcceptedDrift, ...]] = {}
    for release, brake, reason in rows:
        found[release] = (*found.get(release, ()), AcceptedDrift(brake, reason))
    return found


def withdrawals(connection: "duckdb.DuckDBPyConnection") -> tuple[Withdrawal, ...]:
    """The releases that were taken back, in the order of the releases."""
    query = (
        "SELECT release, withdrawn, because, tombstone, releases FROM private.withdrawals "
        "JOIN private.releases USING (position) ORDER BY position"
    )
    return tuple(Withdrawal(*row) for row in connection.execute(query).fetchall())


def marks(connection: "duckdb.DuckDBPyConnection") -> tuple[Mark, ...]:
    """What is left of the people who are forgotten."""
    rows = connection.execute("SELECT number, bits, releases FROM private.forgotten ORDER BY number").fetchall()
    return tuple(Mark(*row) for row in rows)
