"""How long the code location takes to import and to load with many series."""

import json
import os
import subprocess
import sys
from pathlib import Path

from builders.series import SERIES, write_series

from reanon_dagster.definitions import ROOT

SERIES_COUNT = 64
RELEASES = (
    "{cadence: monthly, first: 2015-01}",
    "{cadence: daily, first: 2020-01-01}",
    "{cadence: quarterly, first: 2000-Q1}",
    "{cron: '0 6 1,15 * *', first: 2015-01-01}",
    "{names: ['2016-01-31', '2024-03-05']}",
    f"{{names: [{', '.join(f'r{number}' for number in range(1, 41))}]}}",
)
TECHNIQUES = (
    "{name: m-invariance, m: 3}",
    "{name: cor-split, m: 4, n: 2}",
    "{name: bpg, k: 4}",
    "{name: js-reduce, k: 4, t: 0.5, j: 0.5}",
    "{name: mondrian, k: 3}",
)
TAXONOMY = "".join(f"v{a}{b}{c},g{a}{b},h{a},any\n" for a in range(8) for b in range(8) for c in range(8))
MEGABYTE = 1_000_000
LOADED = """
import json, sys, time
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import reanon_dagster.definitions
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster._serdes import serialize_value
imported, read = time.process_time(), [path for path in opened if path.endswith(("series.yaml", ".csv"))]
repository = reanon_dagster.definitions.defs().get_repository_def()
sent = len(serialize_value(RepositorySnap.from_def(repository)))
keys = sorted(key.to_user_string() for key in repository.asset_graph.get_all_asset_keys())
print(json.dumps([imported, read, time.process_time(), sent, keys, sorted(sys.modules)]))
"""


def write_many(folder: Path) -> None:
    """Series of every calendar and of many techniques, each with a taxonomy of 512 values."""
    for number in range(SERIES_COUNT):
        text = SERIES.replace("series: clinic", f"series: s{number}")
        text = text.replace("{names: [r1, r2, r3, r4, r5]}", RELEASES[number % len(RELEASES)])
        text = text.replace("{name: m-invariance, m: 3}", TECHNIQUES[number % len(TECHNIQUES)])
        text = text.replace("sensitive:", "  job: {kind: categorical, taxonomy: jobs.csv}\nsensitive:")
        path = write_series(folder / f"s{number}", text=text)
        (path.parent / "jobs.csv").write_text(TAXONOMY)


def test_importing_reads_no_series_file_and_64_series_load_in_less_than_10_seconds_of_cpu(tmp_path: Path) -> None:
    write_many(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=ROOT,
        env={**os.environ, "REANON_SERIES": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    imported, read, loaded, sent, keys, modules = json.loads(ended.stdout)
    assert read == []
    assert imported < 4
    assert loaded < 10
    assert {f"s{number}/release" for number in range(SERIES_COUNT)} <= set(keys)  # none of them is broken
    assert sent < 10 * MEGABYTE  # in one message, and gRPC's limit is 50
    assert not {"great_expectations", "pyspark", "matplotlib", "pandas", "pyarrow", "duckdb"} & set(modules)
