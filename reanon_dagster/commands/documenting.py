"""`--data-docs`: what was judged as pages for the steward, whether the release was published or refused."""

from collections.abc import Callable, Sequence
from datetime import date

from reanon_core.model.errors import InvalidSnapshot, ReanonError, Unpublishable
from reanon_dagster.expectations.data_docs import FOLDER, write_data_docs
from reanon_dagster.expectations.releases import release_results, unpublishable_results
from reanon_dagster.expectations.snapshots import snapshot_results
from reanon_dagster.expectations.suites import Suite
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.gate import accept
from reanon_dagster.releasing.preparing import Progress, checks_of
from reanon_dagster.releasing.publish import Outcome, candidate_for, remember_refusal, sound
from reanon_dagster.series.declared import Series
from reanon_dagster.sources.locating import SnapshotMissing, shown_path

Tell = Callable[[str], None]


def documented_release(
    series: Series, release: str, today: date, *, seed: int | None, progress: Progress, tell: Tell
) -> Outcome:
    """Publish this release as `publish_release` does, write the pages whatever the gate says, and tell where.

    Raises: every error of ours.
    """
    before = people_before(series, release)
    try:
        candidate = candidate_for(series, release, today, seed=seed, progress=progress)
    except SnapshotMissing:
        raise
    except InvalidSnapshot as error:
        _write(series, [snapshot_results(series, release, error, before)], progress, tell)
        raise
    except Unpublishable as error:
        _write(series, [unpublishable_results(release, error)], progress, tell)
        raise
    if candidate is not None:
        _accept(series, candidate, before, progress, tell)
    return Outcome(release, candidate)


def people_before(series: Series, release: str) -> int | None:
    """The number of people in the latest snapshot that was published before this release; None before the first."""
    return next((record.people for record in reversed(sound(series).records) if record.release != release), None)


def _accept(series: Series, candidate: Candidate, before: int | None, progress: Progress, tell: Tell) -> None:
    suites = [
        snapshot_results(series, candidate.release, candidate.entry.snapshot, before),
        release_results(candidate.release, candidate.entry, checks_of(series), candidate.verdicts),
    ]
    progress("publishing")
    try:
        accept(series, candidate)
    except ReanonError as error:
        remember_refusal(series, candidate.release, error)
        _write(series, suites, progress, tell)
        raise
    _write(series, suites, progress, tell)


def _write(series: Series, suites: Sequence[Suite], progress: Progress, tell: Tell) -> None:
    progress("writing Data Docs")
    docs = write_data_docs(series.private_folder / FOLDER, series.title, suites)
    tell(f"{series.name}: Data Docs are at {shown_path(series, docs.index)}")
