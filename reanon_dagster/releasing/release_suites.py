"""Data Docs of a release: what was judged, as Great Expectations suites, whether it was published or refused."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, ReanonError, Unpublishable
from reanon_dagster.expectations.data_docs import FOLDER, write_data_docs
from reanon_dagster.expectations.release_suite import release_results, unpublishable_results
from reanon_dagster.expectations.snapshot_suite import snapshot_results
from reanon_dagster.expectations.suites import Suite
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.judged_candidate import Progress, checks_of, silent
from reanon_dagster.releasing.release import make_candidate
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.sources.snapshot_location import SnapshotMissing, shown_path

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def documented_candidate(
    series: "Series",
    view: SeriesView,
    release: str,
    today: date,
    *,
    seed: int | None = None,
    progress: Progress = silent,
    report: Callable[[str], None],
) -> Candidate | None:
    """Make a candidate as `make_candidate` does, write its Data Docs, and report the path of their first page.

    A release that has no candidate because its data break a rule gets its pages too.

    Raises: every error of ours.
    """
    try:
        candidate = make_candidate(series, view, release, today, seed=seed, progress=progress)
    except ReanonError as error:
        document_refusal(series, release, error, progress=progress, report=report)
        raise
    if candidate is not None:
        progress("writing Data Docs")
        report(_write_docs(series, _candidate_suites(series, view, candidate)))
    return candidate


def document_refusal(
    series: "Series",
    release: str,
    error: ReanonError,
    *,
    progress: Progress = silent,
    report: Callable[[str], None] = silent,
) -> None:
    """Write the Data Docs of a release that could not be computed, if its data are the reason."""
    if isinstance(error, Unpublishable):
        suite = unpublishable_results(release, error)
    elif isinstance(error, InvalidSnapshot) and not isinstance(error, SnapshotMissing):
        suite = snapshot_results(series, release, error, None)
    else:
        return
    progress("writing Data Docs")
    report(_write_docs(series, [suite]))


def _candidate_suites(series: "Series", view: SeriesView, candidate: Candidate) -> list[Suite]:
    """The suites of a candidate: its snapshot's rules, and the technique's."""
    release, snapshot = candidate.release, candidate.entry.snapshot.in_table()
    return [
        snapshot_results(series, release, snapshot, view.people_before(release), candidate.people),
        release_results(release, candidate.entry, checks_of(series), candidate.verdicts),
    ]


def _write_docs(series: "Series", suites: Sequence[Suite]) -> str:
    """Run the suites, write the pages in the private folder, and return the path of the first page."""
    return shown_path(series, write_data_docs(series.private_folder / FOLDER, series.title, suites).index)
