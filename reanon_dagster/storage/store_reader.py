"""Queries of a series' store: its records, its memory, its releases with the truth behind them."""

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.packing import Packable, unpack
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import INVENTED, REMEMBERED
from reanon_core.model.trace import Trace, Witness
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory
from reanon_dagster.storage.entry_codec import BOXES, COUNTERFEITS, PEOPLE, ROWS, arrays_from_store, entry_of
from reanon_dagster.storage.records import Halt, Refusal, ReleaseRecord, StateSummary

if TYPE_CHECKING:
    import duckdb

ORDER = {PEOPLE: "person", ROWS: "row", BOXES: "group_id", COUNTERFEITS: "group_id"}
"""The order in which the rows of each table are read."""


def exists(connection: "duckdb.DuckDBPyConnection") -> bool:
    """Whether the file holds a series yet."""
    return _has(connection, "private", "releases")


def _has(connection: "duckdb.DuckDBPyConnection", schema: str, table: str) -> bool:
    query = "SELECT count(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
    found = connection.execute(query, [schema, table]).fetchone()
    return found is not None and found[0] == 1


def releases(connection: "duckdb.DuckDBPyConnection") -> list[ReleaseRecord]:
    """Every release that passed the gate, in order."""
    rows = connection.execute(
        "SELECT position, release, input_digest, candidate_digest, manifest_digest, people, withheld, seconds "
        "FROM private.releases ORDER BY position"
    ).fetchall()
    errors = _query_errors(connection)
    return [ReleaseRecord(*(*row, errors.get(row[0]))) for row in rows]


def _query_errors(connection: "duckdb.DuckDBPyConnection") -> dict[int, float | None]:
    """The query error of each release, by its position; nothing in a store of 0.1.0."""
    if not _has(connection, "private", "query_errors"):
        return {}
    return dict(connection.execute("SELECT position, error FROM private.query_errors").fetchall())


def refusals(connection: "duckdb.DuckDBPyConnection") -> dict[str, Refusal]:
    """The latest refusal of each release."""
    rows = connection.execute("SELECT release, reason FROM private.refusals ORDER BY tried").fetchall()
    return {release: Refusal(release, reason) for release, reason in rows}


def halts(connection: "duckdb.DuckDBPyConnection") -> tuple[Halt, ...]:
    """The halts that stand, the oldest first; none in a store of 0.1.0."""
    if not _has(connection, "private", "halts"):
        return ()
    query = "SELECT release, halted, reason FROM private.halts WHERE lifted IS NULL ORDER BY halted, rowid"
    return tuple(Halt(*row) for row in connection.execute(query).fetchall())


def frozen(connection: "duckdb.DuckDBPyConnection") -> dict[str, str]:
    """What the first release froze, by name; empty before it."""
    rows = connection.execute("SELECT name, value FROM private.series WHERE name IN ('fingerprint', 'key')").fetchall()
    return dict(rows)


def sensitive_values(connection: "duckdb.DuckDBPyConnection") -> tuple[str, ...]:
    """The sensitive values of all releases, in the order of their codes."""
    return tuple(
        value for (value,) in connection.execute("SELECT value FROM private.sensitive_values ORDER BY code").fetchall()
    )


def other_values(connection: "duckdb.DuckDBPyConnection", others: int = 0) -> tuple[tuple[str, ...], ...]:
    """The values of each non-identifier in all releases, in the order of their codes; at least so many lists."""
    if not _has(connection, "private", "other_values"):
        return ((),) * others
    rows = connection.execute("SELECT attribute, value FROM private.other_values ORDER BY attribute, code").fetchall()
    count = max([others, *(attribute + 1 for attribute, _ in rows)])
    return tuple(tuple(value for owner, value in rows if owner == attribute) for attribute in range(count))


def state(connection: "duckdb.DuckDBPyConnection", position: int) -> Memory | None:
    """The technique's state after a release: everyone ever published. Only the latest one is kept."""
    found = connection.execute("SELECT data FROM private.states WHERE position = ?", [position]).fetchone()
    return None if found is None else unpack(found[0])


def memories(connection: "duckdb.DuckDBPyConnection", position: int) -> dict[str, Memory]:
    """What each check remembers after a release, by the check's name. Only the latest memories are kept."""
    found = connection.execute("SELECT judge, data FROM private.memories WHERE position = ?", [position]).fetchall()
    return {check: unpack(data) for check, data in found}


def manifests(connection: "duckdb.DuckDBPyConnection") -> list[tuple[str, str]]:
    """The name and the manifest text of each release, in order."""
    return connection.execute("SELECT release, manifest FROM public.manifests ORDER BY position").fetchall()


def verdicts(connection: "duckdb.DuckDBPyConnection", position: int) -> list[Verdict]:
    """The verdicts with which a release passed the gate."""
    rows = connection.execute(
        "SELECT judge, holds, violations, observed, required, sentence FROM public.verdicts WHERE position = ?",
        [position],
    ).fetchall()
    return [Verdict(row[0], row[1], row[2], json.loads(row[3]), row[4], row[5]) for row in rows]


def state_summary(connection: "duckdb.DuckDBPyConnection", position: int) -> StateSummary | None:
    """The state after a release, without what it holds; None if a later release has replaced it."""
    found = connection.execute("SELECT data FROM private.states WHERE position = ?", [position]).fetchone()
    query = "SELECT count(DISTINCT person) FROM private.people WHERE row IS NOT NULL"
    people = connection.execute(query).fetchone()
    if found is None or people is None:
        return None
    return StateSummary(hashlib.sha256(found[0]).hexdigest(), people[0], len(found[0]))


def trace(connection: "duckdb.DuckDBPyConnection", position: int) -> Trace:
    """The published row of each person in a release, without the people a technique invented."""
    found = _published_people(connection, position)
    real = found["origin"] != INVENTED
    own = person_rows(connection, position).get("person_rows")
    return Trace(found["person"][real], found["row"][real], None if own is None else cast("Int32", own)[real])


def remembered(connection: "duckdb.DuckDBPyConnection", position: int) -> Int64:
    """The people whom a release shows although they had left the table."""
    found = _published_people(connection, position)
    return np.asarray(found["person"][found["origin"] == REMEMBERED], dtype=np.int64)


def _published_people(connection: "duckdb.DuckDBPyConnection", position: int) -> "dict[str, Any]":
    """The people behind the rows of a release, with their rows and origins."""
    query = "SELECT * FROM private.people WHERE position = ? AND row IS NOT NULL ORDER BY person"
    found = connection.execute(query, [position]).fetchnumpy()
    return {"origin": np.zeros(len(found["person"]), np.int8)} | found  # an older store has no such column


def witness(connection: "duckdb.DuckDBPyConnection", position: int) -> Witness | None:
    """The row in which each world sees each traced person; None for a technique without worlds."""
    if not _has(connection, "private", "witnesses"):
        return None
    found = connection.execute("SELECT data FROM private.witnesses WHERE position = ?", [position]).fetchone()
    return None if found is None else Witness(cast("Int32", unpack(found[0])["rows"]))


def person_rows(connection: "duckdb.DuckDBPyConnection", position: int) -> dict[str, Packable]:
    """The rows of people of a decoupled release and their trace, as named arrays; nothing for any other release."""
    arrays: dict[str, Packable] = {}
    for schema, table in (("public", "person_rows"), ("private", "person_traces")):
        if _has(connection, schema, table):
            query = f"SELECT data FROM {schema}.{table} WHERE position = ?"  # noqa: S608  constants of ours
            found = connection.execute(query, [position]).fetchone()
            arrays |= {} if found is None else unpack(found[0])
    return arrays


def entry(connection: "duckdb.DuckDBPyConnection", position: int, schema: Schema) -> Entry:
    """One release with the truth behind it."""
    tables = {
        # Names of tables and columns are constants of ours.
        table: connection.execute(f"SELECT * FROM {table} WHERE position = ? ORDER BY {order}", [position]).fetchnumpy()  # noqa: S608
        for table, order in ORDER.items()
    }
    arrays = arrays_from_store(tables, schema)
    worlds = witness(connection, position)
    if worlds is not None:
        arrays["witness"] = worlds.rows
    arrays |= person_rows(connection, position)
    columns, grouped = _shape(connection, position)
    return entry_of(arrays, schema, columns=columns, grouped=grouped)


def _shape(connection: "duckdb.DuckDBPyConnection", position: int) -> tuple[tuple[str, ...] | None, bool]:
    """The columns that a release shows, None for all, and whether it has groups."""
    if not _has(connection, "public", "shapes"):
        return None, True
    found = connection.execute("SELECT columns, grouped FROM public.shapes WHERE position = ?", [position]).fetchone()
    if found is None:
        return None, True
    return None if found[0] is None else tuple(json.loads(found[0])), bool(found[1])


def known_schema(connection: "duckdb.DuckDBPyConnection", schema: Schema) -> Schema:
    """The schema with the values of all releases."""
    others = other_values(connection, len(schema.other))
    return schema.with_sensitive_values(sensitive_values(connection)).with_other_values(others)


def ledger(connection: "duckdb.DuckDBPyConnection", schema: Schema, count: int | None = None) -> Ledger:
    """The first so many releases with the truth behind them, each with the sensitive values that were known then.

    Codes are given in the order in which values arrive, so these are the codes up to the greatest one so far.
    """
    known = known_schema(connection, schema)
    entries, values = [], 0
    for record in releases(connection)[:count]:
        found = entry(connection, record.position, known)
        values = max(values, int(found.snapshot.sensitive.max(initial=-1)) + 1)
        then = known if schema.sensitive.closed else known.with_sensitive_values(known.sensitive.values[:values])
        entries.append(replace(found, snapshot=replace(found.snapshot, schema=then)))
    return Ledger(tuple(entries))
