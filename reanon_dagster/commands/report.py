"""`reanon report`: one HTML file about the releases of a series, internal or public."""

import argparse
from pathlib import Path

from reanon_core.model.errors import OutOfOrder
from reanon_dagster.commands.audit import chosen_attacks
from reanon_dagster.commands.output import progress, say, warn_of_flaws
from reanon_dagster.commands.private_output import require_html_place, write_html_file
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.report.pages.public_page import public_report
from reanon_dagster.report.stored_releases import public_release, stored_releases
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage.pseudonym_key import private_folder
from reanon_dagster.storage.series_store import read_summary

FOLDER = "report"
"""The folder of reports inside the private folder."""


def run(options: argparse.Namespace) -> int:
    """Write the report; the state of the series stays as it is."""
    series = load_series(options.series)
    require_html_place(options.out, series.published_folder.parent, "--out")
    warn_of_flaws(series)
    view = SeriesView(series.private_folder, read_summary(series.private_folder))
    with progress(f"{series.name}: report", quiet=options.quiet) as step:
        if options.public:
            text, release = _public(series, view, options.release)
        else:
            from reanon_dagster.report.internal_report import internal_report

            attacks = [attack.name for attack in chosen_attacks(options.attack)]
            stored = stored_releases(series, view.records, options.release, view.summary.refusals)
            text, release = internal_report(series, stored, attacks, step), stored.records[-1].release
    path = options.out or _own_place(series, release, public=options.public)
    write_html_file(path, text)
    kind = "public report" if options.public else "internal report, private"
    say(f"{series.name} {release}: wrote {path} ({kind})", quiet=options.quiet)
    return 0


def _public(series: Series, view: SeriesView, named: str | None) -> tuple[str, str]:
    found = public_release(series, view.records, named)
    release = str(found.manifest["release"])
    record = view.record(release)
    if record is not None and record.withdrawn is not None:
        raise OutOfOrder(f"release {release} was withdrawn, so there is no public report of it")
    text = public_report(
        title=series.title,
        description=series.config.description,
        schema=found.schema,
        published=found.published,
        manifest=found.manifest,
        earlier=found.earlier,
    )
    return text, release


def _own_place(series: Series, release: str, *, public: bool) -> Path:
    """The file in the private folder, where nothing is published by accident."""
    folder = private_folder(series.private_folder / FOLDER)
    return folder / f"{release}{'.public' if public else ''}.html"
