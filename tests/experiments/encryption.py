"""What encryption at rest costs: two releases of 100,000 people, a status and a backup, with and without a key.

`python tests/experiments/encryption.py` prints the table of docs/backup-and-keys.md. CPU seconds of whole commands, the
least of three runs.
"""

import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from builders.series import SERIES, lively, write_series

PEOPLE, RUNS = 100_000, 3
COMMAND = [sys.executable, "-m", "reanon_dagster.cli"]


def cpu_seconds(*arguments: str) -> float:
    """The CPU seconds of one command."""
    before = os.times()
    subprocess.run([*COMMAND, *arguments, "--quiet"], check=True, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measured(folder: Path, settings: str) -> dict[str, float]:
    """What each command costs, and how large the files are."""
    series = str(write_series(folder, text=SERIES + settings, snapshots=lively(2, PEOPLE)))
    for name, text in (("key", secrets.token_hex(32)), ("passphrase", secrets.token_hex(8))):
        (folder / name).touch(0o600)
        (folder / name).write_text(text)
    found = {name: cpu_seconds("publish", series, "--seed", "1") for name in ("first release", "second release")}
    found["status"] = cpu_seconds("status", series)
    backup = ("backup", series, "--out", str(folder / "b"), "--passphrase-file", str(folder / "passphrase"))
    found["backup"] = cpu_seconds(*backup)
    found["store, MB"] = (folder / "private" / "clinic" / "store.duckdb").stat().st_size / 1e6
    found["backup, MB"] = (folder / "b").stat().st_size / 1e6
    return found


def main() -> None:
    """Print the table."""
    columns: dict[str, dict[str, float]] = {}
    for name, settings in (("plain", ""), ("encrypted", "private: {key: {file: key}}\n")):
        runs = []
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(measured(Path(folder), settings))
        columns[name] = {what: min(run[what] for run in runs) for what in runs[0]}
    print(f"| | {' | '.join(columns)} |\n|---|---|---|")
    for what in columns["plain"]:
        print(f"| {what} | {' | '.join(f'{column[what]:.1f}' for column in columns.values())} |")


if __name__ == "__main__":
    main()
