"""`reanon status`: which releases are published, ready, waiting or refused."""

import argparse
from collections.abc import Sequence
from datetime import date

from reanon_core.model.errors import ReanonError
from reanon_dagster.commands.output import say, table, warn
from reanon_dagster.releasing.frozen_settings import continued
from reanon_dagster.releasing.halts import halt_sentence
from reanon_dagster.releasing.release_order import ReleaseStatus, Status, statuses
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.discovery import find_series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage.records import Halt


def run(options: argparse.Namespace) -> int:
    """Print one table for each series."""
    paths = [options.series] if options.series else find_series()
    if not paths:
        say(
            "no series found; name a series.yaml, or list the folders of your series in REANON_SERIES",
            quiet=options.quiet,
        )
        return 0
    code = 0
    for path in paths:
        try:
            series = continued(load_series(path))
            view = read_view(series)
        except ReanonError as error:
            if options.series:
                raise
            for sentence in str(error).splitlines():
                warn(f"{path}: {sentence}")
            code = error.exit_code
            continue
        today = date.today()  # noqa: DTZ011  a release is due by the steward's own calendar
        listed = statuses(series, view.records, view.summary.refusals, today)
        halts = view.summary.halts
        rows = [(one.release, one.status.value, "halted" if _held(one, halts) else one.reason) for one in listed]
        table(("release", "status", ""), rows, quiet=options.quiet, title=series.title)
        if halts:
            warn(halt_sentence(series.name, halts))
    return code


def _held(one: ReleaseStatus, halts: Sequence[Halt]) -> bool:
    """Whether only the halt holds a release back."""
    return bool(halts) and one.status is Status.READY
