"""A series as its private store describes it: records at once, memory only when it is used."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused
from reanon_core.protocols import Memory
from reanon_dagster.releasing.frozen_settings import require_unchanged
from reanon_dagster.releasing.gate import recover
from reanon_dagster.releasing.halts import require_not_halted
from reanon_dagster.storage import series_store
from reanon_dagster.storage.pseudonym_key import pseudonym_key
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.storage.series_store import SeriesMemory, StoreSummary

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


@dataclass(frozen=True, eq=False)
class SeriesView:
    """What the store knew about a series when the view was read.

    Records are read with the view. State and memories describe every person ever published, so they are unpacked only
    when a plan or a judgement uses them, and then once.

    Raises, from everything that is read later: OutOfOrder if another release has been published since.
    """

    private_folder: Path
    summary: StoreSummary

    @property
    def records(self) -> list[ReleaseRecord]:
        """The published releases, in order."""
        return self.summary.records

    @property
    def latest(self) -> ReleaseRecord | None:
        """The latest release."""
        return self.records[-1] if self.records else None

    @property
    def position(self) -> int:
        """The position of the next release: how many are published."""
        return len(self.records)

    def record(self, release: str) -> ReleaseRecord | None:
        """The record of a release; None if it is not published."""
        return next((record for record in self.records if record.release == release), None)

    def is_latest(self, release: str) -> bool:
        """Whether this is the latest published release."""
        return self.latest is not None and self.latest.release == release

    def people_before(self, release: str) -> int | None:
        """How many people the latest other release had; None before the first."""
        return next((record.people for record in reversed(self.records) if record.release != release), None)

    @cached_property
    def key(self) -> bytes:
        """The key of the pseudonyms: the stored one, or before the first release a new one that is not stored yet.

        Raises: Refused if the key is lost or replaced.
        """
        return pseudonym_key(self.private_folder, self.summary.frozen.get("key"))

    @cached_property
    def known_values(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """The sensitive values of all releases, and those of each non-identifier, in the order of their codes."""
        return series_store.read_known_values(self.private_folder, self.position)

    @cached_property
    def memory(self) -> SeriesMemory:
        """What the next plan and its judgement build on."""
        return series_store.read_memory(self.private_folder, self.position)

    @cached_property
    def memories(self) -> Mapping[str, Memory]:
        """What the checks alone build on, for judging a candidate again."""
        return series_store.read_memories(self.private_folder, self.position)


def read_view(series: "Series") -> SeriesView:
    """Finish what an interrupted process left, then read the records of the series."""
    if series_store.has_store(series.private_folder):
        recover(series)
    return SeriesView(series.private_folder, series_store.read_summary(series.private_folder))


def read_continuable_view(series: "Series", *, dry_run: bool = False) -> SeriesView:
    """The view of a series that may publish its next release; a dry run leaves what an interrupted process left.

    Raises: Refused if a frozen setting was changed, if the series is halted, or if there are releases that the private
    store does not know.
    """
    # Before the store, because others may publish meanwhile. A hidden folder is one that is still being copied.
    published = {path.parent.name for path in series.published_folder.glob("[!.]*/manifest.json")}
    view = (
        SeriesView(series.private_folder, series_store.read_summary(series.private_folder))
        if dry_run
        else read_view(series)
    )
    require_unchanged(series, view.summary.frozen.get("fingerprint"))
    unknown = sorted(published - {record.release for record in view.records})
    if unknown:
        raise Refused(
            f"{series.name} has published releases that its private store does not know ({', '.join(unknown[:4])}), "
            f"and without them the next release could expose people; restore the latest private folder from a backup"
        )
    require_not_halted(series.name, view.summary.halts)
    return view
