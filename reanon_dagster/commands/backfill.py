"""`reanon backfill`: every due release whose snapshot is there, in order."""

import argparse
from datetime import date
from functools import partial

from reanon_core.brakes import accepted_reason
from reanon_core.model.errors import OutOfOrder, ReanonError
from reanon_dagster.commands.output import progress, say, warn, warn_of_caution, warn_of_flaws, warn_of_notes
from reanon_dagster.commands.private_output import require_json_place
from reanon_dagster.commands.publish import SEED_WARNING, explained_reasons, release_document, summary, write_outcomes
from reanon_dagster.releasing.query_error import MEANINGS
from reanon_dagster.releasing.release import publish_ready_releases
from reanon_dagster.releasing.release_order import next_release, nothing_to_do
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_location import missing
from reanon_dagster.storage.series_store import read_summary


def run(options: argparse.Namespace) -> int:
    """Publish release after release, and say what the next one waits for."""
    series = load_series(options.series)
    require_json_place(options.json, series.published_folder.parent)
    warn_of_caution(series)
    if options.seed is not None:
        warn(SEED_WARNING)
    today = date.today()  # noqa: DTZ011  a release is due by the steward's own calendar
    accept_drift = accepted_reason(options.accept_drift)
    following = next_release(series, read_summary(series.private_folder).records)
    documents: list[dict[str, object]] = []
    reasons: list[str] = []
    refused: tuple[str | None, ReanonError] | None = None
    try:
        with progress(series.name, quiet=options.quiet) as step:
            for outcome in publish_ready_releases(
                series,
                today,
                to=options.to,
                accept_drift=accept_drift,
                seed=options.seed,
                progress=step,
                notice=partial(warn_of_notes, series.name),
            ):
                say(summary(series, outcome), quiet=options.quiet)
                documents.append(release_document(outcome))
                reasons += outcome.candidate.withheld if outcome.candidate is not None else ()
                following = series.calendar.next_after(outcome.release)
    except ReanonError as error:
        refused = (following, error)
        raise
    finally:
        write_outcomes(options.json, series, documents, refused=refused)
    for sentence in explained_reasons(reasons):
        say(sentence, quiet=options.quiet)
    if documents:
        for meaning in MEANINGS:
            say(meaning, quiet=options.quiet)
    warn_of_flaws(series)
    view = read_view(series)
    following = next_release(series, view.records)
    if options.to is None:
        say(nothing_to_do(series, following, today), quiet=options.quiet)
    elif following is not None and view.position <= series.calendar.index(options.to):
        _require_reached(series, options.to, following, today)
    return 0


def _require_reached(series: Series, to: str, following: str, today: date) -> None:
    """Refuse to end in silence before the last release that was named.

    Raises: OutOfOrder, SnapshotMissing.
    """
    if not series.calendar.is_due(following, today):
        raise OutOfOrder(f"the backfill cannot reach release {to}, because {following} is not due yet")
    raise missing(series, following)
