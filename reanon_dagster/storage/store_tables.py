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
    # How far off a typical count is: about the truth, so it is private.
    "CREATE TABLE IF NOT EXISTS private.query_errors (position INTEGER PRIMARY KEY, error DOUBLE)",
    # Audits that failed after publication: no release is published until a person has lifted them.
    """CREATE TABLE IF NOT EXISTS private.halts (
        release TEXT NOT NULL, halted TIMESTAMP NOT NULL, reason TEXT NOT NULL, lifted TIMESTAMP, because TEXT)""",
    # Until 0.1.0 a candidate waited here for the step that published it.
    "DROP TABLE IF EXISTS private.candidates",
    # asked: whether the release selects the person. origin: 0 the table, 1 an earlier release, 2 invented.
    "ALTER TABLE private.people ADD COLUMN IF NOT EXISTS asked BOOLEAN DEFAULT true",
    "ALTER TABLE private.people ADD COLUMN IF NOT EXISTS origin TINYINT DEFAULT 0",
)


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
        "CREATE TABLE private.refusals (release TEXT NOT NULL, tried TIMESTAMP NOT NULL, reason TEXT NOT NULL)",
        "CREATE TABLE private.sensitive_values (code INTEGER PRIMARY KEY, value TEXT UNIQUE NOT NULL)",
        # The coded snapshots under keyed pseudonyms, with the published row of each person (NULL if withheld).
        f"""CREATE TABLE private.people (
            position INTEGER NOT NULL, person BIGINT NOT NULL, row INTEGER,
            sensitive INTEGER NOT NULL, {codes}{other})""",
        "CREATE TABLE private.states (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
        """CREATE TABLE private.memories (
            position INTEGER, judge TEXT, data BLOB NOT NULL, PRIMARY KEY (position, judge))""",
        f"""CREATE TABLE public.rows (
            position INTEGER NOT NULL, row INTEGER NOT NULL, group_id INTEGER NOT NULL,
            sensitive INTEGER NOT NULL{other})""",
        f"CREATE TABLE public.boxes (position INTEGER NOT NULL, group_id INTEGER NOT NULL, {boxes})",
        """CREATE TABLE public.counterfeits (
            position INTEGER NOT NULL, group_id INTEGER NOT NULL, count INTEGER NOT NULL)""",
        """CREATE TABLE public.verdicts (
            position INTEGER NOT NULL, judge TEXT NOT NULL, holds BOOLEAN NOT NULL, required BOOLEAN NOT NULL,
            violations INTEGER NOT NULL, observed TEXT NOT NULL, sentence TEXT NOT NULL)""",
        "CREATE TABLE public.manifests (position INTEGER PRIMARY KEY, release TEXT NOT NULL, manifest TEXT NOT NULL)",
        f"INSERT INTO private.series VALUES ('version', '{VERSION}')",  # noqa: S608  a constant of ours
        *LATER_STATEMENTS,
    )
