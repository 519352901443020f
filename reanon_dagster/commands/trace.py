"""`reanon trace`: which published row shows which person. Private."""

import argparse

from reanon_core.model.errors import counted
from reanon_dagster.commands.output import say, warn, warn_of_flaws
from reanon_dagster.commands.private_output import require_private_place, require_table_format, write_private_table
from reanon_dagster.releasing.release_trace import forgotten_rows, release_trace
from reanon_dagster.series.series_file import load_series


def run(options: argparse.Namespace) -> int:
    """Write the trace to a new file that only its owner can read."""
    series = load_series(options.series)
    require_table_format(options.out)
    require_private_place(options.out, [series.published_folder.parent], "a trace is")
    warn_of_flaws(series)
    columns = release_trace(series, options.release, worlds=options.worlds)
    write_private_table(columns, options.out)
    say(f"{series.name} {options.release}: traced {columns.num_rows} rows (private)", quiet=options.quiet)
    lost = forgotten_rows(series, options.release)
    if lost:
        shown = counted(lost, "row shows a person", "rows show people")
        warn(f"{series.name} {options.release}: {shown} who {'is' if lost == 1 else 'are'} forgotten, and left out")
    return 0
