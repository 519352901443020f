"""A series as its private store describes it: records and frozen settings at once, memory only when it is used."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.model.errors import Refused
from reanon_core.protocols import Memory
from reanon_core.returning import Returning
from reanon_core.tables.id_forms import KnownPeople
from reanon_dagster.releasing.halts import require_not_halted
from reanon_dagster.releasing.integrity import compared, integrity_of, require_integrity
from reanon_dagster.releasing.recovery import is_interrupted, recover
from reanon_dagster.releasing.withdrawal import finish_withdrawals, unfinished_withdrawals
from reanon_dagster.series.series import TECHNIQUE
from reanon_dagster.storage import series_store
from reanon_dagster.storage.pseudonym_key import pseudonym_key
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.storage.series_store import KnownPast, StoreSummary

if TYPE_CHECKING:
    from reanon_core.model.arrays import Int64
    from reanon_dagster.series.series import Series


@dataclass(frozen=True, eq=False)
class SeriesView:
    """What the store knew about a series when the view was read.

    Records are read with the view. State and memories describe every person ever published, so they are read only when
    a plan or a judgement uses them, and are not kept beyond it.

    Raises, from everything that is read later: OutOfOrder if another release has been published since.
    """

    private_folder: Path
    summary: StoreSummary
    pending: tuple[str, ...] = ()
    """What an interrupted process left and cannot be finished yet, as sentences."""
    strays: tuple[str, ...] = ()
    """What does not belong into the published folder, as sentences; known if the view is of a series that may go on."""

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

    def may_be_cleaned(self, release: str) -> bool:
        """Whether a person was forgotten since this release, so that they may be deleted from its snapshot."""
        record = self.record(release)
        return record is not None and any(record.position < mark.releases for mark in self.summary.marks)

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
    def past(self) -> KnownPast:
        """What the next snapshot is compared with."""
        return series_store.read_past(self.private_folder, self.position)

    def state(self, folder: ColumnFolder | None = None) -> Memory | None:
        """What the next plan builds on; None before the first release.

        With a folder, the arrays of many people are mapped from columns there.
        """
        return series_store.read_state(self.private_folder, self.position, folder)

    def memories(self, folder: ColumnFolder | None = None) -> Mapping[str, Memory]:
        """What each check builds on, by its name; with a folder, mapped from there."""
        return series_store.read_memories(self.private_folder, self.position, folder)

    def returning(self, persons: "Int64", values: int) -> Returning:
        """How many people of the latest release's table are among these, which ascend, by the codes of their values."""
        return series_store.read_returning(self.private_folder, self.position, persons, values)

    def value_returning(self, code: int) -> list[tuple[int, int]]:
        """For each release and the next: how many people with a value returned, and how many had it; latest first."""
        return series_store.read_value_returning(self.private_folder, self.position, code)

    @contextmanager
    def known_people(self) -> Iterator[KnownPeople]:
        """Everyone in a snapshot of a release, with the forms of their ids, while the store is held."""
        with series_store.known_people(self.private_folder, self.position) as known:
            yield known


def read_view(series: "Series") -> SeriesView:
    """The records of the series, after what an interrupted process left is finished as far as that is possible."""
    view = _seen(series)
    finish_withdrawals(series, view.summary.withdrawals)
    if not is_interrupted(series, view.records, len(view.summary.marks)):
        return view
    return replace(view, pending=recover(series))


def read_continuable_view(series: "Series", *, dry_run: bool = False) -> SeriesView:
    """The view of a series that may publish its next release; a dry run leaves what an interrupted process left.

    Raises: Refused if a frozen setting was changed, if the series is halted, if a release cannot be brought out, or if
    the store, the head files and the published folder do not belong together.
    """
    with series_store.held_summary(series.private_folder) as summary:
        view = SeriesView(series.private_folder, summary)
        interrupted = is_interrupted(series, view.records, len(view.summary.marks)) or bool(
            unfinished_withdrawals(series, summary.withdrawals)
        )
        found = compared(series, summary, remember=not dry_run)
    if interrupted and not dry_run:
        view = read_view(series)
        found = integrity_of(series)
    require_unchanged(series, view.summary.frozen.get("fingerprint"))
    if view.pending:
        raise Refused("\n".join(view.pending))
    require_integrity(series.name, replace(found, published=()))  # first: an older store knows nothing of later halts
    require_not_halted(series.name, view.summary.halts)
    if not (interrupted and dry_run):  # a release that a dry run may not finish need not be public yet
        require_integrity(series.name, found)
    return replace(view, strays=found.strays)


def _seen(series: "Series") -> SeriesView:
    return SeriesView(series.private_folder, series_store.read_summary(series.private_folder))


SAFE = (
    "title, description, licence, contact, owners, publish.formats, expectations, additional checks, additional "
    "releases.names at the end, releases.select and releases.columns of future releases, domains, orders and "
    "taxonomies that grow without moving a bin, missing from refuse to separate"
)


def require_unchanged(series: "Series", frozen: str | None) -> None:
    """Refuse a series file whose frozen settings differ from those of its first release.

    Raises: Refused.
    """
    if frozen is None:
        return
    technique = series.technique
    changeable = {f"{TECHNIQUE}{name}" for name in technique.changeable}
    followers = {f"{TECHNIQUE}{name}": pairs for name, pairs in technique.declaration.followers.items()}
    changes = {
        key: values
        for key, values in series.changes(json.loads(frozen)).items()
        if key not in changeable and values not in followers.get(key, ())
    }
    if changes:
        listed = "; ".join(f"{key} was {_shown(before)} and is {_shown(now)}" for key, (before, now) in changes.items())
        allowed = [f"{key} from {old} to {new}" for key, pairs in followers.items() for old, new in sorted(pairs)]
        raise Refused(
            f"the first release of {series.name} froze its settings: {listed}. Restore them, or start a new series "
            f"with another name under `series:`, which does not protect people against both series combined. "
            f"Safe to change: {', '.join([SAFE, *sorted(changeable), *allowed])}"
        )


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)
