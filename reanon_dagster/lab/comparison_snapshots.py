"""The snapshots of a series that are on disk, read for a comparison: people who are forgotten are left out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reanon_core.model.mark import marked
from reanon_core.model.snapshot import Snapshot
from reanon_core.tables.ids import KEY_BYTES
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.sources.snapshot_reader import read_snapshot, snapshot_digest
from reanon_dagster.storage.series_store import read_summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from reanon_dagster.series.series import Series


@dataclass(frozen=True, eq=False)
class ComparisonSnapshots:
    """Which releases have a snapshot, in order, without a gap from the first one on."""

    series: "Series"
    releases: tuple[str, ...]
    view: SeriesView

    @property
    def _key(self) -> bytes:
        """The key of the pseudonyms: any key will do, unless the marks of forgotten people must be recognised."""
        return self.view.key if self.view.summary.marks else bytes(KEY_BYTES)

    def digests(self) -> list[str]:
        """What identifies the content of the snapshots, and who is forgotten."""
        marks = [f"{mark.number:x}/{mark.bits}" for mark in self.view.summary.marks]
        return [snapshot_digest(self.series, release, self._key) for release in self.releases] + marks

    def read(self, *, whole_tables: bool, tell: "Callable[[str], None]") -> list[Snapshot]:
        """The snapshots; where a release selects people, the whole tables with a mask, or only the selected rows.

        Raises: InvalidSnapshot with every problem of a snapshot at once.
        """
        snapshots: list[Snapshot] = []
        values: tuple[str, ...] = ()
        other: tuple[tuple[str, ...], ...] = ()
        for release in self.releases:
            tell(f"reading {release}")
            read = read_snapshot(self.series, release, self._key, values, other, whole_table=whole_tables)
            read = read.without(marked(self.view.summary.marks, read.snapshot.persons))
            schema = read.snapshot.schema
            values, other = schema.sensitive.values, schema.other_values
            snapshots.append(read.snapshot)
        return snapshots


def comparison_snapshots(series: "Series") -> ComparisonSnapshots:
    """The snapshots from the first release on, up to the first that is missing. Nothing is recovered or written."""
    releases: list[str] = []
    release: str | None = series.calendar.first
    while release is not None and snapshot_exists(series, release):
        releases.append(release)
        release = series.calendar.next_after(release)
    view = SeriesView(series.private_folder, read_summary(series.private_folder))
    return ComparisonSnapshots(series, tuple(releases), view)
