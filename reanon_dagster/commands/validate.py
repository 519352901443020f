"""`reanon validate`: every error in the series file and the next snapshot, and whether the release would be refused."""

import argparse
from collections.abc import Sequence
from datetime import date

from reanon_core.model.errors import (
    InvalidSchema,
    InvalidSnapshot,
    OutOfOrder,
    ReanonError,
    Refused,
    Unpublishable,
    counted,
)
from reanon_dagster.commands.output import progress, say, warn, warn_of_caution, warn_of_notes, warn_of_refusal
from reanon_dagster.commands.private_output import require_json_place, write_json_file
from reanon_dagster.lab.advice import LITTLE_LOST, MOSTLY_KEPT
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.gate import require_acceptable
from reanon_dagster.releasing.query_error import value_sentences
from reanon_dagster.releasing.release import make_candidate, require_no_gap
from reanon_dagster.releasing.release_order import due_day, next_release
from reanon_dagster.releasing.series_view import SeriesView, read_continuable_view
from reanon_dagster.releasing.snapshot_intake import expectation_errors, read_release
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import examine_series
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_place
from reanon_dagster.storage.series_store import read_summary


def run(options: argparse.Namespace) -> int:
    """Take the way of `reanon publish` up to the gate, and write nothing."""
    answer: dict[str, object] = {"valid": True, "release": None, "refused": None, "problems": []}
    code = _validated(options, answer)
    if options.json is not None:
        write_json_file(options.json, {**answer, "valid": code == 0})
    return code


def _validated(options: argparse.Namespace, answer: dict[str, object]) -> int:
    """Validate the file and the next snapshot, and write into `answer` what a program may want to know."""
    series, problems = examine_series(options.series)
    require_json_place(options.json, None if series is None else series.published_folder.parent)
    problems += expectation_errors(series)
    if problems or series is None:
        return _report_errors([InvalidSchema(problems), *_snapshot_errors(series)], answer)
    try:
        warn_of_caution(series)
        view = read_continuable_view(series, dry_run=True)
    except Refused as error:
        return _report_errors([error, *_snapshot_errors(series)], answer)
    release = next_release(series, view.records)
    if release is None:
        say(f"{series.name}: valid; every release is published", quiet=options.quiet)
    elif not snapshot_exists(series, release):
        require_no_gap(series, view, date.today())  # noqa: DTZ011  as for `publish`
        place = snapshot_place(series, release)
        say(f"{series.name}: valid; release {release} has no snapshot yet ({place})", quiet=options.quiet)
    else:
        try:
            return _validate_release(series, view, release, answer, quiet=options.quiet)
        except InvalidSnapshot as error:
            return _report_errors([error], answer)
    return 0


def _validate_release(series: Series, view: SeriesView, release: str, answer: dict[str, object], *, quiet: bool) -> int:
    answer["release"] = release
    today = date.today()  # noqa: DTZ011  a release is due by the steward's own calendar
    due = due_day(series, release, today)
    try:
        with progress(f"{series.name} {release}: validating", quiet=quiet) as step:
            candidate = make_candidate(series, view, release, due, dry_run=True, progress=step)
        if candidate is None:
            raise AssertionError("the next release is not the latest one")
        require_acceptable(candidate)
    except (Refused, Unpublishable, OutOfOrder) as error:
        answer["refused"] = error.redacted()
        return warn_of_refusal(series.name, release, error)
    answer |= {"people": candidate.people, **candidate.utility.document()}
    warn_of_notes(series.name, candidate)
    when = "" if due == today else f" once it is due, on {due}"
    say(f"{series.name}: valid: {_people(candidate)}; the release would be published{when}", quiet=quiet)
    say(f"{series.name}: {candidate.utility}", quiet=quiet)
    for sentence in value_sentences(candidate.utility.counts):
        say(f"{series.name}: {sentence}", quiet=quiet)
    worth = candidate.utility
    if not view.records and ((worth.relations or 1) < MOSTLY_KEPT or (worth.lost or 0) > LITTLE_LOST):
        say(f"{series.name}: `reanon advise` says which m costs little; the first release freezes it", quiet=quiet)
    say(
        f"{series.name}: this was one release; `reanon rehearse` tries every snapshot on the disk and what may follow",
        quiet=quiet,
    )
    return 0


def _people(candidate: Candidate) -> str:
    selected = int(candidate.entry.snapshot.in_table().selection.sum())
    some = f", {selected:,} of them selected" if selected < candidate.people else ""
    return f"{counted(candidate.people, 'person', 'people')} in the snapshot of {candidate.release}{some}"


def _snapshot_errors(series: Series | None) -> list[ReanonError]:
    """The errors of the next snapshot, which are reported together with those of the series file."""
    try:
        if series is not None:
            # Nothing is recovered: an invalid file may name the wrong folders.
            view = SeriesView(series.private_folder, read_summary(series.private_folder))
            release = next_release(series, view.records)
            if release is not None and snapshot_exists(series, release):
                read_release(series, view, release)
    except InvalidSnapshot as error:
        return [error]
    except ReanonError:  # the file's own errors are reported already
        return []
    return []


def _report_errors(errors: Sequence[ReanonError], answer: dict[str, object]) -> int:
    answer["problems"] = [line for error in errors for line in error.redacted().splitlines()]
    for sentence in "\n".join(str(error) for error in errors).splitlines():
        warn(sentence)
    return max(error.exit_code for error in errors)
