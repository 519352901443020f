"""`reanon init`: a commented series.yaml, with a tiny example to start from or proposed for a table."""

import argparse
import re
import sys
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.commands.output import say, warn
from reanon_dagster.series.template import write_example
from reanon_dagster.sources import proposed_series
from reanon_dagster.sources.proposed_series import likely_ids, likely_sensitive, read_columns
from reanon_dagster.storage.durable_file import new_private_file

SHOWN = 8
"""How many columns a question or a message lists."""


def run(options: argparse.Namespace) -> int:
    """Write the example, or the series that is proposed for a table; existing files are never overwritten."""
    if options.folder is None and options.table is None:
        raise InvalidParameter(Problem("DIR", "be given without --from"))
    folder = options.folder or Path(proposed_series.stem(options.table))
    series = folder / "series.yaml"
    if options.table is None:
        if options.id is not None or options.sensitive is not None:
            raise InvalidParameter(Problem("--id and --sensitive", "be given with --from, and only then"))
        write_example(folder)
        say(f"wrote {series} and an example beside it; next: reanon rehearse {series}", quiet=options.quiet)
        return 0
    columns, keys = read_columns(options.table)
    id_ = _chosen("--id", options.id, columns, likely_ids(columns)[:1], "another value in every row")
    candidates = likely_sensitive(columns, id_)
    asked = options.sensitive or (_asked(candidates) if sys.stdin.isatty() and candidates else None)
    sensitive = _chosen("--sensitive", asked, columns, [], f"values to protect; {_listed(candidates)}")
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.resolve().name).strip("-_") or "series"
    found = proposed_series.proposal(name, options.table, columns, keys, id_, sensitive)
    snapshot = folder / found.snapshot
    for path in (series, snapshot):
        if path.exists():
            raise InvalidParameter(Problem("file", "not exist yet", str(path), "choose another folder"))
    snapshot.parent.mkdir(parents=True, exist_ok=True)
    with new_private_file(snapshot) as file:
        file.write(options.table.read_bytes())
    series.write_text(found.yaml, encoding="utf-8")
    for remark in found.remarks:
        warn(remark)
    say(f"wrote {series}: {id_} identifies a person, {sensitive} is protected", quiet=options.quiet)
    say(f"copied the table to {snapshot}, which only you can read", quiet=options.quiet)
    say(f"look at the file, then: reanon rehearse {series}", quiet=options.quiet)
    return 0


def _chosen(option: str, given: str | None, columns: dict[str, list[str | None]], likely: list[str], rule: str) -> str:
    """The column that was given, or the likely one.

    Raises: InvalidParameter.
    """
    if given is None and likely:
        return likely[0]
    if given is None:
        raise InvalidParameter(Problem(option, f"name the column that has {rule}"))
    if given not in columns:
        raise InvalidParameter(Problem(option, f"be a column of the table: {_listed(list(columns))}", given))
    return given


def _asked(candidates: list[str]) -> str | None:
    sys.stderr.write(f"Which column must not be linked to a person? {_listed(candidates)}: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() or None


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}" if names else "none has values that repeat"
