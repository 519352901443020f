"""Reading the store back: where the series stands, and its whole ledger."""

import json
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.packing import unpack
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import INVENTED, REMEMBERED, Snapshot
from reanon_core.model.trace import Trace, Witness
from reanon_core.model.verdict import Verdict
from reanon_dagster.storage.records import Recorded, Refusal, Standing

if TYPE_CHECKING:
    import duckdb


def exists(connection: "duckdb.DuckDBPyConnection") -> bool:
    """Whether the file holds a series yet."""
    return _has(connection, "private", "releases")


def _has(connection: "duckdb.DuckDBPyConnection", schema: str, table: str) -> bool:
    query = "SELECT count(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
    found = connection.execute(query, [schema, table]).fetchone()
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
        other_values(connection),
    )


def other_values(connection: "duckdb.DuckDBPyConnection", others: int = 0) -> tuple[tuple[str, ...], ...]:
    """The values of each non-identifier known so far; at least so many lists."""
    if not _has(connection, "private", "other_values"):
        return ((),) * others
    rows = connection.execute("SELECT attribute, value FROM private.other_values ORDER BY attribute, code").fetchall()
    count = max([others, *(attribute + 1 for attribute, _ in rows)])
    return tuple(tuple(value for owner, value in rows if owner == attribute) for attribute in range(count))


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
    found = _shown(connection, position)
    real = found["origin"] != INVENTED
    return Trace(found["person"][real], found["row"][real])


def remembered(connection: "duckdb.DuckDBPyConnection", position: int) -> Int64:
    """The people whom a release shows though they were not in its table."""
    found = _shown(connection, position)
    return np.asarray(found["person"][found["origin"] == REMEMBERED], dtype=np.int64)


def _shown(connection: "duckdb.DuckDBPyConnection", position: int) -> "dict[str, Any]":
    """The people behind the rows of a release, with their rows and origins."""
    found = _columns(
        connection,
        "SELECT * FROM private.people WHERE position = ? AND row IS NOT NULL ORDER BY person",
        position,
    )
    return {"origin": np.zeros(len(found["person"]), np.int8)} | found  # an older store knows the table alone


def staged(connection: "duckdb.DuckDBPyConnection", release: str) -> bytes | None:
    """The bytes of the release's candidate, if one is kept."""
    found = connection.execute("SELECT data FROM private.candidates WHERE release = ?", [release]).fetchone()
    return None if found is None else found[0]


def entry(connection: "duckdb.DuckDBPyConnection", position: int, schema: Schema) -> Entry:
    """One release with the truth behind it."""
    attributes, others = range(len(schema.quasi_identifiers)), range(len(schema.other))
    columns, grouped = _shape(connection, position)
    people = _columns(
        connection, "SELECT * EXCLUDE position FROM private.people WHERE position = ? ORDER BY person", position
    )
    selected, origin = people.get("asked"), people.get("origin")  # an older store has neither
    snapshot = Snapshot(
        schema,
        people["person"],
        np.stack([people[f"q{i}"] for i in attributes]),
        people["sensitive"],
        _stacked(people, others),
        columns,
        selected=None if selected is None or selected.all() else selected,
        origin=None if origin is None or not origin.any() else origin,
    )
    row = np.ma.filled(np.ma.asarray(people["row"]), -1).astype(np.int32)
    traced = row >= 0
    rows = _columns(
        connection, "SELECT * EXCLUDE (position, row) FROM public.rows WHERE position = ? ORDER BY row", position
    )
    boxes = _columns(
        connection, "SELECT * EXCLUDE position FROM public.boxes WHERE position = ? ORDER BY group_id", position
    )
    fakes = _columns(
        connection, "SELECT group_id, count FROM public.counterfeits WHERE position = ? ORDER BY group_id", position
    )
    low, high, missing = (np.stack([boxes[f"{side}{i}"] for i in attributes]) for side in ("low", "high", "missing"))
    return Entry(
        snapshot,
        Release(
            rows["group_id"],
            rows["sensitive"],
            Boxes(low, high, missing),
            other=_stacked(rows, others),
            columns=columns,
            grouped=grouped,
        ),
        Auxiliary(fakes["group_id"], fakes["count"]),
        Trace(snapshot.persons[traced], row[traced]),
        witness(connection, position),
    )


def _stacked(found: "dict[str, Any]", others: range) -> Int32:
    """The codes of the non-identifiers, [o, n]."""
    stacked = [np.asarray(found[f"o{i}"], dtype=np.int32) for i in others]
    return np.stack(stacked) if stacked else np.empty((0, 0), np.int32)


def _shape(connection: "duckdb.DuckDBPyConnection", position: int) -> tuple[tuple[str, ...] | None, bool]:
    """The columns that a release shows, None for all, and whether it has groups."""
    if not _has(connection, "public", "shapes"):
        return None, True
    found = connection.execute("SELECT columns, grouped FROM public.shapes WHERE position = ?", [position]).fetchone()
    if found is None:
        return None, True
    return None if found[0] is None else tuple(json.loads(found[0])), bool(found[1])


def witness(connection: "duckdb.DuckDBPyConnection", position: int) -> Witness | None:
    """The row in which each world sees each traced person, if the technique promises worlds."""
    if not _has(connection, "private", "witnesses"):
        return None
    found = connection.execute("SELECT data FROM private.witnesses WHERE position = ?", [position]).fetchone()
    return None if found is None else Witness(cast("Int32", unpack(found[0])["rows"]))


def _columns(connection: "duckdb.DuckDBPyConnection", query: str, position: int) -> "dict[str, Any]":
    """The columns that a query gives for a release, as arrays."""
    return connection.execute(query, [position]).fetchnumpy()


def known_schema(connection: "duckdb.DuckDBPyConnection", schema: Schema) -> Schema:
    """The schema with every value that was seen so far."""
    others = other_values(connection, len(schema.other))
    return schema.with_sensitive_values(standing(connection).values).with_other_values(others)


def ledger(connection: "duckdb.DuckDBPyConnection", schema: Schema) -> Ledger:
    """The whole series with the truth behind it."""
    known = known_schema(connection, schema)
    return Ledger(tuple(entry(connection, recorded.position, known) for recorded in releases(connection)))
