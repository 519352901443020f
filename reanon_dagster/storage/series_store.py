"""The store of a series by its private folder: each function opens it, does one thing and closes it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import OutOfOrder
from reanon_core.model.schema import Schema
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory
from reanon_dagster.storage import store_reader, store_writer
from reanon_dagster.storage.connection import STORE, opened
from reanon_dagster.storage.records import Halt, Refusal, ReleaseRecord, StateSummary

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


@dataclass(frozen=True, eq=False)
class SeriesMemory:
    """What the next release builds on: an array entry for every person ever published."""

    state: Memory | None
    """The technique's state; None before the first release."""
    memories: Mapping[str, Memory]
    """What each check remembers, by the check's name."""


def has_store(folder: Path) -> bool:
    """Whether the folder holds a store; an empty file was left by a process that was killed before its first bytes."""
    path = folder / STORE
    return path.exists() and path.stat().st_size > 0


def read_summary(folder: Path) -> StoreSummary:
    """The records of the series; nothing before its first release or refusal."""
    with _existing_store(folder) as connection:
        if connection is None:
            return StoreSummary()
        return StoreSummary(
            store_reader.releases(connection),
            store_reader.refusals(connection),
            store_reader.frozen(connection),
            store_reader.halts(connection),
        )


def read_known_values(folder: Path, releases: int) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The sensitive values of so many releases, and those of each non-identifier, in the order of their codes.

    Raises: OutOfOrder if another release was published meanwhile.
    """
    if releases == 0:
        return (), ()
    with _unchanged_store(folder, releases) as connection:
        return store_reader.sensitive_values(connection), store_reader.other_values(connection)


def read_memory(folder: Path, releases: int) -> SeriesMemory:
    """State and memories after so many releases.

    Raises: OutOfOrder if another release was published meanwhile.
    """
    if releases == 0:
        return SeriesMemory(None, {})
    with _unchanged_store(folder, releases) as connection:
        return SeriesMemory(
            store_reader.state(connection, releases - 1), store_reader.memories(connection, releases - 1)
        )


def read_memories(folder: Path, releases: int) -> Mapping[str, Memory]:
    """What each check remembers after so many releases, by the check's name.

    Raises: OutOfOrder if another release was published meanwhile.
    """
    if releases == 0:
        return {}
    with _unchanged_store(folder, releases) as connection:
        return store_reader.memories(connection, releases - 1)


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
    with opened(folder, read_only=False) as connection:
        store_writer.create(connection, schema)
        store_writer.record_refusal(connection, release, reason)


def write_halt(folder: Path, schema: Schema, release: str, reason: str) -> None:
    """Record that the audit of a release failed: the series publishes nothing until a person lifts the halt."""
    with opened(folder, read_only=False) as connection:
        store_writer.create(connection, schema)
        store_writer.record_halt(connection, release, reason)


def lift_halts(folder: Path, because: str) -> tuple[Halt, ...]:
    """Lift every halt that stands, record why, and return what was lifted."""
    if not has_store(folder):
        return ()
    with opened(folder, read_only=False) as connection:
        standing = store_reader.halts(connection)
        if standing:
            store_writer.lift_halts(connection, because)
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
        if len(store_reader.releases(connection)) != releases:
            raise OutOfOrder(store_writer.OVERTAKEN)
        yield connection
