"""`reanon validate`: every error in the series file and its first snapshot, at once."""

import argparse

from reanon_core.model.errors import counted
from reanon_dagster.commands.output import attend, caution, say
from reanon_dagster.releasing.judgement import prepare
from reanon_dagster.releasing.release import sound
from reanon_dagster.releasing.release_order import expected
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_place
from reanon_dagster.sources.snapshot_reader import read_snapshot
from reanon_dagster.storage.pseudonym_key import check_value, pseudonym_key


def run(options: argparse.Namespace) -> int:
    """Load, read, and try: publish nothing and write nothing."""
    series = load_series(options.series)
    caution(series)
    view = sound(series)
    release = expected(series, view.records)
    name = series.name
    if release is None:
        say(f"{name}: the series file is sound; every release is published", quiet=options.quiet)
    elif snapshot_exists(series, release):
        key = pseudonym_key(series.private_folder, view.frozen.get("key"))
        read = read_snapshot(series, release, key, view.standing.values, view.standing.other_values)
        made = prepare(series, release, read, view.standing, key_check=check_value(key))  # would it be refused?
        people = counted(read.rows, "person", "people")
        selected = f", {read.selected:,} of them selected" if read.selected < read.rows else ""
        attend(name, made)
        say(f"{name}: sound, with {people} in the snapshot of {release}{selected}", quiet=options.quiet)
    else:
        snapshot = snapshot_place(series, release)
        say(f"{name}: the series file is sound; no snapshot of {release} yet ({snapshot})", quiet=options.quiet)
    return 0
