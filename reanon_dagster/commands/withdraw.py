"""`reanon withdraw`: take back the newest release from the public folder."""

import argparse

from reanon_dagster.commands.output import say
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.releasing.withdrawal import withdraw_release
from reanon_dagster.series.series_file import load_series


def run(options: argparse.Namespace) -> int:
    """Withdraw a release, and say what that does not change."""
    series = load_series(options.series)
    records = read_view(series).records
    done = withdraw_release(series, records, options.release, options.because, options.public_reason)
    if not done:
        say(f"{series.name} {options.release}: nothing to do, it is withdrawn", quiet=options.quiet)
        return 0
    say(
        f"{series.name} {options.release}: withdrawn; its tables are gone from the published folder, and the next "
        f"manifest records it\n"
        f"whoever has a copy still has it, so what it taught stays in the private store, and later releases protect "
        f"people against it too\n"
        f"{options.release} is never published again; make the correction in the next release",
        quiet=options.quiet,
    )
    return 0
