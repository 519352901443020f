"""`reanon restore`: a backup in the place of the private folder, unless it is older than what is published."""

import argparse

from reanon_dagster.backup.passphrase import find_passphrase
from reanon_dagster.backup.series_restore import interrupted_restores, restore_backup, verify_backup
from reanon_dagster.commands.backup import described
from reanon_dagster.commands.output import progress, say, warn
from reanon_dagster.series.series_file import load_series


def run(options: argparse.Namespace) -> int:
    """Verify the backup and, unless only that was asked for, put it in place."""
    series = load_series(options.series, lazily=True)
    passphrase = find_passphrase(series.name, options.passphrase_file, new=False)
    with progress(f"reading the backup of {series.name}", quiet=options.quiet):
        if options.verify:
            summary, replaced = verify_backup(series, options.source, passphrase), None
        else:
            restored = restore_backup(series, options.source, passphrase)
            summary, replaced = restored.summary, restored.replaced
    done = "the backup is sound and could be restored" if options.verify else "restored"
    say(f"{series.name}: {done} ({described(summary)})", quiet=options.quiet)
    if replaced is not None:
        warn(
            f"{series.name}: the former private folder is now {replaced.name}, beside the restored one; destroy it "
            f"when you no longer need it, because it is as private as your snapshots"
        )
    for left in interrupted_restores(series):
        warn(f"{series.name}: an interrupted restore left {left.name} beside the private folder; destroy it")
    return 0
