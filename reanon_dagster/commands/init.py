"""`reanon init`: a commented series.yaml and a tiny example to start from."""

import argparse

from reanon_dagster.commands.output import say
from reanon_dagster.series.template import write_example


def run(options: argparse.Namespace) -> int:
    """Write the example; existing files are never overwritten."""
    write_example(options.folder)
    series = options.folder / "series.yaml"
    say(f"wrote {series} and an example beside it; next: reanon rehearse {series}", quiet=options.quiet)
    return 0
