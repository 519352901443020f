"""Reading the store back: where the series stands, and its whole ledger."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.model.arrays import Int64
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.packing import unpack
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace
from reanon_core.model.verdict import Verdict
from reanon_dagster.storage.records import Recorded, Refusal, Standing

if TYPE_CHECKING:
    import duckdb


def exists(connection: "duckdb.DuckDBPyConnection") -> bool:
    """Whether the file holds a series yet."""
    found = connection.execute(
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'private' AND table_name = 'releases'"
    ).fetchone()
    return found is not None and found[0] == 1


def releases(connection: "duckdb.DuckDBPyConnection") -> list[Recorded]:
    """Every release that passed the gate, in order."""
    rows = connection.execute(
        "SELECT position, release, input_digest, candidate_digest, manifest_digest, people, withheld, seconds "
        "FROM private.releases ORDER BY position"
    ).fetchall()
    return [Recorded(*row) for row in rows]


def refusals(connection: "duckdb.DuckDBPyConnection") -> dict[str, Refusal]:
    """The latest refusal of each release."""
    rows = connection.execute("SELECT release, reason FROM private.refusals ORDER BY tried").fetchall()
    return {release: Refusal(release, reason) for release, reason in rows}


def frozen(connection: "duckdb.DuckDBPyConnection") -> dict[str, str]:
    """What the first release froze, by name; empty before it."""
    rows = connection.execute("SELECT name, value FROM private.series WHERE name IN ('fingerprint', 'key')").fetchall()
    return dict(rows)


def standing(connection: "duckdb.DuckDBPyConnection") -> Standing:
    """What the next release builds on."""
    recorded = releases(connection)
    values = connection.execute("SELECT value FROM private.sensitive_values ORDER BY code").fetchall()
    if not recorded:
        return Standing(None, (), None, {})
    position = recorded[-1].position
    state = connection.execute("SELECT data FROM private.states WHERE position = ?", [position]).fetchone()
    memories = connection.execute("SELECT judge, data FROM private.memories WHERE position = ?", [position]).fetchall()
    return Standing(
        recorded[-1],
        tuple(value for (value,) in values),
        None if state is None else unpack(state[0]),
        {judge: unpack(data) for judge, data in memories},
    )


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


def trace(connection: "duckdb.DuckDBPyConnection", position: int) -> Trace:
    """The published row of each person in a release; an invented one is nobody."""
    found = _columns(
        connection,
        "SELECT person, row FROM private.people WHERE position = ? AND row IS NOT NULL AND origin < 2 ORDER BY person",
        position,
    )
    return Trace(found["person"], found["row"])


def remembered(connection: "duckdb.DuckDBPyConnection", position: int) -> Int64:
    """The people whom a release shows though they were not in its table."""
    found = _columns(
        connection,
        "SELECT person FROM private.people WHERE position = ? AND row IS NOT NULL AND origin = 1 ORDER BY person",
        position,
    )
    return np.asarray(found["person"], dtype=np.int64)


def staged(connection: "duckdb.DuckDBPyConnection", release: str) -> bytes | None:
    """The bytes of the release's candidate, if one is kept."""
    found = connection.execute("SELECT data FROM private.candidates WHERE release = ?", [release]).fetchone()
    return None if found is None else found[0]


def entry(connection: "duckdb.DuckDBPyConnection", position: int, schema: Schema) -> Entry:
    """One release with the truth behind it."""
    attributes = range(len(schema.quasi_identifiers))
    people = _columns(
        connection, "SELECT * EXCLUDE position FROM private.people WHERE position = ? ORDER BY person", position
    )
    snapshot = Snapshot(
        schema,
        people["person"],
        np.stack([people[f"q{i}"] for i in attributes]),
        people["sensitive"],
        asked=None if people["asked"].all() else people["asked"],
        origin=people["origin"] if people["origin"].any() else None,
    )
    row = np.ma.filled(np.ma.asarray(people["row"]), -1).astype(np.int32)
    traced = row >= 0
    rows = _columns(connection, "SELECT group_id, sensitive FROM public.rows WHERE position = ? ORDER BY row", position)
    boxes = _columns(
        connection, "SELECT * EXCLUDE position FROM public.boxes WHERE position = ? ORDER BY group_id", position
    )
    fakes = _columns(
        connection, "SELECT group_id, count FROM public.counterfeits WHERE position = ? ORDER BY group_id", position
    )
    low, high, missing = (np.stack([boxes[f"{side}{i}"] for i in attributes]) for side in ("low", "high", "missing"))
    return Entry(
        snapshot,
        Release(rows["group_id"], rows["sensitive"], Boxes(low, high, missing)),
        Auxiliary(fakes["group_id"], fakes["count"]),
        Trace(snapshot.persons[traced], row[traced]),
    )


def _columns(connection: "duckdb.DuckDBPyConnection", query: str, position: int) -> "dict[str, Any]":
    """The columns that a query gives for a release, as arrays."""
    return connection.execute(query, [position]).fetchnumpy()


def ledger(connection: "duckdb.DuckDBPyConnection", schema: Schema) -> Ledger:
    """The whole series with the truth behind it."""
    known = schema.with_sensitive_values(standing(connection).values)
    return Ledger(tuple(entry(connection, recorded.position, known) for recorded in releases(connection)))
