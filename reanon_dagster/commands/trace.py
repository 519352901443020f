"""`reanon trace`: which published row shows which person. Private."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem, counted
from reanon_dagster.commands.output import say, warn, warn_of_flaws
from reanon_dagster.commands.private_output import require_private_place
from reanon_dagster.releasing.frozen_settings import continued
from reanon_dagster.releasing.release_trace import forgotten_rows, release_trace
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage.private_file import new_private_file

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = (".parquet", ".csv")


def run(options: argparse.Namespace) -> int:
    """Write the trace to a new file that only its owner can read."""
    series = continued(load_series(options.series))
    if options.out.suffix.lower() not in FORMATS:
        raise InvalidParameter(Problem("--out", f"end in {' or '.join(FORMATS)}", str(options.out)))
    require_private_place(series, options.out, "a trace")
    warn_of_flaws(series)
    columns = release_trace(series, options.release, worlds=options.worlds)
    _write(columns, options.out)
    say(f"{series.name} {options.release}: traced {columns.num_rows} rows (private)", quiet=options.quiet)
    lost = forgotten_rows(series, options.release)
    if lost:
        shown = counted(lost, "row shows a person", "rows show people")
        warn(f"{series.name} {options.release}: {shown} who {'is' if lost == 1 else 'are'} forgotten, and left out")
    return 0


def _write(columns: "pa.Table", path: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    with new_private_file(path) as file:
        if path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(columns, file)
        else:
            pyarrow.parquet.write_table(columns, file)
