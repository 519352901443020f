"""`reanon publish`: the next due release, or a named one."""

import argparse
from datetime import date
from functools import partial

from reanon_core.model.errors import counted
from reanon_core.model.ledger import Entry
from reanon_dagster.commands.documented_release import documented_release
from reanon_dagster.commands.output import attend, caution, progress, say, warn
from reanon_dagster.releasing.release import Outcome, publish_release, sound
from reanon_dagster.releasing.release_order import expected, ready
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_location import snapshot_place

SEED_WARNING = "--seed is for tests: whoever knows the seed can replay shuffles and counterfeits"


def run(options: argparse.Namespace) -> int:
    """Publish one release through the gate."""
    series = load_series(options.series)
    caution(series)
    if options.seed is not None:
        warn(SEED_WARNING)
    today = date.today()  # noqa: DTZ011  a release is due by the steward's own calendar
    release = options.release
    if release is None:
        records = sound(series).records
        release = ready(series, records, today)
        if release is None:
            say(idle(series, expected(series, records), today), quiet=options.quiet)
            return 0
    notes: list[str] = []
    publish = partial(documented_release, tell=notes.append) if options.data_docs else publish_release
    try:
        with progress(f"{series.name} {release}", quiet=options.quiet) as step:
            outcome = publish(series, release, today, seed=options.seed, progress=step)
        say(told(series, outcome), quiet=options.quiet)
        attend(series.name, outcome.candidate)
    finally:  # the pages of a refused release are worth more than those of any other
        for note in notes:
            say(note, quiet=options.quiet)
    return 0


def idle(series: Series, release: str | None, today: date) -> str:
    """Why there is nothing to publish."""
    name = series.name
    if release is None:
        return f"{name}: nothing to do, every release is published"
    if not series.calendar.is_due(release, today):
        period = series.calendar.period(release)
        return f"{name}: nothing to do, the next release {release} is due on {period.end if period else 'its day'}"
    snapshot = snapshot_place(series, release)
    return f"{name}: nothing to do, release {release} waits for its snapshot {snapshot}"


def told(series: Series, outcome: Outcome) -> str:
    """What happened, in a line."""
    name = f"{series.name} {outcome.release}"
    candidate = outcome.candidate
    if candidate is None:
        return f"{name}: nothing to do, it is published and its snapshot is the same"
    entry = candidate.entry
    left, strangers = entry.remembered, entry.dirty - entry.remembered
    dirty = f"; {counted(left, 'row', 'rows')} of people who left the table" if left else ""
    dirty += f"; {counted(strangers, 'row', 'rows')} that nobody asked for" if strangers else ""
    held = "".join(f"; {count} withheld ({reason})" for reason, count in candidate.withheld.items())
    return (
        f"{name}: published {counted(entry.release.size, 'row', 'rows')}{_shape(entry)}{dirty}{held}; "
        f"{len(candidate.verdicts)} checks hold ({candidate.seconds:.2f} s)"
    )


def _shape(entry: Entry) -> str:
    """What there is to say of the rows: their groups, or their columns where rows have boxes of their own."""
    if entry.release.grouped:
        groups = counted(entry.release.boxes.count, "group", "groups")
        return f" in {groups}, {counted(entry.auxiliary.total, 'counterfeit', 'counterfeits')}"
    return f" of {', '.join(entry.release.columns or entry.snapshot.schema.columns)}"
