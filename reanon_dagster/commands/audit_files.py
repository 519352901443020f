"""`reanon audit --releases`: the same attacks on releases that reanon did not make."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.protocols import Attack
from reanon_dagster.commands.audit import attacked, tell, write_json
from reanon_dagster.commands.speaking import progress, say
from reanon_dagster.series.loading import load_schema
from reanon_dagster.sources.foreign import read_foreign, read_people


def run(options: argparse.Namespace, attacks: Sequence[Attack]) -> int:
    """Attack the releases with what the people file says an adversary knows."""
    files: list[Path] = options.releases
    if options.schema is None:
        raise InvalidParameter(Problem("--schema", "name the columns of the releases, as in a series file"))
    id_column, schema = load_schema(options.schema)
    history = read_foreign(files, schema)
    sizes = ", ".join(f"{one.release.size} rows in {one.release.boxes.count} groups" for one in history.releases)
    say(f"{len(files)} releases: {sizes}", quiet=options.quiet)
    if options.people is None:
        raise InvalidParameter(
            Problem(
                "--people",
                "say whom to attack: a file with the quasi-identifiers of people, an id, and a column `release`",
                help="release holds the file name (without its ending) or the number of each release they are in",
            )
        )
    names = [path.stem for path in files]
    if len(set(names)) < len(names):
        names = [path.parent.name for path in files]
    knowledge = read_people(options.people, history.schema, id_column, names)
    with progress("attacking", quiet=options.quiet) as step:
        findings = attacked(attacks, history, knowledge, named=options.attack is not None, step=step)
    tell("releases of others", [], findings, quiet=options.quiet)
    write_json(options.json, [], findings)
    return 0
