"""`reanon audit --releases`: the same attacks on releases that reanon did not make."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, InvalidSnapshot, Problem, collect_problems, counted, require
from reanon_core.model.finding import Findings
from reanon_core.protocols import Attack
from reanon_dagster.commands.adversary_options import given_compromised
from reanon_dagster.commands.audit import run_attacks, show_answers, write_json
from reanon_dagster.commands.json_file import require_json_place
from reanon_dagster.commands.output import progress, say, warn
from reanon_dagster.series.series_file import load_schema
from reanon_dagster.sources.external_releases import read_external_releases, read_people


def run(options: argparse.Namespace, attacks: Sequence[Attack]) -> int:
    """Attack the releases with the knowledge in the people file."""
    files: list[Path] = options.releases
    _require_options(options)
    require_json_place(options.json, None)
    id_column, schema, optional = load_schema(options.schema)
    problems: list[Problem] = []
    with progress("reading", quiet=options.quiet):
        history = collect_problems(problems, read_external_releases, files, schema, optional)
        knowledge = collect_problems(problems, read_people, options.people, schema, id_column, release_names(files))
    require(problems, InvalidSnapshot)
    if history is None or knowledge is None:
        raise AssertionError("files without problems give a history and knowledge")
    if options.compromised is not None:
        knowledge = replace(knowledge, compromised=given_compromised(options.compromised, history.schema, id_column))
    for file, published in zip(files, history.releases, strict=True):
        rows, columns = counted(published.release.size, "row", "rows"), published.release.columns
        without = [name for name in history.schema.columns if columns is not None and name not in columns]
        lacking = f", without {', '.join(without)}" if without else ""
        say(
            f"{file}: {rows} in {counted(published.release.boxes.count, 'group', 'groups')}{lacking}",
            quiet=options.quiet,
        )
    with progress("attacking", quiet=options.quiet) as step:
        findings = run_attacks(attacks, history, knowledge, named=options.attack is not None, step=step)
    show_answers("releases made elsewhere", [], findings, quiet=options.quiet)
    _warn_of_unmatched_people(findings)
    write_json(options.json, [], findings)
    return 0


def release_names(files: Sequence[Path]) -> list[str]:
    """The names of the releases in the people file: file names without ending, or folders if the names are equal."""
    stems = [file.stem for file in files]
    if len(set(stems)) == len(files):
        return stems
    folders = [file.resolve().parent.name for file in files]
    return folders if len(set(folders)) == len(files) else [str(file) for file in files]


def _require_options(options: argparse.Namespace) -> None:
    problems = []
    if options.schema is None:
        problems.append(Problem("--schema", "name the columns of the releases, as in a series file"))
    if options.people is None:
        problems.append(
            Problem(
                "--people",
                "name the people to attack: a file with their quasi-identifiers, an id, and a column `release`",
                help="`release` holds the file name (without its ending) or the number of a release they are in",
            )
        )
    require(problems, InvalidParameter)


def _warn_of_unmatched_people(findings: Sequence[Findings]) -> None:
    """Warn of people who fit no group: files in different units would make no one seem exposed."""
    unmatched = max((int(found.extra.get("without candidates", 0)) for found in findings), default=0)
    if unmatched:
        warn(
            f"{counted(unmatched, 'person has', 'people have')} no possible value in all of their releases, so nothing "
            f"is inferred about them; were they left out, or do the two files write their values differently?"
        )
