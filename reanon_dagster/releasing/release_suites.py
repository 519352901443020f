"""What was judged, as Great Expectations suites with Data Docs: whether the release was published or refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, ReanonError, Unpublishable
from reanon_dagster.expectations.data_docs import FOLDER, write_data_docs
from reanon_dagster.expectations.release_suite import release_results, unpublishable_results
from reanon_dagster.expectations.snapshot_suite import snapshot_results
from reanon_dagster.expectations.suites import Suite
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.judgement import checks_of
from reanon_dagster.releasing.release import look
from reanon_dagster.sources.snapshot_location import SnapshotMissing

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def candidate_suites(series: "Series", candidate: Candidate) -> list[Suite]:
    """The suites of a candidate: its snapshot's rules, and the technique's."""
    before = people_before(series, candidate.release)
    return [
        snapshot_results(series, candidate.release, candidate.entry.snapshot.in_table(), before, candidate.people),
        release_results(candidate.release, candidate.entry, checks_of(series), candidate.verdicts),
    ]


def refusal_suites(series: "Series", release: str, error: ReanonError) -> list[Suite]:
    """The suites of a release that could not be computed; none if the reason is not a rule about its data."""
    if isinstance(error, InvalidSnapshot) and not isinstance(error, SnapshotMissing):
        return [snapshot_results(series, release, error, people_before(series, release))]
    return [unpublishable_results(release, error)] if isinstance(error, Unpublishable) else []


def write_docs(series: "Series", suites: Sequence[Suite]) -> Path:
    """Run the suites and build the pages in the private folder; gives the path of the first page."""
    return write_data_docs(series.private_folder / FOLDER, series.title, suites).index


def people_before(series: "Series", release: str) -> int | None:
    """The number of people in the latest snapshot that was published before this release; None before the first."""
    return next((record.people for record in reversed(look(series).records) if record.release != release), None)
