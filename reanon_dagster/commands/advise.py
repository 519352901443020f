"""`reanon advise`: which techniques apply to the snapshots on the disk, what they cost, and which one to take."""

import argparse
import secrets
from collections.abc import Sequence
from datetime import date

from reanon_core.metrics.value_counts import FREQUENT
from reanon_core.model.errors import counted
from reanon_core.protocols import AdversaryKind
from reanon_dagster.commands.output import progress, say, table, warn
from reanon_dagster.commands.private_output import require_json_place, write_json_file
from reanon_dagster.lab.advice import (
    FROZEN,
    LITTLE_LOST,
    MOSTLY_KEPT,
    Recommendation,
    assumed_adversary,
    numbers_compared,
    recommendation,
    summary,
)
from reanon_dagster.lab.advice_grid import Cell, Measured, asked, cells, measured_cells, whole_cell
from reanon_dagster.lab.applicability import ADVERSARIES, Applicability, TableFacts, applicability, table_facts
from reanon_dagster.lab.snapshots_on_disk import gap_remarks, snapshots_on_disk
from reanon_dagster.releasing.judged_candidate import Progress
from reanon_dagster.releasing.query_error import MEANING, RELATIONS_MEANING, loss, percentage, whole_percent
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_location import missing
from reanon_dagster.storage.series_store import read_summary

GRID = (
    *("technique", "form", "releases", "counter-\nfeits", "with-\nheld", "off\nby", "kept", "lost"),
    *("ex-\nposed", "ends"),
)
"""Short, so that the table fits into a terminal of 80 columns."""
LEGEND = (
    "means over the releases on the disk that were tried in the time (--seconds); exposed: people for whom all of them "
    "together leave a single value; lost: the greatest share of the people with one value that any release loses; "
    "ends: the first release that is refused, has more counterfeits than people, or withholds a fifth of them"
)


LITTLE = (
    f"costs little: the largest number with which every release goes out, no value of {FREQUENT} people or more loses "
    f"over {LITTLE_LOST:.0%} of them in any release, and readers see {MOSTLY_KEPT:.0%} of the relations or more"
)


def run(options: argparse.Namespace) -> int:
    """Print what the snapshots do, which techniques apply, the grid and a recommendation; 1 if there is none."""
    series = load_series(options.series)
    require_json_place(options.json, series.published_folder.parent)
    found = snapshots_on_disk(series, date.today())  # noqa: DTZ011  a release is due by the steward's own calendar
    if not found.releases:
        raise missing(series, series.calendar.first)
    adversary: AdversaryKind = options.adversary or assumed_adversary(series)
    seed = secrets.randbits(64) if options.seed is None else options.seed
    with progress(f"{series.name}: advising", quiet=options.quiet) as step:
        facts = table_facts(series, found.releases, found.read(tell=step))
        techniques = applicability(series, facts, adversary)
        grid = cells(series, facts, techniques)
        measured = list(
            measured_cells(
                series, found.releases, grid, seed=seed, seconds=options.seconds, ahead=options.ahead, progress=step
            )
        )
        best = recommendation(series, facts, measured)
        while best is not None and not best.measured.complete:
            step(f"the recommended one on every snapshot: {best.measured.cell.text}")
            place = measured.index(best.measured)
            measured[place] = whole_cell(
                series, found.releases, best.measured, seed=seed, ahead=options.ahead, progress=step
            )
            best = recommendation(series, facts, measured)
        compared = _compared(series, found.releases, best, measured, seed, step)
    for remark in gap_remarks(found, "the advice"):
        warn(f"{series.name}: {remark}")
    if read_summary(series.private_folder).records:
        warn(f"{series.name}: its first release froze technique and columns, so this advice is for a new series")
    _show_facts(series, found.releases, facts, adversary, quiet=options.quiet)
    _show_techniques(techniques, facts, quiet=options.quiet)
    _show_grid(measured, quiet=options.quiet)
    if facts.changed_values:
        say(
            "where sensitive values change, the attack behind `exposed` may conclude what is not true",
            quiet=options.quiet,
        )
    _show_numbers(compared, quiet=options.quiet)
    _show_recommendation(series, best, quiet=options.quiet)
    if options.json is not None:
        answer = _document(series, found.releases, facts, adversary, techniques, measured, best, compared)
        write_json_file(options.json, answer)
    return 0 if best is not None else 1


def _compared(
    series: Series,
    names: Sequence[str],
    best: Recommendation | None,
    measured: Sequence[Measured],
    seed: int,
    step: Progress,
) -> tuple[Measured, Measured | None] | None:
    """The number of values that the file asks for beside the largest one that costs little; None without either."""
    own = asked(series)
    if best is None or own is None:
        return None

    def whole(cell: Cell) -> Measured:
        measured = Measured(cell, (), len(names), 0)
        return whole_cell(series, names, measured, seed=seed, ahead=0, progress=step)

    step("how many values cost little")
    return numbers_compared(own, best.measured, measured, whole)


def _show_numbers(compared: tuple[Measured, Measured | None] | None, *, quiet: bool) -> None:
    """The answer to "which m?"."""
    if compared is None:
        return
    own, little = compared
    if little is None:
        say("no number of values costs little; look at what they cost above", quiet=quiet)
    listed = [("asked for", own), *([] if little is None or little is own else [("costs little", little)])]
    listed = [("asked for, costs little", own)] if little is own else listed
    rows = [(what, str(one.cell.among), *_grid_row(one)[3:]) for what, one in listed]
    title = f"How many values? {own.cell.technique}, in the form that is recommended"
    table(("", "values", *GRID[3:]), rows, quiet=quiet, title=title, optional=("ends",))
    say(LITTLE, quiet=quiet)


def _show_facts(
    series: Series, names: Sequence[str], facts: TableFacts, adversary: AdversaryKind, *, quiet: bool
) -> None:
    span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    size = f"{min(facts.people):,} to {max(facts.people):,} people"
    rows = [
        ("Do people leave, return, join?", _churn(facts)),
        ("Do sensitive values change?", _changed(facts.changed_values, facts.stayed)),
        ("Do quasi-identifiers change?", _changed(facts.changed_qi, facts.stayed)),
        ("Do releases show different columns?", "yes" if facts.columns_vary else "no"),
        ("Do releases select people?", "yes" if facts.selects else "no"),
        ("Who is the adversary?", f"{ADVERSARIES[adversary]} ({adversary}; --adversary chooses another)"),
    ]
    title = f"{series.title}: {counted(len(names), 'snapshot', 'snapshots')} on the disk, {span}, {size}"
    table(("question", "answer"), rows, quiet=quiet, title=title)


def _churn(facts: TableFacts) -> str:
    if len(facts.people) < 2:
        return "one snapshot does not show it"
    left, returned, joined = (percentage(share) for share in (facts.left, facts.returned, facts.joined))
    return f"from one snapshot to the next {left} leave, {joined} are new, {returned} of those away return"


def _changed(people: int, stayed: int) -> str:
    if not stayed:
        return "no one is in two snapshots"
    return f"for {people:,} of {stayed:,} people in two snapshots or more" if people else "no"


def _show_techniques(techniques: Sequence[Applicability], facts: TableFacts, *, quiet: bool) -> None:
    rows = []
    for one in techniques:
        added = ", ".join(f"{key}: {value}" for key, value in one.additions.items())
        why = "; ".join(one.reasons) or f"{one.fit.promise if one.fit else ''}{f' (with {added})' if added else ''}"
        rows.append((one.technique, "yes" if one.applies else "no", why))
    table(("technique", "applies", "why"), rows, quiet=quiet, title="Which techniques apply")
    tightest = facts.tightest
    if tightest is not None:
        say(
            f"the largest m that is eligible in every release is {facts.largest_m}: in {tightest.release} the value "
            f"{tightest.value!r} has {tightest.most:,} of {tightest.new:,} new people, and one in m may have it",
            quiet=quiet,
        )
    say(f"the release with the fewest sensitive values has {facts.fewest_values}", quiet=quiet)


def _show_grid(measured: Sequence[Measured], *, quiet: bool) -> None:
    rows = [_grid_row(one) for one in measured]
    table(GRID, rows, quiet=quiet, title="What they cost", optional=("ends",))
    say(LEGEND, quiet=quiet)
    say(f"off by: {MEANING}", quiet=quiet)
    say(f"kept: {RELATIONS_MEANING}", quiet=quiet)


def _grid_row(one: Measured) -> tuple[str, ...]:
    end = one.horizon
    return (
        one.cell.text,
        "boxes" if one.cell.k is None else f"decoupled, k = {one.cell.k}",
        f"{len(one.published)} of {one.on_disk}",
        f"{one.counterfeits:,.0f}",
        f"{one.withheld:,.0f}",
        "" if one.query_error is None else percentage(one.query_error),
        whole_percent(one.relations),
        loss(one.lost),
        f"{one.exposed:,}",
        "" if end is None else f"{end.release}{' (projected)' if end.projected else ''}: {end.why.split('; ')[0]}",
    )


def _show_recommendation(series: Series, best: Recommendation | None, *, quiet: bool) -> None:
    if best is None:
        warn(
            f"{series.name}: nothing that was tried publishes every snapshot on the disk; look at `ends` above: "
            f"group rare sensitive values, publish less often, or leave columns out"
        )
        return
    reasons = "".join(f"\n  - {reason}" for reason in best.reasons)
    say(f"\nRecommended: {best.measured.cell.text}{reasons}", quiet=quiet)
    if best.alternative is not None:
        say(f"If that error is too large, a weaker promise: {summary(best.alternative)}", quiet=quiet)
    say(f"\nPaste into the series file, in place of the same keys:\n\n{best.yaml}\n", quiet=quiet)
    say(f"{FROZEN}. Run `reanon rehearse` with it before the first release", quiet=quiet)


def _document(
    series: Series,
    names: Sequence[str],
    facts: TableFacts,
    adversary: AdversaryKind,
    techniques: Sequence[Applicability],
    measured: Sequence[Measured],
    best: Recommendation | None,
    compared: tuple[Measured, Measured | None] | None,
) -> dict[str, object]:
    """The advice for a program: aggregates only, no person and no value of the data."""
    return {
        "series": series.name,
        "adversary": adversary,
        "releases": list(names),
        "facts": {
            "people": list(facts.people),
            "left": facts.left,
            "returned": facts.returned,
            "joined": facts.joined,
            "stayed": facts.stayed,
            "changed_values": facts.changed_values,
            "changed_quasi_identifiers": facts.changed_qi,
            "columns_vary": facts.columns_vary,
            "selects": facts.selects,
            "largest_m": facts.largest_m,
            "fewest_values": facts.fewest_values,
            "eligibility": [
                {"release": one.release, "new": one.new, "most_frequent": one.most, "largest_m": one.largest}
                for one in facts.eligibility
            ],
        },
        "techniques": [
            {"technique": one.technique, "applies": one.applies, "reasons": list(one.reasons), "largest": one.largest}
            for one in techniques
        ],
        "grid": [_cell_document(one) for one in measured],
        "recommendation": None
        if best is None
        else {
            "technique": best.measured.cell.technique,
            "parameters": dict(best.measured.cell.parameters),
            "form": "boxes" if best.measured.cell.k is None else "decoupled",
            "k": best.measured.cell.k,
            "reasons": list(best.reasons),
            "yaml": best.yaml,
        },
        "numbers": None
        if compared is None
        else {"asked_for": compared[0].cell.among, "costs_little": compared[1] and compared[1].cell.among},
        "frozen": FROZEN,
    }


def _cell_document(one: Measured) -> dict[str, object]:
    end = one.horizon
    return {
        "technique": one.cell.technique,
        "parameters": dict(one.cell.parameters),
        "form": "boxes" if one.cell.k is None else "decoupled",
        "k": one.cell.k,
        "releases": len(one.published),
        "of": one.on_disk,
        "counterfeits": one.counterfeits,
        "withheld": one.withheld,
        "query_error": one.query_error,
        "relations": one.relations,
        "lost": one.lost,
        "exposed": one.exposed,
        "seconds": sum(release.seconds for release in one.releases),
        "ends": None if end is None else {"release": end.release, "projected": end.projected, "why": end.redacted},
    }
