"""The tables of a series' store. Anyone may see schema `public`; schema `private` never leaves the steward."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

VERSION = 4
"""What the store says of itself: a store with other tables, or with another meaning of them, has another version."""

LATEST_STATEMENTS = (
    "CREATE OR REPLACE TABLE private.states (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    """CREATE OR REPLACE TABLE private.memories (
        position INTEGER, judge TEXT, data BLOB NOT NULL, PRIMARY KEY (position, judge))""",
    "CREATE OR REPLACE TABLE public.series_documents (name TEXT PRIMARY KEY, content BLOB NOT NULL)",
)
"""The tables that hold the latest release only, made anew for each: deleted rows would keep their blocks."""


def store_version(connection: "duckdb.DuckDBPyConnection") -> str | None:
    """The version that the store says it has, maybe none; None before its tables are made."""
    # Without the views of information_schema, which are slow.
    query = (
        "SELECT count(*) FROM duckdb_tables() "
        "WHERE database_name = current_database() AND schema_name = 'private' AND table_name = 'series'"
    )
    if connection.execute(query).fetchall() == [(0,)]:
        return None
    found = connection.execute("SELECT value FROM private.series WHERE name = 'version'").fetchall()
    return str(found[0][0]) if found else ""


def create_statements(attributes: int, others: int) -> Sequence[str]:
    """The statements that create an empty store for so many quasi-identifiers and non-identifiers."""
    codes = ", ".join(f"q{i} INTEGER NOT NULL" for i in range(attributes))
    other = "".join(f", o{i} INTEGER NOT NULL" for i in range(others))
    boxes = ", ".join(
        f"low{i} INTEGER NOT NULL, high{i} INTEGER NOT NULL, missing{i} TINYINT NOT NULL" for i in range(attributes)
    )
    return (
        "CREATE SCHEMA private",
        "CREATE SCHEMA public",
        "CREATE TABLE private.series (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        # One row for each release that passed the gate. `position` counts from 0.
        """CREATE TABLE private.releases (
            position INTEGER PRIMARY KEY, release TEXT UNIQUE NOT NULL, input_digest TEXT NOT NULL,
            candidate_digest TEXT NOT NULL, manifest_digest TEXT NOT NULL, people INTEGER NOT NULL,
            withheld INTEGER NOT NULL, seconds DOUBLE NOT NULL, committed TIMESTAMP NOT NULL)""",
        # Every refusal, with its reason.
        """CREATE TABLE private.refusals (
            release TEXT NOT NULL, tried TIMESTAMP NOT NULL, reason TEXT NOT NULL)""",
        "CREATE TABLE private.sensitive_values (code INTEGER PRIMARY KEY, value TEXT UNIQUE NOT NULL)",
        # The coded snapshots under keyed pseudonyms, with the published row of each person (NULL if withheld).
        # asked: whether the release selects the person. origin: 0 the table, 1 an earlier release, 2 invented.
        f"""CREATE TABLE private.people (
            position INTEGER NOT NULL, person BIGINT NOT NULL, row INTEGER,
            sensitive INTEGER NOT NULL, asked BOOLEAN NOT NULL, origin TINYINT NOT NULL, {codes}{other})""",
        # Everyone in `people`, and the form of their id if it is not written in it; pseudonyms under the same key.
        "CREATE TABLE private.known_people (person BIGINT NOT NULL, form BIGINT)",
        *LATEST_STATEMENTS,
        f"""CREATE TABLE public.rows (
            position INTEGER NOT NULL, row INTEGER NOT NULL, group_id INTEGER NOT NULL,
            sensitive INTEGER NOT NULL{other})""",
        f"CREATE TABLE public.boxes (position INTEGER NOT NULL, group_id INTEGER NOT NULL, {boxes})",
        """CREATE TABLE public.counterfeits (
            position INTEGER NOT NULL, group_id INTEGER NOT NULL, count INTEGER NOT NULL)""",
        """CREATE TABLE public.verdicts (
            position INTEGER NOT NULL, judge TEXT NOT NULL, holds BOOLEAN NOT NULL, required BOOLEAN NOT NULL,
            violations INTEGER NOT NULL, observed TEXT NOT NULL, sentence TEXT NOT NULL)""",
        """CREATE TABLE public.manifests (
            position INTEGER PRIMARY KEY, release TEXT NOT NULL, manifest TEXT NOT NULL)""",
        # For releases that differ in their columns, rows with their own boxes, and techniques that promise worlds.
        """CREATE TABLE public.shapes (
            position INTEGER PRIMARY KEY, grouped BOOLEAN NOT NULL, columns TEXT)""",
        """CREATE TABLE private.other_values (
            attribute INTEGER, code INTEGER, value TEXT NOT NULL, PRIMARY KEY (attribute, code))""",
        "CREATE TABLE private.witnesses (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
        # For decoupled releases: the rows of people, and the row of each person.
        "CREATE TABLE public.person_rows (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
        "CREATE TABLE private.person_traces (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
        # How far off a typical count is, how much of relations is kept, what the worst value loses and the worst share
        # changes: about the truth, so they are private. So is what becomes of the people with each value.
        """CREATE TABLE private.query_errors (
            position INTEGER PRIMARY KEY, error DOUBLE, relations DOUBLE, lost DOUBLE, share_changed DOUBLE)""",
        """CREATE TABLE private.value_counts (
            position INTEGER NOT NULL, code INTEGER NOT NULL, people INTEGER NOT NULL, withheld INTEGER NOT NULL,
            invented INTEGER NOT NULL, counted DOUBLE NOT NULL)""",
        # Audits that failed after publication: no release is published until a person has lifted them.
        """CREATE TABLE private.halts (
            release TEXT NOT NULL, halted TIMESTAMP NOT NULL, reason TEXT NOT NULL, lifted TIMESTAMP, because TEXT)""",
        # Flaws of the published folder that a person has accepted, because they cannot be mended.
        """CREATE TABLE private.accepted_flaws (
            sentence TEXT NOT NULL, accepted TIMESTAMP NOT NULL, because TEXT NOT NULL)""",
        # Snapshots that looked like the wrong table, and why a person accepted them.
        """CREATE TABLE private.accepted_drifts (
            release TEXT NOT NULL, accepted TIMESTAMP NOT NULL, brake TEXT NOT NULL, reason TEXT NOT NULL)""",
        # Releases that were taken back; what they taught stays in state and memories.
        """CREATE TABLE private.withdrawals (
            position INTEGER PRIMARY KEY, withdrawn TIMESTAMP NOT NULL, because TEXT NOT NULL, tombstone TEXT NOT NULL,
            releases INTEGER NOT NULL)""",
        # What is left of people who are forgotten: a number, of which only the first bits were theirs.
        """CREATE TABLE private.forgotten (
            number BIGINT PRIMARY KEY, bits INTEGER NOT NULL, forgotten TIMESTAMP NOT NULL,
            releases INTEGER NOT NULL)""",
        # What explains a release, beside its tables: kept, because a later version may write other words.
        """CREATE TABLE public.documents (
            position INTEGER, name TEXT, content BLOB NOT NULL, PRIMARY KEY (position, name))""",
        # A constant of ours.
        f"INSERT INTO private.series VALUES ('version', '{VERSION}')",  # noqa: S608
    )
