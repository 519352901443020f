"""The snapshots that a series has on the disk: which releases have one, and which gaps are between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from reanon_core.model.snapshot import Snapshot
from reanon_dagster.lab.rehearsal_view import first_view
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.sources.snapshot_reader import read_snapshot

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


@dataclass(frozen=True)
class SnapshotsOnDisk:
    """The releases with a snapshot, in order, and those without one between them."""

    releases: tuple[str, ...]
    missing: tuple[str, ...]
    """The releases between the first and the last snapshot that have none."""
    late_start: str | None
    """The first release of the series, if its snapshot is not there; None if it is."""


def snapshots_on_disk(series: "Series", today: date) -> SnapshotsOnDisk:
    """Look for the snapshot of every release that is due, and of those that follow without a gap.

    Raises: InvalidSnapshot if the source itself is wrong.
    """
    names = series.calendar.due(today)
    there = [snapshot_exists(series, release) for release in names]
    following = series.calendar.next_after(names[-1]) if names else series.calendar.first
    while following is not None and snapshot_exists(series, following):
        names.append(following)
        there.append(True)
        following = series.calendar.next_after(following)
    found = [release for release, here in zip(names, there, strict=True) if here]
    if not found:
        return SnapshotsOnDisk((), (), series.calendar.first)
    inside = names[names.index(found[0]) : names.index(found[-1])]
    missing = tuple(release for release in inside if release not in set(found))
    return SnapshotsOnDisk(tuple(found), missing, None if found[0] == names[0] else names[0])


def coded_snapshots(series: "Series", releases: Sequence[str], seed: int) -> list[Snapshot]:
    """The snapshots of these releases, each coded with the values of those before it.

    Raises: InvalidSnapshot.
    """
    key = first_view(series, seed).key
    values: tuple[str, ...] = ()
    other: tuple[tuple[str, ...], ...] = ()
    found = []
    for release in releases:
        snapshot = read_snapshot(series, release, key, values, other).snapshot
        values, other = snapshot.schema.sensitive.values, snapshot.schema.other_values
        found.append(snapshot)
    return found
