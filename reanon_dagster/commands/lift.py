"""`reanon lift`: a person decides that a halted series may go on, and says why."""

import argparse

from reanon_dagster.commands.output import say, warn
from reanon_dagster.releasing.halts import lift_halt
from reanon_dagster.releasing.integrity import integrity_of
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series_file import load_series


def run(options: argparse.Namespace) -> int:
    """Lift the halt, and accept the flaws of the published folder that are left: only a person can judge them."""
    series = load_series(options.series)
    read_view(series)
    flaws = integrity_of(series).published
    lifted = lift_halt(series, options.because, flaws)
    for flaw in flaws:
        warn(f"{series.name}: accepted, although the next audit may halt the series again: {flaw}")
    if lifted:
        since = f"{lifted[0].halted:%Y-%m-%d %H:%M}"
        say(f"{series.name}: the halt of {since} is lifted; the series may go on", quiet=options.quiet)
    elif not flaws:
        say(f"{series.name} is not halted", quiet=options.quiet)
    return 0
