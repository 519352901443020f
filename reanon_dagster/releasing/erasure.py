"""Forgetting a person: the store keeps what its releases show of them, under a number that others may share."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.erasure import EXTENTS, Extent, cut, erased, marked, renamed
from reanon_core.model.errors import InvalidParameter, InvalidSnapshot, OutOfOrder, Problem, Refused, counted
from reanon_core.model.ledger import Entry
from reanon_core.protocols import Check, Memory
from reanon_core.tables.ids import canonical_text, pseudonyms
from reanon_dagster.engines.scratch import sweep
from reanon_dagster.engines.series_engine import scratch_place
from reanon_dagster.releasing.candidate import digest
from reanon_dagster.releasing.integrity import require_current_store
from reanon_dagster.releasing.judged_candidate import Progress, checks_of, silent
from reanon_dagster.releasing.people_lists import REFUSED, WITHHELD
from reanon_dagster.releasing.series_heads import private_heads, write_heads
from reanon_dagster.releasing.series_view import SeriesView, read_view
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_place
from reanon_dagster.sources.snapshot_reader import read_ids
from reanon_dagster.storage import memory_tables, store_reader
from reanon_dagster.storage.compaction import compact
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.durable_file import replace_file
from reanon_dagster.storage.store_writer import OVERTAKEN, Erasure, write_erasure

if TYPE_CHECKING:
    import duckdb

    from reanon_dagster.series.series import Series

ID_LISTS = (WITHHELD, REFUSED)
"""The private folders of files that name people by their ids."""
LISTED = 10
"""How many lines of a list a message names."""
UNSEEN = (
    "no release of this series was made from a snapshot with this id, so there is nothing to forget; --never-seen "
    "keeps the person out of all later releases all the same"
)


@dataclass(frozen=True)
class Forgotten:
    """What forgetting a person has changed, or would change, and what it cannot change."""

    sources: tuple[str, ...]
    """The snapshots that still have the person."""
    unread: tuple[str, ...]
    """The snapshots that could not be read, so that they may have the person."""
    already: bool = False
    """Whether the mark of a forgotten person matches already, so that nothing was left to forget."""
    seen: bool = False
    """Whether any snapshot of a release had the person."""
    published: tuple[str, ...] = ()
    """The releases with a row that shows the person."""
    extent: Extent = EXTENTS[0]
    bits: int = 0
    """The length of the mark."""
    people: int = 0
    """How many people the series has known."""
    lists: int = 0
    """How many private files named the person."""


def forget_people(
    series: "Series",
    ids: Sequence[str],
    *,
    never_seen: bool = False,
    dry_run: bool = False,
    progress: Progress = silent,
) -> list[Forgotten]:
    """Forget several people, one after the other: nothing is changed if any of them is not known.

    A kill leaves the first of them forgotten; the same again goes on with the others.

    Raises: as `forget_person`.
    """
    view = read_view(series)
    if len(ids) > 1 and not never_seen and view.records:
        persons = np.array([pseudonym(one, view.key) for one in ids])
        with opened(series.private_folder, read_only=True) as connection:
            known = store_reader.known_among(connection, persons) | marked(view.summary.marks, persons)
        lines = ", ".join(str(at + 1) for at in np.flatnonzero(~known)[:LISTED])
        if lines:
            raise Refused(f"{counted(int((~known).sum()), 'id', 'ids')} of the list (line {lines}): {UNSEEN}")
    done = []
    for number, one in enumerate(dict.fromkeys(ids), 1):
        last = number == len(set(ids))
        done.append(forget_person(series, one, never_seen=never_seen, dry_run=dry_run, tidy=last, progress=progress))
    return done


def forget_person(
    series: "Series",
    id_: str,
    *,
    never_seen: bool = False,
    dry_run: bool = False,
    tidy: bool = True,
    progress: Progress = silent,
) -> Forgotten:
    """Replace a person by a mark in the whole store, so that no later release shows them; a dry run changes nothing.

    Doing it again changes nothing, and finishes what a kill left. Without `tidy` the free blocks of the store still
    hold the person: the next call compacts them.

    Raises: InvalidParameter without an id; Refused if nothing is published, or if no snapshot had the person, unless
    `never_seen` says that this is known, or if the store is older than what is published; OutOfOrder if another process
    published meanwhile.
    """
    if not id_:
        raise InvalidParameter(Problem("--id", "not be empty"))
    view = read_view(series)
    if not view.records:
        raise Refused(f"{series.name} has published nothing, so nothing is known of anyone; correct the source instead")
    require_current_store(series)
    sweep(scratch_place(series))  # a process that was killed may have left the person there
    person = pseudonym(id_, view.key)
    progress("reading the snapshots")
    sources, unread = _sources_with(series, view, person)
    result = Forgotten(sources=sources, unread=unread)
    if marked(view.summary.marks, np.array([person]))[0]:
        result = replace(result, already=True)
    else:
        with opened(series.private_folder, read_only=dry_run) as connection:
            if len(store_reader.releases(connection)) != view.position:
                raise OutOfOrder(OVERTAKEN)
            change, extent, people = _erasure(series, connection, person, progress)
            if not change.entries and not never_seen:
                raise Refused(UNSEEN)
            if not dry_run:
                write_erasure(connection, change)
                # So that a backup from before does not bring the person back unnoticed.
                write_heads(private_heads(series), series, view.records, len(view.summary.marks) + 1)
        number = change.mark.number
        shown = [position for position, (entry, _) in change.entries.items() if number in entry.trace.persons]
        published = tuple(view.records[position].release for position in shown)
        seen = bool(change.entries)
        result = replace(result, seen=seen, published=published, extent=extent, bits=change.mark.bits, people=people)
    lists = _without_lines(series, canonical_text(id_), dry_run=dry_run)
    if not dry_run and tidy:
        progress("compacting the store")
        compact(series.private_folder)
    return replace(result, lists=lists)


def pseudonym(id_: str, key: bytes) -> int:
    """The pseudonym of an id as it is written in the source."""
    import pyarrow as pa

    return int(pseudonyms(pa.array([canonical_text(id_)], pa.string()), key)[0])


def _erasure(
    series: "Series", connection: "duckdb.DuckDBPyConnection", person: int, progress: Progress
) -> tuple[Erasure, Extent, int]:
    """What the store becomes without the person, how much of them it loses, and how many people are known."""
    progress("reading the ledger")
    entries = store_reader.ledger(connection, series.schema).entries
    latest = len(entries) - 1
    packed, old = memory_tables.read_state(connection, latest), memory_tables.read_memories(connection, latest)
    if packed is None:
        raise Refused("the private store has no state of its latest release; restore it from a backup")
    people = np.unique(np.concatenate([entry.snapshot.persons for entry in entries]))
    mark = cut(
        person, np.concatenate([people, *_numbers(packed), *map(_all_numbers, old.values())]), len(people), latest + 1
    )
    state = series.technique.restored(packed).without_values_of(person)
    extent, changed, memories = _judged(series, connection, entries, person, mark.number, progress)
    touched = {
        position: (entry, digest(entry))
        for position, (entry, before) in enumerate(zip(changed, entries, strict=True))
        if entry is not before
    }
    # A check that the series no longer has leaves no memory; any other was computed again.
    kept = {name: memories.get(name, renamed(memory, person, mark.number)) for name, memory in old.items()}
    return Erasure(person, mark, touched, renamed(state.packed(), person, mark.number), kept), extent, len(people)


def _numbers(packed: Memory) -> list[np.ndarray]:
    """Every number of 64 bits in a state or a memory: pseudonyms are among them."""
    return [value.ravel() for value in packed.values() if isinstance(value, np.ndarray) and value.dtype == np.int64]


def _all_numbers(packed: Memory) -> np.ndarray:
    return np.concatenate([np.empty(0, np.int64), *_numbers(packed)])


def _judged(
    series: "Series",
    connection: "duckdb.DuckDBPyConnection",
    entries: Sequence[Entry],
    person: int,
    number: int,
    progress: Progress,
) -> tuple[Extent, tuple[Entry, ...], dict[str, Memory]]:
    """The ledger without the person, as far as every verdict that held still holds; and what the checks remember of it.

    A check may depend on values that no release shows, such as those that an adversary is assumed to know. Then less is
    erased.
    """
    held = [{one.check for one in store_reader.verdicts(connection, at) if one.holds} for at in range(len(entries))]
    judged = [{one.check for one in store_reader.verdicts(connection, at)} for at in range(len(entries))]
    checks = checks_of(series)
    for extent in EXTENTS:
        progress("judging the releases without the person")
        changed = erased(entries, person, number, extent)
        memories: dict[str, Memory] = {}
        sound = all(_still_holds(check, changed, judged, held, memories) for check in checks)
        if sound or extent is EXTENTS[-1]:
            break
    return extent, changed, memories


def _still_holds(
    check: Check,
    entries: Sequence[Entry],
    judged: Sequence[set[str]],
    held: Sequence[set[str]],
    memories: dict[str, Memory],
) -> bool:
    """Whether a check's verdicts hold wherever they held, from the release on since which it judges without a break."""
    first = len(entries)
    while first and check.name in judged[first - 1]:
        first -= 1
    memory, sound = check.initial_memory(), True
    for position in range(first, len(entries)):
        verdict, memory = check.examine(entries[position], memory)
        sound &= verdict.holds or check.name not in held[position]
    if memory and first < len(entries):
        memories[check.name] = memory
    return sound


def _sources_with(series: "Series", view: SeriesView, person: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The snapshots that have the person, and those that cannot be read."""
    due = series.calendar.due(date.today())  # noqa: DTZ011  a release is due by the steward's own calendar
    names = dict.fromkeys([*(record.release for record in view.records), *due])
    found, unread = [], []
    for release in names:
        if not snapshot_exists(series, release):
            continue
        try:
            _, persons = read_ids(series, release, view.key)
        except InvalidSnapshot:
            unread.append(snapshot_place(series, release))
            continue
        if (persons == person).any():
            found.append(snapshot_place(series, release))
    return tuple(dict.fromkeys(found)), tuple(dict.fromkeys(unread))


def _without_lines(series: "Series", id_: str, *, dry_run: bool) -> int:
    """Delete the lines with the id from the private files that name people, and return in how many files they were."""
    count = 0
    for folder in ID_LISTS:
        for path in sorted((series.private_folder / folder).glob("*.csv")):
            rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
            kept = rows[:1] + [row for row in rows[1:] if id_ not in _ids(row, rows[0], series.config.source.id)]
            if len(kept) == len(rows):
                continue
            count += 1
            if not dry_run:
                text = io.StringIO(newline="")
                csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(kept)
                replace_file(path, text.getvalue().encode(), mode=0o600)
    return count


def _ids(row: Sequence[str], header: Sequence[str], id_column: str) -> list[str]:
    """The ids of a line: its id column, or every cell if it has none."""
    cells: Mapping[str, str] = dict(zip(header, row, strict=False))
    return [canonical_text(cells[id_column])] if id_column in cells else [canonical_text(cell) for cell in row]
