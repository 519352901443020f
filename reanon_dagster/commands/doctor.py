"""`reanon doctor`: examine what a series has on the disk, and repair what is safe to repair."""

import argparse

from reanon_dagster.commands.output import say, table, warn
from reanon_dagster.commands.private_output import require_json_place, write_json_file
from reanon_dagster.doctor.examinations import examine
from reanon_dagster.doctor.remark import Outcome
from reanon_dagster.series.series_file import load_series


def run(options: argparse.Namespace) -> int:
    """Print a table of everything that was examined; 1 if something is left that only a person can decide."""
    series = load_series(options.series)
    require_json_place(options.json, series.published_folder.parent)
    remarks = list(examine(series, repair=not options.dry_run))
    rows = [(remark.what, remark.outcome.value, remark.sentence) for remark in remarks]
    table(("examined", "result", ""), rows, quiet=options.quiet, title=series.title)
    if options.json is not None:
        listed = [{"what": what, "outcome": outcome, "sentence": sentence} for what, outcome, sentence in rows]
        write_json_file(options.json, {"series": series.name, "remarks": listed})
    wrong = [remark for remark in remarks if remark.outcome is Outcome.WRONG]
    for remark in wrong:
        warn(f"{series.name}: {remark.what}: {remark.sentence}")
    left = [remark for remark in remarks if remark.outcome is Outcome.REPAIRABLE]
    if left:
        say(f"{series.name}: run `reanon doctor` without --dry-run to repair this", quiet=options.quiet)
    return 1 if wrong or left else 0
