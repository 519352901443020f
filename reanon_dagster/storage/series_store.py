"""The store of a series by its private folder: each function opens it, does one thing and closes it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.metrics.value_counts import ValueCounts
from reanon_core.model.arrays import Int64
from reanon_core.model.erasure import Mark
from reanon_core.model.errors import OutOfOrder
from reanon_core.model.schema import Schema
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory
from reanon_core.returning import Returning, returning
from reanon_core.tables.id_forms import KnownIds, KnownPeople
from reanon_dagster.storage import memory_tables, store_reader, store_writer
from reanon_dagster.storage.connection import STORE, has_bytes, opened
from reanon_dagster.storage.known_people import StoredPeople
from reanon_dagster.storage.records import AcceptedDrift, Halt, Refusal, ReleaseRecord, StateSummary, Withdrawal

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class StoreSummary:
    """What is cheap to read: no person, no state."""

    records: list[ReleaseRecord] = field(default_factory=list)
    """The published releases, in order."""
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    """The latest refusal of each release that is not published."""
    frozen: Mapping[str, str] = field(default_factory=dict)
    """What the first release froze, by name."""
    halts: tuple[Halt, ...] = ()
    """The halts that stand, the oldest first."""
    withdrawals: tuple[Withdrawal, ...] = ()
    """The releases that were taken back, in the order of the releases."""
    marks: tuple[Mark, ...] = ()
    """What is left of the people who are forgotten."""
    accepted: Mapping[str, tuple[AcceptedDrift, ...]] = field(default_factory=dict)
    """The brakes that a person has accepted, by release."""
    accepted_flaws: frozenset[str] = frozenset()
    """The flaws of the published folder that a person has accepted."""
    exists: bool = False
    """Whether there is a store at all."""


@dataclass(frozen=True, eq=False)
class KnownPast:
    """What the next snapshot is compared with."""

    sensitive_values: tuple[str, ...]
    """The sensitive values of all releases, in the order of their codes."""
    other_values: tuple[tuple[str, ...], ...]
    """Those of each non-identifier."""


def has_store(folder: Path) -> bool:
    """Whether the folder holds a store; an empty file was left by a process that was killed before its first bytes."""
    return has_bytes(folder / STORE)


def create_store(folder: Path, schema: Schema) -> None:
    """Create the tables of a new series; nothing to do if they are there."""
    with opened(folder, read_only=False) as connection, store_writer.transaction(connection):
        store_writer.create(connection, schema)


def read_summary(folder: Path) -> StoreSummary:
    """The records of the series; nothing before its first release or refusal."""
    with held_summary(folder) as summary:
        return summary


def read_value_counts(folder: Path) -> dict[int, ValueCounts]:
    """Private: what became of the people with each value, by the position of the release."""
    with _existing_store(folder) as connection:
        return {} if connection is None else store_reader.value_counts(connection)


def read_frozen(folder: Path) -> dict[str, str]:
    """What the first release froze, by name; empty before it."""
    with _existing_store(folder) as connection:
        return {} if connection is None else store_reader.frozen(connection)


@contextmanager
def held_summary(folder: Path) -> Iterator[StoreSummary]:
    """The records of the series, while the store is held: meanwhile no other process publishes."""
    with _existing_store(folder) as connection:
        if connection is None:
            yield StoreSummary()
            return
        yield StoreSummary(
            store_reader.releases(connection),
            store_reader.refusals(connection),
            store_reader.frozen(connection),
            store_reader.halts(connection),
            withdrawals=store_reader.withdrawals(connection),
            marks=store_reader.marks(connection),
            accepted=store_reader.accepted_drifts(connection),
            accepted_flaws=store_reader.accepted_flaws(connection),
            exists=True,
        )


def read_past(folder: Path, releases: int) -> KnownPast:
    """What the next snapshot is compared with after so many releases.

    Raises: OutOfOrder if another release was published meanwhile.
    """
    if releases == 0:
        return KnownPast((), ())
    with _unchanged_store(folder, releases) as connection:
        return KnownPast(store_reader.sensitive_values(connection), store_reader.other_values(connection))


def read_returning(folder: Path, releases: int, persons: Int64, values: int) -> Returning:
    """How many people of the latest release's table are among these, which ascend, by the codes of their values.

    Requires: a release.

    Raises: OutOfOrder if another release was published meanwhile.
    """
    with _unchanged_store(folder, releases) as connection:
        return returning(store_reader.table_people(connection, releases - 1), persons, values)


def read_value_returning(folder: Path, releases: int, code: int) -> list[tuple[int, int]]:
    """For each release and the next: how many people with a value returned, and how many had it; the latest first.

    Raises: OutOfOrder if another release was published meanwhile.
    """
    with _unchanged_store(folder, releases) as connection:
        return store_reader.value_returning(connection, code)


@contextmanager
def known_people(folder: Path, releases: int) -> Iterator[KnownPeople]:
    """Everyone in a snapshot of so many releases, while the store is held.

    Raises: OutOfOrder if another release was published meanwhile.
    """
    if releases == 0:
        yield KnownIds.none()
        return
    with _unchanged_store(folder, releases) as connection:
        yield StoredPeople(connection)


def read_state(folder: Path, releases: int, columns: ColumnFolder | None = None) -> Memory | None:
    """The technique's state after so many releases; given a folder of columns, its long arrays are mapped from there.

    Raises: OutOfOrder if another release was published meanwhile.
    """
    if releases == 0:
        return None
    with _unchanged_store(folder, releases) as connection:
        return memory_tables.read_state(connection, releases - 1, columns)


def read_memories(folder: Path, releases: int, columns: ColumnFolder | None = None) -> Mapping[str, Memory]:
    """What each check remembers after so many releases, by the check's name; given a folder, mapped from there.

    Raises: OutOfOrder if another release was published meanwhile.
    """
    if releases == 0:
        return {}
    with _unchanged_store(folder, releases) as connection:
        return memory_tables.read_memories(connection, releases - 1, columns)


def read_verdicts(folder: Path, position: int) -> list[Verdict]:
    """The verdicts with which a release passed the gate."""
    with opened(folder, read_only=True) as connection:
        return store_reader.verdicts(connection, position)


def read_state_summary(folder: Path, position: int) -> StateSummary | None:
    """The state after a release, without what it holds; None if a later release has replaced it."""
    with opened(folder, read_only=True) as connection:
        return store_reader.state_summary(connection, position)


def write_refusal(folder: Path, schema: Schema, release: str, reason: str) -> None:
    """Record that a release was refused and why."""
    with opened(folder, read_only=False) as connection, store_writer.transaction(connection):
        store_writer.create(connection, schema)
        store_writer.record_refusal(connection, release, reason)


def write_halt(folder: Path, release: str, reason: str) -> None:
    """Record that the audit of a release failed: the series publishes nothing until a person lifts the halt."""
    with opened(folder, read_only=False) as connection, store_writer.transaction(connection):
        store_writer.record_halt(connection, release, reason)


def lift_halts(folder: Path, schema: Schema, because: str, flaws: Sequence[str]) -> tuple[Halt, ...]:
    """Lift every halt that stands, accept these flaws, record why, and return what was lifted."""
    if not has_store(folder):
        return ()
    with opened(folder, read_only=False) as connection, store_writer.transaction(connection):
        store_writer.create(connection, schema)
        standing = store_reader.halts(connection)
        store_writer.lift_halts(connection, because)
        store_writer.accept_flaws(connection, flaws, because)
        return standing


@contextmanager
def _existing_store(folder: Path) -> "Iterator[duckdb.DuckDBPyConnection | None]":
    if not has_store(folder):
        yield None
        return
    with opened(folder, read_only=True) as connection:
        yield connection if store_reader.exists(connection) else None


@contextmanager
def _unchanged_store(folder: Path, releases: int) -> "Iterator[duckdb.DuckDBPyConnection]":
    with opened(folder, read_only=True) as connection:
        if store_reader.release_count(connection) != releases:
            raise OutOfOrder(store_writer.OVERTAKEN)
        yield connection
