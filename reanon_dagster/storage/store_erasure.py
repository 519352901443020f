"""A person who is forgotten, in the store: one transaction replaces their pseudonym and what no release shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reanon_core.model.ledger import Entry
from reanon_core.model.mark import Mark
from reanon_core.protocols import Memory
from reanon_dagster.storage import store_writer
from reanon_dagster.storage.entry_codec import PEOPLE, store_columns
from reanon_dagster.storage.memory_tables import write_memory, write_state

if TYPE_CHECKING:
    import duckdb

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
    with store_writer.transaction(connection):
        connection.execute(
            "INSERT INTO private.forgotten VALUES (?, ?, current_localtimestamp(), ?)",
            [change.mark.number, change.mark.bits, change.mark.releases],
        )
        for position, (entry, digest) in change.entries.items():
            _write_person(connection, position, entry, change)
            query = "UPDATE private.releases SET candidate_digest = ? WHERE position = ?"
            connection.execute(query, [digest, position])
            # In a bucket of few people the counts tell their values.
            connection.execute("DELETE FROM private.count_records WHERE position = ?", [position])
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
