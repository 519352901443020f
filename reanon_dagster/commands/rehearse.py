"""`reanon rehearse`: every snapshot on the disk through the series' own technique, and nothing is written."""

import argparse
from collections.abc import Sequence
from datetime import date

import numpy as np

from reanon_core.catalog import ATTACKS
from reanon_core.model.errors import Refused, counted
from reanon_dagster.commands.output import progress, say, table, technique_line, warn, warn_of_caution
from reanon_dagster.commands.private_output import require_json_place, write_json_file
from reanon_dagster.lab.projection import no_projection
from reanon_dagster.lab.rehearsal import Rehearsal, RehearsedRelease, projected_releases, rehearsed_releases
from reanon_dagster.lab.snapshots_on_disk import SnapshotsOnDisk, gap_remarks, snapshots_on_disk
from reanon_dagster.releasing.audited_ledger import AuditedLedger
from reanon_dagster.releasing.evidence import attack_numbers, attacked_by, exposed_by
from reanon_dagster.releasing.judged_candidate import Progress, checks_of
from reanon_dagster.releasing.manifest import require_signing_key
from reanon_dagster.releasing.query_error import (
    MEANING,
    RELATIONS_MEANING,
    VALUES_MEANING,
    loss,
    percentage,
    value_sentences,
    whole_percent,
)
from reanon_dagster.releasing.series_view import require_unchanged
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_location import missing
from reanon_dagster.storage.series_store import read_summary

HEADINGS = (
    *("release", "result", "people", "with-\nheld", "counter-\nfeits", "dirty"),
    *("off\nby", "kept", "lost", "ex-\nposed", "sec"),
)
"""Short, so that the table fits into a terminal of 80 columns."""
LEGEND = (
    "withheld: people of the snapshot who are not published; counterfeits: invented rows; dirty: published people whom "
    "the release did not select; exposed: people for whom all releases up to this one leave a single value (attack "
    "intersection)"
)
ONE_DRAW = (
    "this is one random draw: withheld people, counterfeits and the error differ from run to run, and the real "
    "releases may have several times as many; rehearse more than once to see how much"
)
PROJECTED = (
    "projected releases have no snapshot: they repeat the churn between two of the latest snapshots with people drawn "
    "at random. They show what happens if things go on like this, and forecast nothing"
)


def run(options: argparse.Namespace) -> int:
    """Rehearse every release, print the table and each refusal; 1 if a release on the disk would be refused."""
    series = load_series(options.series)
    require_json_place(options.json, series.published_folder.parent)
    require_signing_key(series)
    warn_of_caution(series)
    found = snapshots_on_disk(series, date.today())  # noqa: DTZ011  a release is due by the steward's own calendar
    if not found.releases:
        raise missing(series, series.calendar.first)
    remarks = _remarks(series, found)
    rehearsal = Rehearsal(series, seed=options.seed)
    with progress(f"{series.name}: rehearsing", quiet=options.quiet) as step:
        releases = list(rehearsed_releases(rehearsal, found, progress=step))
        if options.ahead and releases[-1].published:
            tables = [entry.snapshot.in_table() for entry in rehearsal.entries]
            objection = no_projection(series, tables)
            if objection is None:
                rng = np.random.default_rng(options.seed)
                releases += projected_releases(rehearsal, found.releases[-1], options.ahead, rng, progress=step)
            remarks += [] if objection is None else [objection]
        attacks = _attacks(series, rehearsal, step)
    _show(series, releases, remarks, attacks, unrehearsed=found.releases[len(releases) :], quiet=options.quiet)
    if options.json is not None:
        write_json_file(options.json, _document(series, releases, remarks, attacks, found))
    codes = [one.exit_code for release in releases if not release.projected for one in release.obstacles]
    return max([0, *codes, *(1 for _ in found.missing)])


def _remarks(series: Series, found: SnapshotsOnDisk) -> list[str]:
    """What the reader must know about where the rehearsal begins, and which snapshots are not there."""
    known = read_summary(series.private_folder)
    remarks = []
    if known.records:
        remarks.append(
            f"{counted(len(known.records), 'release is', 'releases are')} published already; the rehearsal does not "
            f"continue them, it begins anew with the snapshot of {found.releases[0]} and leaves them alone"
        )
        try:
            require_unchanged(series, known.frozen.get("fingerprint"))
        except Refused as error:
            remarks.append(f"it rehearses the series file as it is now, which only a new series could use: {error}")
    return remarks + gap_remarks(found, "the rehearsal")


def _attacks(series: Series, rehearsal: Rehearsal, step: Progress) -> dict[str, float]:
    """What the attacks find in all rehearsed releases together that run on any size or that the technique declares."""
    return attack_numbers(AuditedLedger(series, rehearsal.ledger), step) if rehearsal.entries else {}


def _show(
    series: Series,
    releases: Sequence[RehearsedRelease],
    remarks: Sequence[str],
    attacks: dict[str, float],
    *,
    unrehearsed: Sequence[str],
    quiet: bool,
) -> None:
    technique = technique_line(series)
    rows = [_row(one) for one in releases]
    title = f"{series.title}: rehearsal of {technique}; nothing is written"
    table(HEADINGS, rows, quiet=quiet, title=title, optional=("dirty",))
    for remark in remarks:
        warn(f"{series.name}: {remark}")
    for release in releases:
        for obstacle in release.obstacles:
            where = " (projected)" if release.projected else ""
            warn(f"{series.name}: release {release.release}{where} would be refused: {obstacle.sentence}")
            if obstacle.way is not None:
                warn(f"{series.name}: the rehearsal of {release.release} goes on {obstacle.way}")
        for sentence in (*value_sentences(release.utility.counts), *release.notes):
            say(f"{series.name} {release.release}: {sentence}", quiet=quiet)
    if unrehearsed and releases and not releases[-1].published:
        rest = unrehearsed[0] if len(unrehearsed) == 1 else f"{unrehearsed[0]} to {unrehearsed[-1]}"
        warn(f"{series.name}: {releases[-1].release} blocks the releases after it, so {rest} cannot be rehearsed")
    for sentence in _attack_sentences(attacks):
        say(f"{series.name}: all rehearsed releases together: {sentence}", quiet=quiet)
    if any(it.exit_code == 1 for one in releases if not one.projected for it in one.obstacles):
        warn(f"{series.name}: `reanon advise` says which techniques and parameters get through these snapshots")
    say(LEGEND, quiet=quiet)
    if any(one.counterfeits or one.withheld for one in releases):
        say(ONE_DRAW, quiet=quiet)
    say(f"off by: {MEANING}", quiet=quiet)
    say(f"kept: {RELATIONS_MEANING}", quiet=quiet)
    say(f"lost: what the worst value loses of its people; {VALUES_MEANING}", quiet=quiet)
    if any(one.projected for one in releases):
        say(PROJECTED, quiet=quiet)
    if not any(one.refused for one in releases if not one.projected):
        held = ", ".join(check.name for check in checks_of(series))
        say(f"{series.name}: no snapshot on the disk is refused; every release passes {held}", quiet=quiet)


def _attack_sentences(attacks: dict[str, float]) -> list[str]:
    """What each attack found, and the further numbers of the last one."""
    left, sentences = dict(attacks), []
    for name in ATTACKS:
        exposed, attacked = left.pop(exposed_by(name), None), left.pop(attacked_by(name), None)
        if exposed is not None and attacked is not None:
            sentences.append(
                f"the attack {name} exposes {exposed:,.0f} of {counted(int(attacked), 'person', 'people')}"
            )
    return sentences + [f"{name}: {number:,.3g}" for name, number in left.items()]


def _row(one: RehearsedRelease) -> tuple[str, ...]:
    name = f"{one.release}\n(projected)" if one.projected else one.release
    result = "passes" if not one.refused else "refused, went on" if one.published else "refused"
    if not one.published:
        return (name, result, f"{one.people:,}", *("",) * (len(HEADINGS) - 3))
    error = "" if one.utility.error is None else percentage(one.utility.error)
    numbers = (sum(one.withheld.values()), one.counterfeits, one.dirty)
    exposed = "" if one.exposed is None else f"{one.exposed:,}"
    kept, lost = whole_percent(one.utility.relations), loss(one.utility.lost)
    measured = (error, kept, lost, exposed, f"{one.seconds:.2f}")
    return (name, result, f"{one.people:,}", *(f"{n:,}" for n in numbers), *measured)


def _document(
    series: Series,
    releases: Sequence[RehearsedRelease],
    remarks: Sequence[str],
    attacks: dict[str, float],
    found: SnapshotsOnDisk,
) -> dict[str, object]:
    """The rehearsal for a program of the steward: counts, also by value, and no person."""
    return {
        "series": series.name,
        "technique": series.config.technique.name,
        "parameters": {key: str(value) if callable(value) else value for key, value in series.parameters.items()},
        "form": series.form,
        "remarks": list(remarks),
        "missing_snapshots": list(found.missing),
        "releases": [
            {
                "release": one.release,
                "projected": one.projected,
                "refused": one.refused,
                "published": one.published,
                "obstacles": [
                    {"sentence": it.redacted, "people": it.people, "went_on": it.way} for it in one.obstacles
                ],
                "people": one.people,
                "rows": one.rows,
                "withheld": dict(one.withheld),
                "counterfeits": one.counterfeits,
                "dirty": one.dirty,
                **one.utility.document(),
                "exposed": one.exposed,
                "attacked": one.attacked,
                "seconds": one.seconds,
                "notes": list(one.notes),
            }
            for one in releases
        ],
        "attacks": attacks,
    }
