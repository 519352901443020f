"""`reanon trace`: which published row shows which person. Private."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.commands.output import say
from reanon_dagster.releasing.frozen_settings import continued
from reanon_dagster.releasing.release_trace import release_trace
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage.private_file import new_private_file

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_dagster.series.series import Series

FORMATS = (".parquet", ".csv")


def run(options: argparse.Namespace) -> int:
    """Write the trace to a new file that only its owner can read."""
    series = continued(load_series(options.series))
    _require_private_place(series, options.out)
    columns = release_trace(series, options.release, worlds=options.worlds)
    _write(columns, options.out)
    say(f"{series.name} {options.release}: traced {columns.num_rows} rows (private)", quiet=options.quiet)
    return 0


def _require_private_place(series: "Series", path: Path) -> None:
    """Refuse a place where others could read the trace, or that is taken.

    Raises: InvalidParameter.
    """
    if path.suffix.lower() not in FORMATS:
        raise InvalidParameter(Problem("--out", f"end in {' or '.join(FORMATS)}", str(path)))
    if path.resolve().is_relative_to(series.published_folder.parent.resolve()):
        raise InvalidParameter(
            Problem("--out", "lie outside the published folder, because a trace is private", str(path))
        )
    if path.exists() or path.is_symlink():
        raise InvalidParameter(Problem("--out", "be a new file", str(path), "choose another name, or remove it first"))


def _write(columns: "pa.Table", path: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    with new_private_file(path) as file:
        if path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(columns, file)
        else:
            pyarrow.parquet.write_table(columns, file)
