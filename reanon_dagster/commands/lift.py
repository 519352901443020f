"""`reanon lift`: a person decides that a halted series may go on, and says why."""

import argparse

from reanon_dagster.commands.output import say, warn
from reanon_dagster.releasing.frozen_settings import continued
from reanon_dagster.releasing.halts import lift_halt
from reanon_dagster.releasing.published_audit import published_flaws
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series_file import load_series


def run(options: argparse.Namespace) -> int:
    """Lift the halt; flaws of the published folder that are left are printed, because only a person can judge them."""
    series = continued(load_series(options.series))
    records = read_view(series).records
    lifted = lift_halt(series, options.because)
    if not lifted:
        say(f"{series.name} is not halted", quiet=options.quiet)
        return 0
    say(
        f"{series.name}: the halt of {lifted[0].halted:%Y-%m-%d %H:%M} is lifted; the series may go on",
        quiet=options.quiet,
    )
    for flaw in published_flaws(series, records):
        warn(f"{series.name}: still wrong, so that the next audit may halt the series again: {flaw}")
    return 0
