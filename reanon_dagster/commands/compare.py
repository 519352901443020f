"""`reanon compare`: every technique and the naive baselines against every adversary, on the same snapshots."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from reanon_core.catalog import ATTACKS
from reanon_core.metrics.relations import RelationsKept
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_dagster.commands.output import say, several_steps, table, warn
from reanon_dagster.commands.private_output import (
    require_html_place,
    require_json_place,
    write_html_file,
    write_json_file,
)
from reanon_dagster.lab.baseline import BASELINES
from reanon_dagster.lab.compared_techniques import ComparedTechnique, compared_techniques
from reanon_dagster.lab.comparison import DEFAULT_MEASURES, MEASURES, PATIENCE, Asked, Outcome, declared_adversary
from reanon_dagster.lab.comparison_document import answer_summary, comparison_document, pareto_front
from reanon_dagster.lab.comparison_run import run_comparison
from reanon_dagster.lab.snapshots_on_disk import gap_remarks, snapshots_on_disk
from reanon_dagster.releasing.query_error import percentage, whole_percent
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_location import missing

SHARES = ("query-error", "withheld", "gcp", "lm")
"""The metrics that are shares."""
RELATIONS = RelationsKept.name


def run(options: argparse.Namespace) -> int:
    """Compare in memory, print the tables, write what is asked for."""
    attacks = _named("--attack", options.attack, tuple(ATTACKS), tuple(ATTACKS))
    metrics = _named("--metric", options.metric, MEASURES, DEFAULT_MEASURES)
    series = load_series(options.series)
    compared = compared_techniques(series, _listed(options.technique))
    require_json_place(options.json, series.published_folder.parent)
    require_html_place(options.html, series.published_folder.parent)
    disk = snapshots_on_disk(series, date.today())  # noqa: DTZ011  a release is due by the steward's own calendar
    if not disk.releases:
        raise missing(series, series.calendar.first)
    for remark in gap_remarks(disk, "the comparison"):
        warn(f"{series.name}: {remark}")
    adversary = declared_adversary(series, patience=None if options.attack else PATIENCE)
    with several_steps(series.name, [one.label for one in compared], quiet=options.quiet) as watch:
        found, asked = run_comparison(disk, compared, adversary, Asked(attacks, metrics), watch)
    document = comparison_document(found, asked)
    _show(series, disk.releases, compared, found, asked, quiet=options.quiet)
    _show_answers(compared, document["questions"], quiet=options.quiet)
    _show_ways(compared, found, attacks, quiet=options.quiet)
    if options.json is not None:
        write_json_file(options.json, document)
    if options.html is not None:
        from reanon_dagster.report.pages.comparison_page import comparison_page, exposure_points

        rows = [(one.label, _way(one), found[one.label].refusal) for one in compared]
        front = pareto_front(exposure_points(document))
        page = comparison_page(series.title, disk.releases, rows, document, front)
        write_html_file(options.html, page)
        say(f"{series.name}: wrote {options.html} (private)", quiet=options.quiet)
    return 0


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _named(option: str, text: str | None, known: Sequence[str], default: Sequence[str]) -> list[str]:
    """The names that an option lists, or the default.

    Raises: InvalidParameter.
    """
    names = _listed(text)
    unknown = [name for name in names or () if name not in known]
    require([Problem(option, f"name some of {', '.join(known)}", name) for name in unknown], InvalidParameter)
    return list(default) if names is None else list(dict.fromkeys(names))


def _show(
    series: Series,
    releases: Sequence[str],
    compared: Sequence[ComparedTechnique],
    found: Mapping[str, Outcome],
    asked: Asked,
    *,
    quiet: bool,
) -> None:
    """Print the exposed people and the metrics as two tables."""
    attacks, metrics = asked.attacks, asked.metrics
    done = [one for one in compared if not found[one.label].refusal]
    period = releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
    ran = _ran(attacks, found)
    if done and ran:
        of = max(cell.of or 0 for one in done for cell in found[one.label].cells.values())
        rows = [(one.label, *(_exposed(found[one.label], name) or "–" for name in ran)) for one in done]
        title = f"{series.title}, {period}: people exposed, of {of:,}"
        table(("technique", *ran), rows, quiet=quiet, title=title)
    if done and metrics:
        rows = [(one.label, *_measured(found[one.label], metrics)) for one in done]
        table(("technique", *metrics, "CPU s"), rows, quiet=quiet, title="mean over the releases")


def _show_answers(
    compared: Sequence[ComparedTechnique], questions: Sequence[Mapping[str, Any]], *, quiet: bool
) -> None:
    """Print in short how well each technique answers the questions."""
    rows = []
    for one in compared:
        held, of, error = answer_summary(questions, one.label)
        if of:
            rows.append((one.label, f"{held} of {of}", "" if error is None else percentage(error)))
    if rows:
        title = f"{len(questions)} questions of an analyst; --html and --json have them and every answer"
        table(("technique", "truth in the 90% interval", "a typical answer is off by"), rows, quiet=quiet, title=title)


def _show_ways(
    compared: Sequence[ComparedTechnique], found: Mapping[str, Outcome], attacks: Sequence[str], *, quiet: bool
) -> None:
    """Print how each technique publishes, which ones do not, and which attacks cannot run."""
    for one in compared:
        if not found[one.label].refusal:
            mark = " (this series)" if one.own else ""
            say(f"{one.label}{mark}: {_way(one)}", quiet=quiet)
    for one in compared:
        if found[one.label].refusal:
            say(f"{one.label}: not published: {found[one.label].refusal}", quiet=quiet)
    ran = _ran(attacks, found)
    if set(attacks) - set(ran):
        left = ", ".join(name for name in attacks if name not in ran)
        say(f"attacks that cannot run on these releases: {left}; --json and --html say why", quiet=quiet)


def _ran(attacks: Sequence[str], found: Mapping[str, Outcome]) -> list[str]:
    """The attacks that have a number for some technique."""
    return [name for name in attacks if any(_exposed(one, name) for one in found.values() if not one.refusal)]


def _way(one: ComparedTechnique) -> str:
    """How a technique publishes, in one line."""
    told = [BASELINES[one.technique]] if one.is_baseline else []
    return "; ".join([*told, *([one.described()] if one.described() else [])])


def _exposed(outcome: Outcome, attack: str) -> str:
    cell = outcome.cells.get(attack)
    return "" if cell is None or cell.exposed is None else f"{cell.exposed:,}"


def _metric(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name == RELATIONS:
        return whole_percent(value)
    return percentage(value) if name in SHARES else f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def _measured(outcome: Outcome, metrics: Sequence[str]) -> list[str]:
    """The metrics as they are printed, and the CPU seconds."""
    return [*(_metric(name, outcome.metrics[name]) for name in metrics), f"{outcome.seconds:.2f}"]
