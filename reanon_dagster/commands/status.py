"""`reanon status`: which releases are published, ready, waiting or refused."""

import argparse
from datetime import date

from reanon_core.model.errors import ReanonError
from reanon_dagster.commands.output import say, table, warn
from reanon_dagster.releasing.frozen_settings import continued
from reanon_dagster.releasing.halts import halt_sentence
from reanon_dagster.releasing.integrity import Integrity, integrity_of
from reanon_dagster.releasing.release_order import ReleaseStatus, Status, statuses
from reanon_dagster.releasing.series_view import SeriesView, read_view
from reanon_dagster.series.discovery import find_series
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series


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
        listed = statuses(series, view.records, view.summary.refusals, today, accepted=view.summary.accepted)
        halts, found = view.summary.halts, integrity_of(series, remember=True)
        held = "halted" if halts else "held back, see below" if view.pending or found.flaws else None
        rows = [(one.release, one.status.value, _remark(one, held)) for one in listed]
        table(("release", "status", ""), rows, quiet=options.quiet, title=series.title)
        if halts:
            warn(halt_sentence(series.name, halts))
        code = max(code, _flaws_shown(series, view, found))
    return code


def _flaws_shown(series: Series, view: SeriesView, found: Integrity) -> int:
    """Print what is wrong between the store, the head files and the published folder; 1 if anything must be mended."""
    for flaw in view.pending or [f"{series.name}: {flaw}" for flaw in found.flaws]:
        warn(flaw)
    for stray in found.strays:
        warn(f"{series.name}: {stray}")
    return 1 if view.pending or found.flaws else 0


def _remark(one: ReleaseStatus, held: str | None) -> str:
    """What is said of a release; `held` is what holds back one that is ready."""
    return held if held is not None and one.status is Status.READY else one.reason
