"""Private: who is withheld by a release, and whom a refusal concerns, as lists of ids in the private folder."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import forget_pages, slices
from reanon_core.model.errors import InvalidSnapshot, ReanonError
from reanon_core.model.ledger import Entry
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.sources.snapshot_reader import read_ids
from reanon_dagster.storage.durable_file import replaced_private_file
from reanon_dagster.storage.pseudonym_key import private_folder, pseudonym_key

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_core.model.arrays import Int64
    from reanon_dagster.series.series import Series

WITHHELD, REFUSED = "withheld", "refused"
"""The folders of the lists, inside the private folder of a series."""


def withheld_file(release: str) -> str:
    """The list of the people whom a release withholds, inside the private folder."""
    return f"{WITHHELD}/{release}.csv"


def refused_file(release: str) -> str:
    """The list of the people whom the refusal of a release concerns, inside the private folder."""
    return f"{REFUSED}/{release}.csv"


def write_withheld_people(series: "Series", candidate: Candidate) -> None:
    """Write the ids of the people who are in the snapshot, selected and not published.

    Nothing is written if there are none, or if the snapshot is gone: the candidate has pseudonyms only.

    Raises: InvalidSnapshot, Refused.
    """
    entry = candidate.entry
    if not entry.withheld:
        return
    withheld = _withheld(entry)
    key = pseudonym_key(series.private_folder, candidate.key_check)
    ids = found_ids(series, [candidate.release], key, withheld)[0]
    _write(series, withheld_file(candidate.release), ids)


def _withheld(entry: Entry) -> "Int64":
    """The people of the snapshot who are selected and not published, compared some at a time."""
    persons, traced, found = entry.snapshot.persons, entry.trace.persons, []
    for part in slices(len(persons)):
        here = persons[part]
        ends = (here[0], here[-1]) if len(here) else (0, 0)
        first, last = traced.searchsorted(ends[0]), traced.searchsorted(ends[1], "right")
        shown = np.isin(here, traced[first:last], assume_unique=True)
        chosen = True if entry.snapshot.selected is None else entry.snapshot.selected[part]
        found.append(here[chosen & ~shown])
        forget_pages(persons, traced)
    return np.concatenate(found)


def write_refused_people(series: "Series", release: str, error: ReanonError) -> None:
    """Write the ids of the people whom a refusal concerns, and let the error say where they are.

    People who left the table are looked for in earlier snapshots. If the refusal concerns no particular people, the
    list of an earlier refusal is removed.
    """
    remove_refused_people(series, release)
    if error.persons is None or not len(error.persons):
        return
    place = series.calendar.index(release)
    newest_first = [str(series.calendar.at(at)) for at in range(place, -1, -1)]
    try:
        ids = found_ids(series, newest_first, pseudonym_key(series.private_folder, None), error.persons)[0]
    except InvalidSnapshot:  # an earlier snapshot was changed since: what is refused stays refused
        return
    if _write(series, refused_file(release), ids):
        error.remark = f"; {refused_file(release)} in the private folder says who"


def remove_refused_people(series: "Series", release: str) -> None:
    """Remove the list of the people whom a refusal of this release concerned."""
    (series.private_folder / refused_file(release)).unlink(missing_ok=True)


def found_ids(
    series: "Series", releases: Sequence[str], key: bytes, persons: "Int64"
) -> "tuple[pa.Array | None, Int64]":
    """The ids of people, each from the first of the releases whose snapshot has them, and their pseudonyms.

    None, and no pseudonyms, if no snapshot has any of them.

    Raises: InvalidSnapshot.
    """
    import pyarrow as pa

    found: list[pa.Array] = []
    theirs = np.empty(0, np.int64)
    for release in releases:
        lacking = persons[~np.isin(persons, theirs)]
        if not len(lacking):
            break
        if snapshot_exists(series, release):
            ids, here = read_ids(series, release, key)
            rows = np.flatnonzero(np.isin(here, lacking))
            found += [ids.take(pa.array(rows))] if len(rows) else []
            theirs = np.concatenate([theirs, here[rows]])
    if len({ids.type for ids in found}) > 1:
        found = [ids.cast(pa.string()) for ids in found]
    return (pa.concat_arrays(found) if found else None), theirs


def _write(series: "Series", name: str, ids: "pa.Array | None") -> bool:
    """Write a list of ids, and return whether there are any."""
    import pyarrow as pa
    import pyarrow.csv

    if ids is None:
        return False
    path = series.private_folder / name
    private_folder(path.parent)
    with replaced_private_file(path) as file:
        pyarrow.csv.write_csv(pa.table({series.config.source.id: ids}), file)
    return True
