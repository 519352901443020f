"""The tables of a series' store. Anyone may see schema `public`; schema `private` never leaves the steward."""

from collections.abc import Sequence

VERSION = 1

LATER_STATEMENTS = (
    # Added after the first stores: for releases that differ in their columns, rows with their own boxes, and techniques
    # that promise worlds.
    """CREATE TABLE IF NOT EXISTS public.shapes (
        position INTEGER PRIMARY KEY, grouped BOOLEAN NOT NULL, columns TEXT)""",
    """CREATE TABLE IF NOT EXISTS private.other_values (
        attribute INTEGER, code INTEGER, value TEXT NOT NULL, PRIMARY KEY (attribute, code))""",
    "CREATE TABLE IF NOT EXISTS private.witnesses (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    # For decoupled releases: the rows of people, and the row of each person.
    "CREATE TABLE IF NOT EXISTS public.person_rows (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS private.person_traces (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    # How far off a typical count is, and how much of relations is kept: about the truth, so both are private.
    "CREATE TABLE IF NOT EXISTS private.query_errors (position INTEGER PRIMARY KEY, error DOUBLE, relations DOUBLE)",
    # What was counted, and what balancing and assignment decided over the counts.
    "CREATE TABLE IF NOT EXISTS private.count_records (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    # Audits that failed after publication: no release is published until a person has lifted them.
    """CREATE TABLE IF NOT EXISTS private.halts (
        release TEXT NOT NULL, halted TIMESTAMP NOT NULL, reason TEXT NOT NULL, lifted TIMESTAMP, because TEXT)""",
    # Flaws of the published folder that a person has accepted, because they cannot be mended.
    """CREATE TABLE IF NOT EXISTS private.accepted_flaws (
        sentence TEXT NOT NULL, accepted TIMESTAMP NOT NULL, because TEXT NOT NULL)""",
    # Snapshots that looked like the wrong table, and why a person accepted them.
    """CREATE TABLE IF NOT EXISTS private.accepted_drifts (
        release TEXT NOT NULL, accepted TIMESTAMP NOT NULL, brake TEXT NOT NULL, reason TEXT NOT NULL)""",
    # Releases that were taken back; what they taught stays in state and memories.
    """CREATE TABLE IF NOT EXISTS private.withdrawals (
        position INTEGER PRIMARY KEY, withdrawn TIMESTAMP NOT NULL, because TEXT NOT NULL, tombstone TEXT NOT NULL,
        releases INTEGER NOT NULL)""",
    # What is left of people who are forgotten: a number, of which only the first bits were theirs.
    """CREATE TABLE IF NOT EXISTS private.forgotten (
        number BIGINT PRIMARY KEY, bits INTEGER NOT NULL, forgotten TIMESTAMP NOT NULL, releases INTEGER NOT NULL)""",
    # What explains a release, beside its tables: kept, because a later version would write other words.
    """CREATE TABLE IF NOT EXISTS public.documents (
        position INTEGER, name TEXT, content BLOB NOT NULL, PRIMARY KEY (position, name))""",
    # What explains the series, as the latest release found it.
    "CREATE TABLE IF NOT EXISTS public.series_documents (name TEXT PRIMARY KEY, content BLOB NOT NULL)",
    # Until 0.1.0 a candidate waited here for the step that published it.
    "DROP TABLE IF EXISTS private.candidates",
    # asked: whether the release selects the person. origin: 0 the table, 1 an earlier release, 2 invented.
    "ALTER TABLE private.people ADD COLUMN IF NOT EXISTS asked BOOLEAN DEFAULT true",
    "ALTER TABLE private.people ADD COLUMN IF NOT EXISTS origin TINYINT DEFAULT 0",
)


LATEST_STATEMENTS = (
    "CREATE OR REPLACE TABLE private.states (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    """CREATE OR REPLACE TABLE private.memories (
        position INTEGER, judge TEXT, data BLOB NOT NULL, PRIMARY KEY (position, judge))""",
    "CREATE OR REPLACE TABLE public.series_documents (name TEXT PRIMARY KEY, content BLOB NOT NULL)",
)
"""The tables that hold the latest release only, made anew for each: deleted rows would keep their blocks."""


def create_statements(attributes: int, others: int) -> Sequence[str]:
    """The statements that create an empty store for so many quasi-identifiers and non-identifiers.

    What is there already is kept: 0.1.0 created its tables one by one, and a kill could leave some of them.
    """
    codes = ", ".join(f"q{i} INTEGER NOT NULL" for i in range(attributes))
    other = "".join(f", o{i} INTEGER NOT NULL" for i in range(others))
    boxes = ", ".join(
        f"low{i} INTEGER NOT NULL, high{i} INTEGER NOT NULL, missing{i} TINYINT NOT NULL" for i in range(attributes)
    )
    return (
        "CREATE SCHEMA IF NOT EXISTS private",
        "CREATE SCHEMA IF NOT EXISTS public",
        "CREATE TABLE IF NOT EXISTS private.series (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        # One row for each release that passed the gate. `position` counts from 0.
        """CREATE TABLE IF NOT EXISTS private.releases (
            position INTEGER PRIMARY KEY, release TEXT UNIQUE NOT NULL, input_digest TEXT NOT NULL,
            candidate_digest TEXT NOT NULL, manifest_digest TEXT NOT NULL, people INTEGER NOT NULL,
            withheld INTEGER NOT NULL, seconds DOUBLE NOT NULL, committed TIMESTAMP NOT NULL)""",
        # Every refusal, with its reason.
        """CREATE TABLE IF NOT EXISTS private.refusals (
            release TEXT NOT NULL, tried TIMESTAMP NOT NULL, reason TEXT NOT NULL)""",
        "CREATE TABLE IF NOT EXISTS private.sensitive_values (code INTEGER PRIMARY KEY, value TEXT UNIQUE NOT NULL)",
        # The coded snapshots under keyed pseudonyms, with the published row of each person (NULL if withheld).
        f"""CREATE TABLE IF NOT EXISTS private.people (
            position INTEGER NOT NULL, person BIGINT NOT NULL, row INTEGER,
            sensitive INTEGER NOT NULL, {codes}{other})""",
        *LATEST_STATEMENTS,
        f"""CREATE TABLE IF NOT EXISTS public.rows (
            position INTEGER NOT NULL, row INTEGER NOT NULL, group_id INTEGER NOT NULL,
            sensitive INTEGER NOT NULL{other})""",
        f"CREATE TABLE IF NOT EXISTS public.boxes (position INTEGER NOT NULL, group_id INTEGER NOT NULL, {boxes})",
        """CREATE TABLE IF NOT EXISTS public.counterfeits (
            position INTEGER NOT NULL, group_id INTEGER NOT NULL, count INTEGER NOT NULL)""",
        """CREATE TABLE IF NOT EXISTS public.verdicts (
            position INTEGER NOT NULL, judge TEXT NOT NULL, holds BOOLEAN NOT NULL, required BOOLEAN NOT NULL,
            violations INTEGER NOT NULL, observed TEXT NOT NULL, sentence TEXT NOT NULL)""",
        """CREATE TABLE IF NOT EXISTS public.manifests (
            position INTEGER PRIMARY KEY, release TEXT NOT NULL, manifest TEXT NOT NULL)""",
        # A constant of ours.
        f"INSERT INTO private.series VALUES ('version', '{VERSION}') ON CONFLICT DO NOTHING",  # noqa: S608
        *LATER_STATEMENTS,
    )
