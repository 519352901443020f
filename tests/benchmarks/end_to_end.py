"""Run in the folder of a series: prints publish's CPU over pandas' own reading and writing. Imports are not counted."""

import shutil
import time
from datetime import date
from pathlib import Path

import duckdb  # noqa: F401
import pandas as pd

from reanon_core.precompile import FIRST, compile_part
from reanon_dagster.releasing.release import publish_release
from reanon_dagster.series.series_file import load_series

compile_part(FIRST)
ours, theirs = [], []
for _ in range(5):
    for folder in ("private", "published"):
        shutil.rmtree(folder, ignore_errors=True)
    series = load_series(Path("series.yaml"))
    began = time.process_time()
    publish_release(series, "r1", date(2030, 1, 1))
    ours.append(time.process_time() - began)
    release = pd.read_parquet("published/census/r1/table.parquet")
    began = time.process_time()
    pd.read_csv("snapshots/r1.csv")
    release.to_parquet("release.parquet")
    theirs.append(time.process_time() - began)
print(sorted(ours)[2] / sorted(theirs)[2])
