"""What the attacks for histories of any size cost on a large series whose ledger is mapped from columns on disk.

    python tests/benchmarks/attack_scale.py [--rows 1000000] [--releases 2] [--m 6] [--memory-limit 1GB] [--folder DIR]

The series is the synthetic census of `scale.py`. Each attack runs in a process of its own. It prints CPU and wall
seconds, and the peak of its memory above what it held when the columns were there, without the pages of files.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from datetime import date
from pathlib import Path

import scale

ATTACKS = ("intersection", "algorithm")


def publish(folder: Path) -> None:
    """Publish every release."""
    from reanon_dagster.releasing.release import publish_ready_releases
    from reanon_dagster.series.series_file import load_series

    list(publish_ready_releases(load_series(folder / "series.yaml"), date(2030, 1, 1), seed=1))


def attack(folder: Path, name: str) -> dict[str, float]:
    """The cost of one attack."""
    from reanon_core.catalog import build_attack
    from reanon_core.precompile import FIRST, OTHER_ATTACKS, compile_part
    from reanon_dagster.releasing import audited_ledger
    from reanon_dagster.series.series_file import load_series
    from reanon_dagster.storage import store_reader
    from reanon_dagster.storage.connection import opened

    compile_part(FIRST)
    compile_part(OTHER_ATTACKS)
    series = load_series(folder / "series.yaml")
    with opened(series.private_folder, read_only=True) as connection:
        records = store_reader.releases(connection)
    audited_ledger.AUDIT_ROW = 10**9  # columns on disk, also where memory would suffice
    found: dict[str, float] = {}
    end = threading.Event()
    with audited_ledger.audited_ledger(series, records) as audited:
        before = scale.own_memory()

        def watch() -> None:
            while not end.wait(0.02):
                found["memory"] = max(found.get("memory", 0.0), scale.own_memory() - before)

        watcher = threading.Thread(target=watch)
        watcher.start()
        with scale.measured(found, "cpu"):
            findings = audited.findings(build_attack(name), audited.knowledge)
        end.set()
        watcher.join()
    return found | {"people": float(findings.of), "exposed": float(findings.exposed)}


def main() -> int:
    """Publish the series, attack it, and print what that cost."""
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--releases", type=int, default=2)
    options.add_argument("--m", type=int, default=6)
    options.add_argument("--memory-limit", default="1GB")
    options.add_argument("--folder", type=Path)
    options.add_argument("--measure", choices=ATTACKS)
    chosen = options.parse_args()
    if chosen.measure:
        print(json.dumps(attack(chosen.folder, chosen.measure)))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="reanon-attack-scale-", dir=chosen.folder))
    try:
        limit = f"{{embedded: {{memory_limit: {chosen.memory_limit}}}}}"
        scale.SERIES = scale.SERIES.replace("m: 6", f"m: {chosen.m}")
        scale.write_series(folder, chosen.rows, chosen.releases, 0, limit)
        publish(folder)
        for name in ATTACKS:
            command = [sys.executable, __file__, "--measure", name, "--folder", str(folder)]
            printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            found = json.loads(printed.splitlines()[-1])
            print(
                f"{name}: {chosen.releases} x {chosen.rows:,} rows, {found['cpu']:.1f} CPU s, {found['wall']:.1f} s, "
                f"{found['memory'] / 1e6:.0f} MB, {found['exposed']:.0f} of {found['people']:,.0f} people exposed"
            )
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
