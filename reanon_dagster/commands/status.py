"""`reanon status`: which releases are published, ready, waiting or refused."""

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from reanon_core.model.errors import ReanonError
from reanon_dagster.commands.output import say, table, technique_line, warn
from reanon_dagster.commands.private_output import require_json_place, write_json_file
from reanon_dagster.releasing.halts import halt_sentence
from reanon_dagster.releasing.integrity import Integrity, integrity_of
from reanon_dagster.releasing.query_error import MEANINGS, Utility
from reanon_dagster.releasing.release_order import ReleaseStatus, Status, statuses
from reanon_dagster.releasing.series_view import SeriesView, read_view
from reanon_dagster.releasing.snapshot_intake import corrected_releases
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import find_series, load_series
from reanon_dagster.storage.series_store import read_value_counts


def run(options: argparse.Namespace) -> int:
    """Print one table for each series."""
    paths = [options.series] if options.series else find_series()
    if not paths:
        say(
            "no series found; name a series.yaml, or list the folders of your series in REANON_SERIES",
            quiet=options.quiet,
        )
        require_json_place(options.json, None)
    code, measured = 0, False
    named: dict[str, Path] = {}
    documents = []
    for path in paths:
        try:
            series = load_series(path)
            view = read_view(series)
        except ReanonError as error:
            if options.series:
                raise
            for sentence in str(error).splitlines():
                warn(f"{path}: {sentence}")
            code = error.exit_code
            continue
        other = named.setdefault(series.name, path)
        if other != path:
            warn(
                f"{path}: {other} is a series of the same name, {series.name}, and Dagster shows only one of them; "
                f"rename the one that has published nothing, or list one of the folders in REANON_SERIES"
            )
        require_json_place(options.json, series.published_folder.parent)
        today = date.today()  # noqa: DTZ011  a release is due by the steward's own calendar
        corrected, accepted = corrected_releases(series, view), view.summary.accepted
        listed = statuses(series, view.records, view.summary.refusals, today, accepted=accepted, corrected=corrected)
        halts, found = view.summary.halts, integrity_of(series, remember=True)
        held = "halted" if halts else "held back, see below" if view.pending or found.flaws else None
        rows = [(one.release, one.status.value, _remark(one, held)) for one in listed]
        say(f"{series.title}: {technique_line(series)} ({path})", quiet=options.quiet)
        table(("release", "status", ""), rows, quiet=options.quiet)
        measured |= any(record.query_error is not None for record in view.records)
        documents.append({**_document(path, series, view, listed, found), "corrected": corrected})
        if halts:
            warn(halt_sentence(series.name, halts))
        code = max(code, _flaws_shown(series, view, found))
    if measured:
        for meaning in MEANINGS:
            say(meaning, quiet=options.quiet)
    if options.json is not None:
        write_json_file(options.json, {"series": documents})
    return code


def _document(
    path: Path, series: Series, view: SeriesView, listed: Sequence[ReleaseStatus], found: Integrity
) -> dict[str, object]:
    """The status of a series for a program."""
    records = {record.release: record for record in view.records}
    counts = read_value_counts(series.private_folder)
    worth = {
        record.release: Utility(record.query_error, record.relations, counts.get(record.position))
        for record in view.records
    }
    return {
        "series": series.name,
        "path": str(path),
        "technique": series.config.technique.name,
        "parameters": series.parameters,
        "halted": [halt.release for halt in view.summary.halts],
        "flaws": [*view.pending, *found.flaws],
        "strays": list(found.strays),
        "releases": [
            {
                "release": one.release,
                "status": one.status.value,
                "reason": one.reason,
                "people": records[one.release].people if one.release in records else None,
                "withheld": records[one.release].withheld if one.release in records else None,
                **worth.get(one.release, Utility()).document(),
            }
            for one in listed
        ],
    }


def _flaws_shown(series: Series, view: SeriesView, found: Integrity) -> int:
    """Print what is wrong between the store, the head files and the published folder; 1 if anything must be mended."""
    for flaw in view.pending or [f"{series.name}: {flaw}" for flaw in found.flaws]:
        warn(flaw)
    for stray in found.strays:
        warn(f"{series.name}: {stray}")
    return 1 if view.pending or found.flaws else 0


def _remark(one: ReleaseStatus, held: str | None) -> str:
    """What is said of a release; `held` is what holds back one that is ready."""
    return held if held is not None and one.status is Status.READY else one.reason
