"""`--data-docs`: what was judged as pages for the steward, whether the release was published or refused."""

from collections.abc import Callable, Sequence
from datetime import date

from reanon_core.model.errors import ReanonError
from reanon_dagster.expectations.suites import Suite
from reanon_dagster.releasing.judgement import Progress
from reanon_dagster.releasing.release import Outcome, accept_or_remember, candidate_for
from reanon_dagster.releasing.release_suites import candidate_suites, refusal_suites, write_docs
from reanon_dagster.series.series import Series
from reanon_dagster.sources.snapshot_location import shown_path

Tell = Callable[[str], None]


def documented_release(
    series: Series, release: str, today: date, *, seed: int | None, progress: Progress, tell: Tell
) -> Outcome:
    """Publish this release as `publish_release` does, write the pages whatever the gate says, and tell where.

    Raises: every error of ours.
    """
    try:
        candidate = candidate_for(series, release, today, seed=seed, progress=progress)
    except ReanonError as error:
        _write(series, refusal_suites(series, release, error), progress, tell)
        raise
    if candidate is not None:
        suites = candidate_suites(series, candidate)
        progress("publishing")
        try:
            accept_or_remember(series, candidate)
        finally:
            _write(series, suites, progress, tell)
    return Outcome(release, candidate)


def _write(series: Series, suites: Sequence[Suite], progress: Progress, tell: Tell) -> None:
    if suites:
        progress("writing Data Docs")
        tell(f"{series.name}: Data Docs are at {shown_path(series, write_docs(series, suites))}")
