"""Backfills run in order whatever the hash seed of the daemon is: the order of Dagster's sets decides nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from builders.daemon_iterations import CORRECTED
from builders.long_lists import sampled
from builders.series import SERIES, lively, write_series

from reanon_dagster.definitions import ROOT

pytestmark = pytest.mark.server

MONTHS = ["2024-01", "2024-02", "2024-03", "2024-04"]
NAMES = ["r1", "r2", "r10", "r11"]  # which do not sort as text
WRONG = 2
SEEDS = {str(seed): seed for seed in range(20)}


def drill(folder: Path, releases: str, names: list[str], seed: int) -> dict[str, Any]:
    """What the drill tells, in a process with this hash seed."""
    text = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", releases).replace("max_drift: 1", "max_drift: 2")
    frames = dict(zip(names, lively(len(names), 60).values(), strict=True))
    right = frames[names[WRONG]]
    path = write_series(
        folder / "clinic", text=text, snapshots={**frames, names[WRONG]: pd.concat([right, right.head(1)])}
    )
    right.to_csv(path.parent / CORRECTED, index=False)
    ended = subprocess.run(
        [sys.executable, "-m", "builders.daemon_iterations", path, folder / "home", names[WRONG], *names],
        cwd=ROOT / "tests",
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONWARNINGS": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return dict(json.loads(ended.stdout.splitlines()[-1]))


@pytest.mark.parametrize("seed", sampled(SEEDS, ("5", "11")))
def test_releases_in_reverse_run_in_order_stop_at_a_fault_go_on_and_may_be_run_again(tmp_path: Path, seed: str) -> None:
    told = drill(tmp_path, "{cadence: monthly, first: 2024-01}", MONTHS, SEEDS[seed])
    *before, wrong, after = MONTHS
    assert told["first"] == {
        "ended": "COMPLETED_FAILED",
        "runs": [*([month, "SUCCESS"] for month in before), [wrong, "FAILURE"]],
        "colours": {**dict.fromkeys(before, "MATERIALIZED"), wrong: "FAILED"},
    }
    green = dict.fromkeys(MONTHS, "MATERIALIZED")
    assert told["second"] == {
        "ended": "COMPLETED_SUCCESS",
        "runs": [[wrong, "SUCCESS"], [after, "SUCCESS"]],
        "colours": green,
    }
    assert told["again"] == {
        "ended": "COMPLETED_SUCCESS",
        "runs": [[month, "SUCCESS"] for month in MONTHS],
        "colours": green,
    }


@pytest.mark.slow  # time windows like those of months
def test_ticks_of_a_cron_expression_run_in_order_too(tmp_path: Path) -> None:
    ticks = ["2024-01-15", "2024-02-01", "2024-02-15", "2024-03-01"]
    told = drill(tmp_path, "{cron: '0 6 1,15 * *', first: 2024-01-10}", ticks, 3)
    assert told["first"]["runs"] == [*([tick, "SUCCESS"] for tick in ticks[:2]), [ticks[2], "FAILURE"]]
    assert told["again"]["runs"] == [[tick, "SUCCESS"] for tick in ticks]
    assert told["again"]["colours"] == dict.fromkeys(ticks, "MATERIALIZED")


def test_names_run_in_the_order_of_the_list_and_none_after_a_fault_is_red(tmp_path: Path) -> None:
    told = drill(tmp_path, f"{{names: [{', '.join(NAMES)}]}}", NAMES, 1)
    keys = ["r1", "r2", "~003 r10", "~004 r11"]
    assert told["first"]["runs"] == [
        [keys[0], "SUCCESS"],
        [keys[1], "SUCCESS"],
        [keys[2], "FAILURE"],
        [keys[3], "SUCCESS"],
    ]
    assert told["first"]["colours"] == {**dict.fromkeys(keys[:2], "MATERIALIZED"), keys[2]: "FAILED"}  # r11 was skipped
    assert told["second"]["runs"] == [[key, "SUCCESS"] for key in keys[2:]]
    assert told["again"]["ended"] == "COMPLETED_SUCCESS"
    assert told["again"]["colours"] == dict.fromkeys(keys, "MATERIALIZED")
