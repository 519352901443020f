"""The snapshots that a series has on the disk: which releases have one, which gaps are between them, and their rows."""

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from reanon_core.model.erasure import marked
from reanon_core.model.errors import InvalidSnapshot
from reanon_core.model.snapshot import Snapshot
from reanon_core.tables.ids import KEY_BYTES
from reanon_dagster.releasing.judged_candidate import Progress, silent
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_place
from reanon_dagster.sources.snapshot_reader import read_snapshot, snapshot_digest
from reanon_dagster.storage.series_store import read_summary

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


@dataclass(frozen=True, eq=False)
class SnapshotsOnDisk:
    """The releases with a snapshot, in order, and those without one between them."""

    series: "Series"
    view: SeriesView
    releases: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """The releases between the first and the last snapshot that have none."""
    late_start: str | None = None
    """The first release of the series, if its snapshot is not there; None if it is."""

    def digests(self) -> list[str]:
        """What identifies the content of the snapshots, and who is forgotten."""
        marks = [f"{mark.number:x}/{mark.bits}" for mark in self.view.summary.marks]
        return [snapshot_digest(self.series, release, self._key) for release in self.releases] + marks

    def read(self, *, whole_tables: bool | None = None, tell: Progress = silent) -> list[Snapshot]:
        """The snapshots, each coded with the values of those before it, without people who are forgotten.

        `whole_tables` says whether a release with a selection gets the whole table with a mask, or only the selected
        rows; without it, the technique says so.

        Raises: InvalidSnapshot with every problem of a snapshot at once.
        """
        snapshots: list[Snapshot] = []
        values: tuple[str, ...] = ()
        other: tuple[tuple[str, ...], ...] = ()
        for release in self.releases:
            tell(f"reading {release}")
            try:
                read = read_snapshot(self.series, release, self._key, values, other, whole_table=whole_tables)
            except InvalidSnapshot as error:
                error.remark = f"{error.remark} (release {release})"
                raise
            read = read.without(marked(self.view.summary.marks, read.snapshot.persons))
            schema = read.snapshot.schema
            values, other = schema.sensitive.values, schema.other_values
            snapshots.append(read.snapshot)
        return snapshots

    @property
    def _key(self) -> bytes:
        """The key of the pseudonyms: any key will do, unless the marks of forgotten people must be recognised."""
        return self.view.key if self.view.summary.marks else bytes(KEY_BYTES)


def snapshots_on_disk(series: "Series", today: date) -> SnapshotsOnDisk:
    """Look for the snapshot of every release that is due, and of those that follow without a gap.

    Nothing is recovered or written.

    Raises: InvalidSnapshot if the source itself is wrong.
    """
    view = SeriesView(series.private_folder, read_summary(series.private_folder))
    names = series.calendar.due(today)
    there = [snapshot_exists(series, release) for release in names]
    following = series.calendar.next_after(names[-1]) if names else series.calendar.first
    while following is not None and snapshot_exists(series, following):
        names.append(following)
        there.append(True)
        following = series.calendar.next_after(following)
    found = [release for release, here in zip(names, there, strict=True) if here]
    if not found:
        return SnapshotsOnDisk(series, view, late_start=series.calendar.first)
    inside = names[names.index(found[0]) : names.index(found[-1])]
    missing = tuple(release for release in inside if release not in set(found))
    return SnapshotsOnDisk(series, view, tuple(found), missing, None if found[0] == names[0] else names[0])


def gap_remarks(found: SnapshotsOnDisk, what: str) -> list[str]:
    """A sentence for each release whose snapshot is not there; `what` is what goes on without it."""
    series, remarks = found.series, []
    if found.late_start is not None:
        place = snapshot_place(series, found.late_start)
        remarks.append(f"{found.late_start} has no snapshot ({place}), so {what} begins with a later release")
    return remarks + [
        f"{release} has no snapshot ({snapshot_place(series, release)}): `reanon publish` would stop there, and "
        f"{what} goes on with the next one"
        for release in found.missing
    ]
