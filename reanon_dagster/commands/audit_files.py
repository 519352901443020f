"""`reanon audit --releases`: the same attacks on releases that reanon did not make."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, InvalidSnapshot, Problem, collect_problems, counted, require
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.schema import Sensitive
from reanon_core.protocols import Attack
from reanon_dagster.commands.adversary_options import given_compromised
from reanon_dagster.commands.audit import run_attacks, show_answers, warn_of_left_out, write_json
from reanon_dagster.commands.output import progress, say, warn
from reanon_dagster.commands.private_output import (
    require_html_place,
    require_json_place,
    require_private_place,
    require_table_format,
    write_html_file,
    write_private_table,
)
from reanon_dagster.report.external_audit import exposed_by_any, external_audit_page
from reanon_dagster.series.series_file import load_schema
from reanon_dagster.sources.external_releases import read_external_releases
from reanon_dagster.sources.people_file import ids_of_people, read_people


def run(options: argparse.Namespace, attacks: Sequence[Attack]) -> int:
    """Attack the releases with the knowledge in the people file."""
    files: list[Path] = options.releases
    _require_options(options)
    require_json_place(options.json, None)
    require_html_place(options.html, None)
    columns, names = load_schema(options.schema), release_names(files)
    problems: list[Problem] = []
    with progress("reading", quiet=options.quiet):
        history = collect_problems(
            problems, read_external_releases, files, columns.schema, columns.optional, columns.decimal
        )
        knowledge = collect_problems(
            problems, read_people, options.people, columns.schema, columns.id, names, columns.decimal
        )
    require(problems, InvalidSnapshot)
    if history is None or knowledge is None:
        raise AssertionError("files without problems give a history and knowledge")
    if options.compromised is not None:
        knowledge = replace(knowledge, compromised=given_compromised(options.compromised, history.schema, columns.id))
    _show_releases(files, history, quiet=options.quiet)
    with progress("attacking", quiet=options.quiet) as step:
        findings, left_out = run_attacks(
            attacks, lambda attack: attack.run(history, knowledge), named=options.attack is not None, step=step
        )
    warn_of_left_out(left_out)
    show_answers("releases made elsewhere", [], findings, left_out, quiet=options.quiet)
    unmatched = _unmatched_people(findings)
    if unmatched:
        warn(
            f"{counted(unmatched, 'person has', 'people have')} no possible value in all of their releases, so nothing "
            f"is inferred about them; were they left out, or do the two files write their values differently?"
        )
    write_json(options.json, [], findings, left_out)
    if options.html is not None:
        write_html_file(options.html, external_audit_page(names, history, knowledge, findings, left_out, unmatched))
        say(f"wrote {options.html} (private)", quiet=options.quiet)
    if options.findings is not None:
        ids = ids_of_people(options.people, columns.id)
        write_exposed_people(options.findings, findings, ids, history.schema.sensitive)
        people = counted(len(exposed_by_any(findings)), "person", "people")
        say(f"wrote who is exposed, {people}, to {options.findings} (private)", quiet=options.quiet)
    return 0


def _show_releases(files: Sequence[Path], history: History, *, quiet: bool) -> None:
    """Print what each file holds."""
    for file, published in zip(files, history.releases, strict=True):
        rows, columns = counted(published.release.size, "row", "rows"), published.release.columns
        without = [name for name in history.schema.columns if columns is not None and name not in columns]
        lacking = f", without {', '.join(without)}" if without else ""
        say(f"{file}: {rows} in {counted(published.release.boxes.count, 'group', 'groups')}{lacking}", quiet=quiet)


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
    if options.findings is not None:
        folders = [file.parent for file in options.releases]
        for examine in (
            lambda: require_table_format(options.findings, "--findings"),
            lambda: require_private_place(options.findings, folders, "the names of exposed people are", "--findings"),
        ):
            collect_problems(problems, examine)
    require(problems, InvalidParameter)


def _unmatched_people(findings: Sequence[Findings]) -> int:
    """How many people fit no group: files in different units would make no one seem exposed."""
    return max((int(found.extra.get("without candidates", 0)) for found in findings), default=0)


def write_exposed_people(path: Path, findings: Sequence[Findings], ids: Mapping[int, str], column: Sensitive) -> None:
    """Write a row for each person and attack that exposes them, in the order of the ids, to a new private file."""
    import pyarrow as pa

    rows = sorted(
        (ids[person], found.attack, column.values[value], confidence)
        for found in findings
        for person, value, confidence in zip(
            found.persons.tolist(), found.inferred.tolist(), found.confidence.tolist(), strict=True
        )
    )
    names, kinds = ("id", "attack", "inferred", "confidence"), (pa.string(), pa.string(), pa.string(), pa.float64())
    listed = [[row[at] for row in rows] for at in range(len(names))]
    columns = {name: pa.array(values, kind) for name, values, kind in zip(names, listed, kinds, strict=True)}
    write_private_table(pa.table(columns), path)
