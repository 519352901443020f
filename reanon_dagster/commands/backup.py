"""`reanon backup`: the private folder of a series as one encrypted file."""

import argparse

from reanon_core.model.errors import InvalidParameter, Problem, counted
from reanon_dagster.backup.encrypted_file import Stretching
from reanon_dagster.backup.passphrase import find_passphrase
from reanon_dagster.backup.series_backup import BackupSummary, write_backup
from reanon_dagster.commands.output import progress, say, warn_of_flaws
from reanon_dagster.commands.private_output import require_private_place
from reanon_dagster.series.series_file import load_series

STRETCHING = Stretching()


def run(options: argparse.Namespace) -> int:
    """Write the backup to a new file that only its owner can read, and verify it."""
    series = load_series(options.series, lazily=True)
    require_private_place(options.out, [series.published_folder.parent], "a backup is")
    if options.out.resolve().is_relative_to(series.private_folder.resolve()):
        rule = "lie outside the private folder: a backup that is lost with it is none"
        raise InvalidParameter(Problem("--out", rule, str(options.out)))
    passphrase = find_passphrase(series.name, options.passphrase_file, new=True)
    warn_of_flaws(series)
    with progress(f"backing up {series.name}", quiet=options.quiet):
        summary = write_backup(series, options.out, passphrase, STRETCHING)
    say(f"{series.name}: {described(summary)}; the backup was read back and is sound", quiet=options.quiet)
    say(f"sha256 of the backup: {summary.digest}", quiet=options.quiet)
    return 0


def described(summary: BackupSummary) -> str:
    """What a backup holds, in a few words."""
    held = counted(len(summary.releases), "release", "releases")
    last = f", up to {summary.releases[-1]}" if summary.releases else ""
    return f"{held}{last}, {summary.size / 1e6:,.1f} MB"
