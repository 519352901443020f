"""One release from its snapshot to the public folder: read, plan, emit, judge, gate. Every caller takes this way."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from reanon_core.model.errors import OutOfOrder, ReanonError
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.computation import computation
from reanon_dagster.releasing.gate import Pending, accept, require_acceptable
from reanon_dagster.releasing.judged_candidate import Progress, judged_candidate, silent
from reanon_dagster.releasing.manifest import require_signing_key
from reanon_dagster.releasing.people_lists import write_refused_people
from reanon_dagster.releasing.release_order import next_release, ready_release, require_next
from reanon_dagster.releasing.series_view import SeriesView, read_continuable_view
from reanon_dagster.releasing.snapshot_intake import require_published_input
from reanon_dagster.releasing.withdrawal import require_not_withdrawn
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.storage.pseudonym_key import keep_key
from reanon_dagster.storage.series_store import create_store, write_refusal

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


Observer = Callable[[SeriesView, Candidate | None, ReanonError | None], None]
"""Told of a decision: the view that it was made with, what was judged if anything was, and why it was refused if so."""

Notice = Callable[[Candidate], None]
"""Told of a release that passed the gate, before it is published: what it raises stops the release."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What happened to a release."""

    release: str
    candidate: Candidate | None
    """None if there was nothing to do."""


def make_candidate(
    series: "Series",
    view: SeriesView,
    release: str,
    today: date,
    *,
    dry_run: bool = False,
    accept_drift: str | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> Candidate | None:
    """Read, plan, emit and judge the next release; None if it is the latest one already, with the same input.

    A candidate that failed a check is returned like any other: the gate refuses it. A dry run writes nothing; otherwise
    the key is stored and a refusal is recorded for `reanon status`.

    Raises: every error of ours.
    """
    if view.is_latest(release):
        require_not_withdrawn(view.records[-1])
        require_published_input(series, view, view.records[-1])
        return None
    require_next(series, view.records, release, today)
    require_signing_key(series)
    progress("reading the snapshot")
    with computation(series, release) as chosen:
        read = chosen.read(view, release)
        # Only now, because invalid input leaves nothing on the disk; and the store first, because a key without a store
        # is a store that was lost.
        if not dry_run:
            if not view.summary.exists:
                create_store(series.private_folder, series.schema)
            keep_key(series.private_folder, view.key)
        with _recorded(series, release, dry_run=dry_run):
            return judged_candidate(
                series,
                view,
                release,
                read,
                computation=chosen,
                accept_drift=accept_drift,
                seed=seed,
                progress=progress,
            )


def publish_release(
    series: "Series",
    release: str,
    today: date,
    *,
    view: SeriesView | None = None,
    dry_run: bool = False,
    accept_drift: str | None = None,
    seed: int | None = None,
    progress: Progress = silent,
    notice: Notice | None = None,
    observer: Observer | None = None,
) -> Outcome:
    """Publish this release, which must be the next one; nothing to do if it is the latest one already.

    A dry run ends at the gate: it says what would be published, and writes nothing. `notice` is called before the
    release is published, `observer` once it is decided.

    Raises: every error of ours.
    """
    view = view or read_continuable_view(series)
    candidate = None
    try:
        candidate = make_candidate(
            series, view, release, today, dry_run=dry_run, accept_drift=accept_drift, seed=seed, progress=progress
        )
        if candidate is not None:
            with _recorded(series, release, dry_run=dry_run):
                require_acceptable(candidate)
                if notice is not None:
                    notice(candidate)
                if not dry_run:
                    progress("publishing")
                    accept(series, candidate)
    except ReanonError as error:
        if observer is not None:
            observer(view, candidate, error)
        raise
    if observer is not None and candidate is not None:
        observer(view, candidate, None)
    return Outcome(release, candidate)


def publish_ready_releases(
    series: "Series",
    today: date,
    *,
    to: str | None = None,
    accept_drift: str | None = None,
    seed: int | None = None,
    progress: Progress = silent,
    notice: Notice | None = None,
) -> Iterator[Outcome]:
    """Publish every release that can run, in order, up to `to`.

    Raises: every error of ours; OutOfOrder if a snapshot is missing before one that is there.
    """
    last = None if to is None else series.calendar.index(to)
    while True:
        view = read_continuable_view(series)
        if last is not None and view.position > last:
            return
        release = ready_release(series, view.records, today)
        if release is None:
            require_no_gap(series, view, today)
            return
        chosen = None if seed is None else seed + view.position
        yield publish_release(
            series, release, today, view=view, accept_drift=accept_drift, seed=chosen, progress=progress, notice=notice
        )


def _recorded(series: "Series", release: str, *, dry_run: bool) -> AbstractContextManager[None]:
    """Record a refusal, unless nothing may be written."""
    return nullcontext() if dry_run else _refusal_recorded(series, release)


@contextmanager
def _refusal_recorded(series: "Series", release: str) -> Iterator[None]:
    """Record a refusal for `reanon status`, without any value of the data, and privately the people it concerns."""
    try:
        yield
    except Pending:  # the release is not refused: its files follow
        raise
    except ReanonError as error:
        with suppress(ReanonError, OSError):  # what caused the refusal may hinder its record, and is what counts
            write_refused_people(series, release, error)
            write_refusal(series.private_folder, series.schema, release, error.redacted())
        raise


def require_no_gap(series: "Series", view: SeriesView, today: date) -> None:
    """Refuse to wait for a snapshot that is missing while a later one is there.

    Raises: OutOfOrder.
    """
    missing = next_release(series, view.records)
    due = series.calendar.due(today)[view.position + 1 :]
    later = next((release for release in due if snapshot_exists(series, release)), None)
    if missing is not None and later is not None and not snapshot_exists(series, missing):
        raise OutOfOrder(
            f"release {later} has a snapshot, but {missing} comes first and has none; "
            f"add the snapshot of {missing}, or a file with only the header if its table was empty"
        )
