"""Changes of a series' store: one transaction for each release, at the gate, and one for a person who is forgotten."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.metrics.value_counts import ValueCounts, value_counts
from reanon_core.model.arrays import forget_pages
from reanon_core.model.erasure import Mark
from reanon_core.model.errors import OutOfOrder
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import pack
from reanon_core.model.schema import Schema
from reanon_core.protocols import Memory
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.entry_codec import PEOPLE, person_row_arrays, store_columns, store_parts
from reanon_dagster.storage.known_people import erase_person, write_new_people
from reanon_dagster.storage.memory_tables import arrow_rows, drop_tables_of_others, write_memory, write_state
from reanon_dagster.storage.records import Commit, ReleaseRecord, Withdrawal
from reanon_dagster.storage.store_tables import LATEST_STATEMENTS, create_statements

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

COLUMNS = "quasi_identifiers."
"""How the frozen settings of a column begin."""
OVERTAKEN = "another process published a release of this series in the meantime; try again"


def commit(connection: "duckdb.DuckDBPyConnection", change: Commit) -> None:
    """Write the release, its trace, the state and the checks' memories, all or nothing.

    Raises: OutOfOrder if another release was committed since this one was prepared.
    """
    with transaction(connection):
        _write_release(connection, change)


@contextmanager
def transaction(connection: "duckdb.DuckDBPyConnection") -> Iterator[None]:
    """Everything that is written inside, or nothing."""
    import duckdb

    connection.begin()
    try:
        yield
    except BaseException:
        with suppress(duckdb.Error):  # after a failed write DuckDB has rolled back by itself, and the cause counts
            connection.rollback()
        raise
    connection.commit()


def record_refusal(connection: "duckdb.DuckDBPyConnection", release: str, reason: str) -> None:
    """Record that a release was refused and why, for `reanon status`."""
    connection.execute("INSERT INTO private.refusals VALUES (?, current_localtimestamp(), ?)", [release, reason])


def record_halt(connection: "duckdb.DuckDBPyConnection", release: str, reason: str) -> None:
    """Record that the audit of a release failed and why; the same again changes nothing while the halt stands."""
    if (release, reason) not in {(halt.release, halt.reason) for halt in store_reader.halts(connection)}:
        query = "INSERT INTO private.halts VALUES (?, current_localtimestamp(), ?, NULL, NULL)"
        connection.execute(query, [release, reason])


def lift_halts(connection: "duckdb.DuckDBPyConnection", because: str) -> None:
    """Record that a person lifts every halt that stands, and why."""
    query = "UPDATE private.halts SET lifted = current_localtimestamp(), because = ? WHERE lifted IS NULL"
    connection.execute(query, [because])


def accept_flaws(connection: "duckdb.DuckDBPyConnection", flaws: Sequence[str], because: str) -> None:
    """Record that a person accepts these flaws of the published folder, and why."""
    query = "INSERT INTO private.accepted_flaws VALUES (?, current_localtimestamp(), ?)"
    for flaw in flaws:
        connection.execute(query, [flaw, because])


def record_withdrawal(connection: "duckdb.DuckDBPyConnection", record: ReleaseRecord, change: Withdrawal) -> None:
    """Record that a release is taken back, and why; nothing else changes, because whoever has it still has it."""
    connection.execute(
        "INSERT INTO private.withdrawals VALUES (?, ?, ?, ?, ?)",
        [record.position, change.withdrawn, change.because, change.tombstone, change.releases],
    )


def create(connection: "duckdb.DuckDBPyConnection", schema: Schema) -> None:
    """Create the tables if the file has none yet.

    Requires: a transaction, so that a kill leaves all of them or none.
    """
    if store_reader.exists(connection):
        return
    for statement in create_statements(len(schema.quasi_identifiers), len(schema.other)):
        connection.execute(statement)


def _write_release(connection: "duckdb.DuckDBPyConnection", change: Commit) -> None:
    record, entry = change.record, change.entry
    create(connection, entry.snapshot.schema)
    done = connection.execute("SELECT count(*) FROM private.releases").fetchone()
    if done is None or done[0] != record.position:
        raise OutOfOrder(OVERTAKEN)
    if record.position == 0:
        connection.executemany("INSERT INTO private.series VALUES (?, ?)", list(change.frozen.items()))
    else:
        _freeze_growth(connection, change.frozen)
    connection.execute(
        "INSERT INTO private.releases VALUES (?, ?, ?, ?, ?, ?, ?, ?, current_localtimestamp())",
        [
            record.position,
            record.release,
            record.input_digest,
            record.candidate_digest,
            record.manifest_digest,
            record.people,
            record.withheld,
            record.seconds,
        ],
    )
    measured = [record.position, record.query_error, record.relations, record.lost, record.share_changed]
    connection.execute("INSERT INTO private.query_errors VALUES (?, ?, ?, ?, ?)", measured)
    _write_value_counts(connection, record.position, change.values)
    connection.execute("DELETE FROM private.refusals WHERE release = ?", [record.release])
    for accepted in change.accepted:
        query = "INSERT INTO private.accepted_drifts VALUES (?, current_localtimestamp(), ?, ?)"
        connection.execute(query, [record.release, accepted.brake, accepted.reason])
    _write_values(connection, entry.snapshot.schema)
    _write_shape(connection, record.position, entry)
    for table, parts in groupby(store_parts(entry), key=itemgetter(0)):
        rows = arrow_rows(_with_null(columns) for _, columns in parts)
        _insert(connection, table, rows, position=record.position)
        snapshot, shown, trace = entry.snapshot, entry.release, entry.trace
        forget_pages(snapshot.persons, snapshot.qi, snapshot.sensitive, snapshot.other, trace.persons, trace.rows)
        forget_pages(shown.group, shown.sensitive, shown.other, shown.boxes.low, shown.boxes.high, shown.boxes.missing)
    if change.new_ids is not None:
        write_new_people(connection, change.new_ids)
    _write_memories(connection, change)
    _write_documents(connection, change)
    connection.execute(
        "INSERT INTO public.manifests VALUES (?, ?, ?)", [record.position, record.release, change.manifest]
    )
    for verdict in change.verdicts:
        connection.execute(
            "INSERT INTO public.verdicts VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                record.position,
                verdict.check,
                verdict.holds,
                verdict.required,
                verdict.violations,
                json.dumps(verdict.observed),
                verdict.sentence,
            ],
        )


def _freeze_growth(connection: "duckdb.DuckDBPyConnection", now: Mapping[str, str]) -> None:
    """What a column has grown by is frozen as well: the release may show it."""
    before = store_reader.frozen(connection)["fingerprint"]
    columns = {key: value for key, value in json.loads(now["fingerprint"]).items() if key.startswith(COLUMNS)}
    grown = json.dumps({**json.loads(before), **columns}, sort_keys=True)
    if grown != before:
        connection.execute("UPDATE private.series SET value = ? WHERE name = 'fingerprint'", [grown])


def _write_value_counts(connection: "duckdb.DuckDBPyConnection", position: int, counts: ValueCounts | None) -> None:
    import pyarrow as pa

    if counts is not None:
        columns = {name: getattr(counts, name) for name in ("people", "withheld", "invented", "counted")}
        rows = pa.table({"code": np.arange(len(counts.values), dtype=np.int32), **columns})
        _insert(connection, "private.value_counts", rows, position=position)


def _write_values(connection: "duckdb.DuckDBPyConnection", schema: Schema) -> None:
    """Add the values that are new to the lists, as tables: a statement for each value would take minutes for many."""
    known = connection.execute("SELECT count(*) FROM private.sensitive_values").fetchone()
    _insert_values(connection, "private.sensitive_values", schema.sensitive.values, known[0] if known else 0)
    if not schema.other:
        return
    known_others = store_reader.other_values(connection, len(schema.other))
    for attribute, values in enumerate(schema.other_values):
        count = len(known_others[attribute])
        _insert_values(connection, "private.other_values", values, count, attribute=attribute)


def _insert_values(
    connection: "duckdb.DuckDBPyConnection", table: str, values: Sequence[str], known: int, **constant: int
) -> None:
    """Add the values behind the first `known` ones, with their codes and with columns that have one number."""
    import pyarrow as pa

    new = values[known:]
    if new:
        codes = np.arange(known, len(values), dtype=np.int32)
        _insert(connection, table, pa.table({"code": codes, "value": pa.array(new, pa.string())}), **constant)


def _write_shape(connection: "duckdb.DuckDBPyConnection", position: int, entry: Entry) -> None:
    """Write what a release shows and the rows of its worlds, where a series needs either."""
    release = entry.release
    if release.columns is not None or not release.grouped:
        listed = None if release.columns is None else json.dumps(release.columns)
        connection.execute("INSERT INTO public.shapes VALUES (?, ?, ?)", [position, release.grouped, listed])
    if entry.witness is not None:
        data = pack({"rows": entry.witness.rows})
        connection.execute("INSERT INTO private.witnesses VALUES (?, ?)", [position, data])
    if own := person_row_arrays(entry):
        shown = pack({"person_rows": own.pop("person_rows")})
        connection.execute("INSERT INTO private.person_traces VALUES (?, ?)", [position, shown])
        connection.execute("INSERT INTO public.person_rows VALUES (?, ?)", [position, pack(own)])


def _write_memories(connection: "duckdb.DuckDBPyConnection", change: Commit) -> None:
    """Replace the state and the memories by those of this release.

    The tables are made anew. DuckDB keeps the blocks of deleted rows as long as one row beside them is alive, so that
    the states of all past releases would stay in the file.
    """
    position = change.record.position
    for statement in LATEST_STATEMENTS:
        connection.execute(statement)
    write_state(connection, position, change.state)
    for check, memory in change.memories.items():
        write_memory(connection, position, check, memory)
    drop_tables_of_others(connection, change.memories)


def _write_documents(connection: "duckdb.DuckDBPyConnection", change: Commit) -> None:
    """Keep the documents of the release, and those of the series in place of the earlier ones.

    Requires: the tables of the latest release were made anew.
    """
    for name, content in change.documents.items():
        connection.execute("INSERT INTO public.documents VALUES (?, ?, ?)", [change.record.position, name, content])
    for name, content in change.series_documents.items():
        connection.execute("INSERT INTO public.series_documents VALUES (?, ?)", [name, content])


def _with_null(columns: dict[str, Any]) -> dict[str, Any]:
    """Rows of a table of the store; a person's published row of -1 is none."""
    import pyarrow as pa

    row = columns["row"] if "person" in columns else None
    return columns if row is None else columns | {"row": pa.array(row, mask=row < 0)}


def _insert(
    connection: "duckdb.DuckDBPyConnection", table: str, rows: "pa.Table | pa.RecordBatchReader", **constant: int
) -> None:
    """Add the rows, each with columns that have one number."""
    columns = "".join(f", {number} AS {name}" for name, number in constant.items())
    connection.register("new_rows", rows)
    connection.execute(f"INSERT INTO {table} BY NAME SELECT *{columns} FROM new_rows")  # noqa: S608
    connection.unregister("new_rows")


UNCHANGED = frozenset({"person", "row", "asked", "origin"})
"""What a row keeps: the number is exchanged, and where the release shows the person cannot change."""


@dataclass(frozen=True, eq=False)
class Erasure:
    """Everything that forgetting a person changes in the store."""

    person: int
    mark: Mark
    entries: Mapping[int, tuple[Entry, str]]
    """The releases whose snapshots had the person, by position: each without them, and its new digest."""
    state: Memory
    memories: Mapping[str, Memory]
    """What each check remembers, by its name."""


def write_erasure(connection: "duckdb.DuckDBPyConnection", change: Erasure) -> None:
    """Replace the person by their mark, all or nothing. The free blocks of the file still hold them: compact it."""
    with transaction(connection):
        connection.execute(
            "INSERT INTO private.forgotten VALUES (?, ?, current_localtimestamp(), ?)",
            [change.mark.number, change.mark.bits, change.mark.releases],
        )
        for position, (entry, digest) in change.entries.items():
            _write_person(connection, position, entry, change)
            query = "UPDATE private.releases SET candidate_digest = ? WHERE position = ?"
            connection.execute(query, [digest, position])
            # Counts by value would still have the person.
            connection.execute("DELETE FROM private.value_counts WHERE position = ?", [position])
            _write_value_counts(connection, position, value_counts(entry))
        erase_person(connection, change.person)
        latest = change.mark.releases - 1
        write_state(connection, latest, change.state)
        for check, memory in change.memories.items():
            write_memory(connection, latest, check, memory)


def _write_person(connection: "duckdb.DuckDBPyConnection", position: int, entry: Entry, change: Erasure) -> None:
    """The row of the person in one snapshot, or no row if the release does not show them."""
    place = int(entry.snapshot.persons.searchsorted(change.mark.number))
    which = "WHERE position = ? AND person = ?"
    if place == entry.snapshot.size or entry.snapshot.persons[place] != change.mark.number:
        connection.execute(f"DELETE FROM private.people {which}", [position, change.person])  # noqa: S608
        return
    columns = store_columns(entry)[PEOPLE]
    changed = [name for name in columns if name not in UNCHANGED]
    sets = ", ".join(f"{name} = ?" for name in ("person", *changed))
    codes = [int(columns[name][place]) for name in changed]
    query = f"UPDATE private.people SET {sets} {which}"  # noqa: S608  names of ours
    connection.execute(query, [change.mark.number, *codes, position, change.person])
