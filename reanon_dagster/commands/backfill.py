"""`reanon backfill`: every due release whose snapshot is there, in order."""

import argparse
from datetime import date

from reanon_core.model.errors import OutOfOrder
from reanon_dagster.commands.output import attend, caution, progress, say, warn
from reanon_dagster.commands.publish import SEED_WARNING, idle, told
from reanon_dagster.releasing.release import look, publish_ready
from reanon_dagster.releasing.release_order import expected
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_location import missing


def run(options: argparse.Namespace) -> int:
    """Publish release after release, and say what the next one waits for."""
    series = load_series(options.series)
    caution(series)
    if options.seed is not None:
        warn(SEED_WARNING)
    today = date.today()  # noqa: DTZ011  a release is due by the steward's own calendar
    with progress(series.name, quiet=options.quiet) as step:
        for outcome in publish_ready(series, today, to=options.to, seed=options.seed, progress=step):
            say(told(series, outcome), quiet=options.quiet)
            attend(series.name, outcome.candidate)
    records = look(series).records
    following = expected(series, records)
    if options.to is not None:
        if len(records) <= series.calendar.index(options.to) and following is not None:
            if not series.calendar.is_due(following, today):
                raise OutOfOrder(f"release {options.to} cannot be reached: {following} is not due yet")
            raise missing(series, following)
        return 0
    say(idle(series, following, today), quiet=options.quiet)
    return 0
