"""`reanon trace`: which published row shows which person. Private."""

import argparse
import os

from reanon_dagster.commands.output import say
from reanon_dagster.releasing.frozen_settings import continued
from reanon_dagster.releasing.release_trace import release_trace
from reanon_dagster.series.series_file import load_series


def run(options: argparse.Namespace) -> int:
    """Write the trace to a file that only its owner can read."""
    import pyarrow.parquet

    series = continued(load_series(options.series))
    columns = release_trace(series, options.release, worlds=options.worlds)
    with os.fdopen(os.open(options.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        pyarrow.parquet.write_table(columns, file)
    say(f"{series.name} {options.release}: traced {columns.num_rows} rows (private)", quiet=options.quiet)
    return 0
