"""`reanon publish`: the next due release, or a named one."""

import argparse
from collections.abc import Iterable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.brakes import accepted_reason
from reanon_core.model.errors import ReanonError, Refused, Unpublishable, counted
from reanon_core.model.ledger import Entry
from reanon_dagster.commands.output import progress, say, warn, warn_of_caution, warn_of_notes, warn_of_refusal
from reanon_dagster.commands.private_output import require_json_place, write_json_file
from reanon_dagster.releasing.people_lists import withheld_file
from reanon_dagster.releasing.query_error import MEANINGS, value_sentences
from reanon_dagster.releasing.release import Outcome, publish_release, require_no_gap
from reanon_dagster.releasing.release_order import next_release, nothing_to_do, ready_release
from reanon_dagster.releasing.series_view import read_continuable_view
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series

if TYPE_CHECKING:
    from reanon_dagster.releasing.release_suites import DataDocs

LONGEST_REASON = 110
"""The longest reason that the line of a release spells out."""
SEED_WARNING = "--seed is for tests: anyone who knows the seed can replay shuffles and counterfeits"


def run(options: argparse.Namespace) -> int:
    """Publish one release through the gate."""
    series = load_series(options.series)
    require_json_place(options.json, series.published_folder.parent)
    warn_of_caution(series)
    if options.seed is not None:
        warn(SEED_WARNING)
    accept_drift = accepted_reason(options.accept_drift)
    today = date.today()  # noqa: DTZ011  a release is due by the steward's own calendar
    view = read_continuable_view(series, dry_run=options.dry_run)
    for stray in view.strays:
        warn(f"{series.name}: {stray}")
    release = ready_release(series, view.records, today) if options.release is None else options.release
    if release is None:
        require_no_gap(series, view, today)
        say(nothing_to_do(series, next_release(series, view.records), today), quiet=options.quiet)
        write_outcomes(options.json, series, [])
        return 0
    documents = _data_docs(series, release) if options.data_docs and not options.dry_run else None
    try:
        with progress(f"{series.name} {release}", quiet=options.quiet) as step:
            outcome = publish_release(
                series,
                release,
                today,
                view=view,
                dry_run=options.dry_run,
                accept_drift=accept_drift,
                seed=options.seed,
                progress=step,
                notice=partial(warn_of_notes, series.name),
                observer=documents,
            )
    except ReanonError as error:
        write_outcomes(options.json, series, [], refused=(release, error), dry_run=options.dry_run)
        if options.dry_run and isinstance(error, Refused | Unpublishable):
            return warn_of_refusal(series.name, release, error)
        raise
    finally:  # a refused release has pages too
        if documents is not None and documents.page is not None:
            say(f"{series.name}: Data Docs: {documents.page}", quiet=options.quiet)
    say(summary(series, outcome, dry_run=options.dry_run), quiet=options.quiet)
    for sentence in explained_reasons(() if outcome.candidate is None else outcome.candidate.withheld):
        say(sentence, quiet=options.quiet)
    if outcome.candidate is not None:
        for sentence in value_sentences(outcome.candidate.utility.counts):
            say(f"{series.name} {release}: {sentence}", quiet=options.quiet)
        for meaning in MEANINGS:
            say(meaning, quiet=options.quiet)
    write_outcomes(options.json, series, [release_document(outcome)], dry_run=options.dry_run)
    return 0


def _data_docs(series: Series, release: str) -> "DataDocs":
    from reanon_dagster.releasing.release_suites import DataDocs

    return DataDocs(series, release)


def summary(series: Series, outcome: Outcome, *, dry_run: bool = False) -> str:
    """What happened to a release, or would happen to it, in one line."""
    name = f"{series.name} {outcome.release}"
    candidate = outcome.candidate
    if candidate is None:
        return f"{name}: nothing to do, it is published and its snapshot has not changed"
    entry = candidate.entry
    left, unselected = entry.remembered, entry.dirty - entry.remembered
    dirty = f"; {counted(left, 'row', 'rows')} of people who left the table" if left else ""
    dirty += f"; {counted(unselected, 'row', 'rows')} of people who were not selected" if unselected else ""
    withheld = "".join(f"; {count:,} withheld ({label(reason)})" for reason, count in candidate.withheld.items())
    if withheld and not dry_run:
        withheld += f"; {withheld_file(outcome.release)} in the private folder says who"
    done = "would publish" if dry_run else "published"
    return (
        f"{name}: {done} {_rows(entry)}{_shape(entry)}{dirty}{withheld}; {candidate.utility}; "
        f"{len(candidate.verdicts)} checks hold ({candidate.seconds:.2f} s)"
    )


def label(reason: str) -> str:
    """A reason for which people are withheld, in a few words if it is a long one: a release has one line."""
    return reason if len(reason) <= LONGEST_REASON else reason.split(":", maxsplit=1)[0]


def explained_reasons(reasons: Iterable[str]) -> list[str]:
    """The reasons that the lines of releases shorten, each once and in full."""
    return [f"withheld: {reason}" for reason in dict.fromkeys(reasons) if label(reason) != reason]


def _rows(entry: Entry) -> str:
    """The rows of a release; of a decoupled one those of its people, and the values of its groups."""
    values, own = entry.release.size, entry.release.person_rows
    if own is None:
        return counted(values, "row", "rows")
    return f"{counted(len(own.box), 'row', 'rows')} and {counted(values, 'value', 'values')}"


def _shape(entry: Entry) -> str:
    """The groups of a release, or its columns if every row has its own box."""
    if entry.release.grouped:
        groups = counted(entry.release.boxes.count, "group", "groups")
        return f" in {groups}, {counted(entry.auxiliary.total, 'counterfeit', 'counterfeits')}"
    return f" of {', '.join(entry.release.columns or entry.snapshot.schema.columns)}"


def write_outcomes(
    path: Path | None,
    series: "Series",
    releases: Sequence[dict[str, object]],
    *,
    refused: "tuple[str | None, ReanonError] | None" = None,
    dry_run: bool = False,
) -> None:
    """Write what became of these releases, and of one that was refused: counts, also by value, and no person."""
    if path is None:
        return
    write_json_file(
        path,
        {
            "series": series.name,
            "dry_run": dry_run,
            "releases": list(releases),
            "refused": None if refused is None else {"release": refused[0], "sentence": refused[1].redacted()},
        },
    )


def release_document(outcome: "Outcome") -> dict[str, object]:
    """What became of one release."""
    candidate = outcome.candidate
    if candidate is None:
        return {"release": outcome.release, "changed": False}
    entry = candidate.entry
    return {
        "release": outcome.release,
        "changed": True,
        "people": candidate.people,
        "rows": entry.release.size if entry.release.person_rows is None else len(entry.release.person_rows.box),
        "counterfeits": entry.auxiliary.total,
        "withheld": dict(candidate.withheld),
        "dirty": entry.dirty,
        **candidate.utility.document(),
        "checks": {verdict.check: verdict.holds for verdict in candidate.verdicts},
        "notes": list(candidate.notes),
        "seconds": candidate.seconds,
    }
