"""Queries of a series' store: its records, decisions, documents and memory, its releases with the truth behind them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.metrics.value_counts import ValueCounts
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.erasure import Mark
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.packing import Packable, packed_digest, packed_size, unpack
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import INVENTED, REMEMBERED
from reanon_core.model.trace import Trace, Witness
from reanon_core.model.verdict import Verdict
from reanon_dagster.storage.entry_codec import ORDER, arrays_from_store, entry_of
from reanon_dagster.storage.mapped_entry import mapped_arrays
from reanon_dagster.storage.memory_tables import read_state
from reanon_dagster.storage.records import AcceptedDrift, Halt, Refusal, ReleaseRecord, StateSummary, Withdrawal
from reanon_dagster.storage.store_tables import store_version

if TYPE_CHECKING:
    import duckdb

PEOPLE_AT_ONCE = 1_000_000
"""How many people of a series are read with one statement: a statement for each release costs more than its rows."""


def exists(connection: "duckdb.DuckDBPyConnection") -> bool:
    """Whether the file holds a series yet."""
    return store_version(connection) is not None


def releases(connection: "duckdb.DuckDBPyConnection") -> list[ReleaseRecord]:
    """Every release that passed the gate, in order."""
    rows = connection.execute(
        "SELECT position, release, input_digest, candidate_digest, manifest_digest, people, withheld, seconds, "
        "committed FROM private.releases ORDER BY position"
    ).fetchall()
    measured = _measured(connection)
    withdrawn = {one.release: one.withdrawn for one in withdrawals(connection)}
    return [
        ReleaseRecord(*(*row, *measured.get(row[0], (None,) * 4), withdrawn.get(row[1]), committed))
        for *row, committed in rows
    ]


def release_count(connection: "duckdb.DuckDBPyConnection") -> int:
    """How many releases passed the gate."""
    return int(connection.execute("SELECT count(*) FROM private.releases").fetchall()[0][0])


def _measured(connection: "duckdb.DuckDBPyConnection") -> dict[int, tuple[float | None, ...]]:
    """The query error of each release, the relations that it keeps, and its worst value, by its position."""
    query = "SELECT position, error, relations, lost, share_changed FROM private.query_errors"
    return {position: tuple(numbers) for position, *numbers in connection.execute(query).fetchall()}


def value_counts(connection: "duckdb.DuckDBPyConnection") -> dict[int, ValueCounts]:
    """What became of the people with each value, by the position of the release; of those that show the values."""
    query = "SELECT position, people, withheld, invented, counted FROM private.value_counts ORDER BY position, code"
    position, *columns = connection.execute(query).fetchnumpy().values()
    listed, ends = np.unique(position, return_index=True)[0], np.flatnonzero(np.diff(position)) + 1
    values = sensitive_values(connection)
    parts = zip(*(np.split(np.asarray(column), ends) for column in columns), strict=True)
    return {int(at): ValueCounts(values[: len(part[0])], *part) for at, part in zip(listed, parts, strict=False)}


def refusals(connection: "duckdb.DuckDBPyConnection") -> dict[str, Refusal]:
    """The latest refusal of each release."""
    rows = connection.execute("SELECT release, reason FROM private.refusals ORDER BY tried").fetchall()
    return {release: Refusal(release, reason) for release, reason in rows}


def table_people(connection: "duckdb.DuckDBPyConnection", position: int) -> Iterator[tuple[Int64, Int32]]:
    """The people who were in the table of a release, selected or not, as far as the store has them, some at a time.

    Each with the code of their sensitive value.
    """
    query = "SELECT person, sensitive FROM private.people WHERE position = ? AND origin = 0"
    for batch in connection.execute(query, [position]).to_arrow_reader(PEOPLE_AT_ONCE):
        yield batch["person"].to_numpy(), batch["sensitive"].to_numpy()


def known_among(connection: "duckdb.DuckDBPyConnection", persons: Int64) -> Bool:
    """Which of these people are in the snapshot of a release."""
    query = "SELECT DISTINCT person FROM private.people WHERE list_contains(?, person)"
    found = [person for (person,) in connection.execute(query, [persons.tolist()]).fetchall()]
    return np.isin(persons, np.array(found, np.int64))


def value_returning(connection: "duckdb.DuckDBPyConnection", code: int) -> list[tuple[int, int]]:
    """For each release and the next: how many people with a value returned, and how many had it; the latest first."""
    query = (
        "SELECT count(b.person), count(*) FROM private.people a LEFT JOIN private.people b "
        "ON b.person = a.person AND b.position = a.position + 1 AND b.origin = 0 WHERE a.origin = 0 "
        "AND a.sensitive = ? AND a.position + 1 < (SELECT count(*) FROM private.releases) "
        "GROUP BY a.position ORDER BY a.position DESC"
    )
    return connection.execute(query, [code]).fetchall()


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
    rows = connection.execute("SELECT attribute, value FROM private.other_values ORDER BY attribute, code").fetchall()
    count = max([others, *(attribute + 1 for attribute, _ in rows)])
    return tuple(tuple(value for owner, value in rows if owner == attribute) for attribute in range(count))


def latest_manifests(connection: "duckdb.DuckDBPyConnection", most: int) -> list[dict[str, Any]]:
    """The manifests of the latest releases, in order, at most so many."""
    query = f"SELECT manifest FROM public.manifests ORDER BY position DESC LIMIT {int(most)}"  # noqa: S608
    return [json.loads(text) for (text,) in reversed(connection.execute(query).fetchall())]


def manifests(connection: "duckdb.DuckDBPyConnection") -> list[tuple[str, str]]:
    """The name and the manifest text of each release, in order."""
    return connection.execute("SELECT release, manifest FROM public.manifests ORDER BY position").fetchall()


def published_files(connection: "duckdb.DuckDBPyConnection") -> dict[str, dict[str, str]]:
    """The sha256 of each file of each release that is not withdrawn, in order."""
    withdrawn = {one.release for one in withdrawals(connection)}
    return {
        release: {file: told["sha256"] for file, told in json.loads(text)["files"].items()}
        for release, text in manifests(connection)
        if release not in withdrawn
    }


def verdicts(connection: "duckdb.DuckDBPyConnection", position: int) -> list[Verdict]:
    """The verdicts with which a release passed the gate."""
    rows = connection.execute(
        "SELECT judge, holds, violations, observed, required, sentence FROM public.verdicts WHERE position = ?",
        [position],
    ).fetchall()
    return [Verdict(row[0], row[1], row[2], json.loads(row[3]), row[4], row[5]) for row in rows]


def state_summary(connection: "duckdb.DuckDBPyConnection", position: int) -> StateSummary | None:
    """The state after a release, without what it holds; None if a later release has replaced it."""
    found = read_state(connection, position)
    query = "SELECT count(DISTINCT person) FROM private.people WHERE row IS NOT NULL"
    people = connection.execute(query).fetchone()
    if found is None or people is None:
        return None
    return StateSummary(packed_digest(found), people[0], packed_size(found))


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
    return connection.execute(query, [position]).fetchnumpy()


def witness(connection: "duckdb.DuckDBPyConnection", position: int) -> Witness | None:
    """The row in which each world sees each traced person; None for a technique without worlds."""
    found = _packed(connection, "private.witnesses", [position]).get(position)
    return None if found is None else Witness(cast("Int32", found["rows"]))


def person_rows(connection: "duckdb.DuckDBPyConnection", position: int) -> dict[str, Packable]:
    """The rows of people of a decoupled release and their trace, as named arrays; nothing for any other release."""
    return _person_rows(connection, [position]).get(position, {})


def _person_rows(connection: "duckdb.DuckDBPyConnection", positions: Sequence[int]) -> dict[int, dict[str, Packable]]:
    shown, traced = (_packed(connection, table, positions) for table in ("public.person_rows", "private.person_traces"))
    return {position: {**arrays, **traced.get(position, {})} for position, arrays in shown.items()}


def _packed(
    connection: "duckdb.DuckDBPyConnection", table: str, positions: Sequence[int]
) -> dict[int, dict[str, Packable]]:
    """What a table with packed arrays holds for each of these releases."""
    query = f"SELECT position, data FROM {table} WHERE {_between(positions)}"  # noqa: S608  constants of ours
    found = connection.execute(query).fetchall()
    return {position: unpack(data) for position, data in found}


def entry(connection: "duckdb.DuckDBPyConnection", position: int, schema: Schema) -> Entry:
    """One release with the truth behind it."""
    return _entries(connection, [position], schema)[0]


def _entries(
    connection: "duckdb.DuckDBPyConnection",
    positions: Sequence[int],
    schema: Schema,
    folder: ColumnFolder | None = None,
) -> list[Entry]:
    """These releases with the truth behind them, read with a few statements, however many they are.

    With a folder, their long arrays are mapped from columns there.
    """
    if folder is None:
        listed = [arrays_from_store(tables, schema) for tables in _tables(connection, positions)]
    else:
        listed = [mapped_arrays(connection, position, schema, folder) for position in positions]
    witnesses = _packed(connection, "private.witnesses", positions)
    own, shapes = _person_rows(connection, positions), _shapes(connection, positions)
    entries = []
    for position, arrays in zip(positions, listed, strict=True):
        if position in witnesses:
            arrays["witness"] = witnesses[position]["rows"]
        columns, grouped = shapes.get(position, (None, True))
        entries.append(entry_of(arrays | own.get(position, {}), schema, columns=columns, grouped=grouped))
    return entries


def _tables(connection: "duckdb.DuckDBPyConnection", positions: Sequence[int]) -> Iterator[dict[str, dict[str, Any]]]:
    """The columns of each table, release by release."""
    tables = {}
    for table, order in ORDER.items():  # names of tables and columns are constants of ours
        query = f"SELECT * FROM {table} WHERE {_between(positions)} ORDER BY position, {order}"  # noqa: S608
        found = connection.execute(query).fetchnumpy()
        starts, ends = (np.searchsorted(found["position"], positions, side) for side in ("left", "right"))
        parts = zip(starts.tolist(), ends.tolist(), strict=True)
        tables[table] = [{name: column[a:b] for name, column in found.items()} for a, b in parts]
    for index in range(len(positions)):
        yield {table: parts[index] for table, parts in tables.items()}


def _shapes(
    connection: "duckdb.DuckDBPyConnection", positions: Sequence[int]
) -> dict[int, tuple[tuple[str, ...] | None, bool]]:
    """The columns that a release shows, None for all, and whether it has groups; without those that show everything."""
    query = f"SELECT position, columns, grouped FROM public.shapes WHERE {_between(positions)}"  # noqa: S608  numbers
    found = connection.execute(query).fetchall()
    return {
        position: (None if columns is None else tuple(json.loads(columns)), bool(grouped))
        for position, columns, grouped in found
    }


def _between(positions: Sequence[int]) -> str:
    """The condition on the rows of these releases; with parameters, DuckDB would import pandas, which takes longer."""
    return f"position BETWEEN {int(positions[0])} AND {int(positions[-1])}"


def known_schema(connection: "duckdb.DuckDBPyConnection", schema: Schema) -> Schema:
    """The schema with the values of all releases."""
    others = other_values(connection, len(schema.other))
    return schema.with_sensitive_values(sensitive_values(connection)).with_other_values(others)


def ledger(
    connection: "duckdb.DuckDBPyConnection",
    schema: Schema,
    count: int | None = None,
    folder: ColumnFolder | None = None,
) -> Ledger:
    """The first so many releases with the truth behind them, each with the sensitive values that were known then.

    Codes are given in the order in which values arrive, so these are the codes up to the greatest one so far. With a
    folder, long arrays are mapped from columns there.
    """
    known = known_schema(connection, schema)
    entries: list[Entry] = []
    values = 0
    for positions in _spans(releases(connection)[:count], 0 if folder is not None else PEOPLE_AT_ONCE):
        for found in _entries(connection, positions, known, folder):
            # A release may show a value as a counterfeit that only a person had who is forgotten.
            codes = (found.snapshot.sensitive, found.release.sensitive)
            values = max(values, *(int(one.max(initial=-1)) + 1 for one in codes))
            then = known if schema.sensitive.closed else known.with_sensitive_values(known.sensitive.values[:values])
            entries.append(replace(found, snapshot=replace(found.snapshot, schema=then)))
            found.forget_pages()
    return Ledger(tuple(entries), erased=bool(marks(connection)))


def _spans(records: Sequence[ReleaseRecord], most: int) -> Iterator[list[int]]:
    """The positions of releases that are read together: many small ones, or a large one."""
    span: list[int] = []
    people = 0
    for record in records:
        people += record.people
        if span and people > most:
            yield span
            span, people = [], record.people
        span.append(record.position)
    if span:
        yield span


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


def release_documents(connection: "duckdb.DuckDBPyConnection", position: int) -> dict[str, bytes]:
    """The documents beside the tables of a release, by name."""
    # A constant of ours, without parameters, for which DuckDB imports pandas.
    query = f"SELECT name, content FROM public.documents WHERE position = {int(position)} ORDER BY name"  # noqa: S608
    return {name: bytes(content) for name, content in connection.execute(query).fetchall()}


def series_documents(connection: "duckdb.DuckDBPyConnection") -> dict[str, bytes]:
    """The documents in the folder of the series, as the latest release found it, by name; maybe none."""
    found = connection.execute("SELECT name, content FROM public.series_documents ORDER BY name").fetchall()
    return {name: bytes(content) for name, content in found}
