"""The measurements behind the m-invariance lines of `make bench`."""

import gc
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "data" / "census")]

from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.publishing import publish  # noqa: E402
from reanon_core.techniques.m_invariance.technique import MInvariance  # noqa: E402

DOMAINS = {"age": 79, "gender": 2, "education": 17, "birthplace": 57}
VALUES = 50
RELEASES = 6
"""Releases measured of each series; the first is left out, since the anchor's first has no old rows to divide."""
SCHEMA = Schema(
    quasi_identifiers=tuple(QuasiIdentifier(name=name, domain=(0, size - 1)) for name, size in DOMAINS.items()),
    sensitive=Sensitive(name="income", values=tuple(f"class {i}" for i in range(VALUES))),
)


@dataclass(frozen=True)
class Data:
    """A table of 600,000 people, and the anchor that is compiled to read it."""

    folder: Path
    table: np.ndarray  # [n, 5] codes: four quasi-identifiers and the sensitive value
    anchor: Path | None


def prepare(folder: Path, anchors: Path | None) -> Data:
    """The anchor's own table where it is present, else our census."""
    if anchors is None:
        import generate

        people = generate.population(600_000, 7)
        return Data(folder, np.column_stack([people[name] for name in (*DOMAINS, "income")]).astype(np.int32), None)
    anchor = folder / "minvariance"
    subprocess.run(["g++", "-O2", "-std=c++17", "-o", anchor, anchors / "minvariance.cpp"], check=True)
    subprocess.run([sys.executable, anchors / "gen_census.py", "--out", folder], check=True, stdout=subprocess.DEVNULL)
    table = np.fromfile(folder / "data.bin", np.int32)[8:].reshape(-1, 5)
    return Data(folder, table, anchor)


def against_anchor(data: Data, update: int, m: int, techniques: dict[str, MInvariance]) -> dict[str, float]:
    """Median CPU time of our releases 2.. over the anchor's, on the same series, for each of these techniques."""
    if data.anchor is None:
        return {}
    series = data.folder / f"series_{update}.bin"
    command = [data.anchor, data.folder / "data.bin", series, str(m), "--max", str(RELEASES)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    theirs = np.median([float(line.split()[12]) for line in printed.splitlines() if re.match(r"\d", line)][1:])
    rows = snapshots(data.table, np.fromfile(series, np.int32))
    return {name: float(np.median(publish_seconds(rows, one)[1:]) / theirs) for name, one in techniques.items()}


def snapshots(table: np.ndarray, series: np.ndarray) -> list[Snapshot]:
    """The first releases of a T-series in the anchor's file format."""
    initial, update = int(series[0]), int(series[1])
    here, at = series[3 : 3 + initial], 3 + initial
    listed = [snapshot(table, here)]
    for _ in range(RELEASES - 1):
        gone, come = series[at : at + update], series[at + update : at + 2 * update]
        here, at = np.concatenate([here[~np.isin(here, gone)], come]), at + 2 * update
        listed.append(snapshot(table, here))
    return listed


def snapshot(table: np.ndarray, rows: np.ndarray) -> Snapshot:
    order = np.sort(rows).astype(np.int64)
    return Snapshot(SCHEMA, order, np.ascontiguousarray(table[order, :4].T), np.ascontiguousarray(table[order, 4]))


def publish_seconds(rows: list[Snapshot], technique: MInvariance) -> list[float]:
    """CPU seconds of each release of a series, from coded snapshot to release arrays, after warm-up."""
    publish(technique, rows[0], technique.initial_state(), np.random.default_rng(0))
    state, rng, seconds = technique.initial_state(), np.random.default_rng(1), []
    for one in rows:
        began = time.process_time()
        publication = publish(technique, one, state, rng)
        seconds.append(time.process_time() - began)
        state = publication.state
    return seconds


def growth_and_memory(data: Data) -> tuple[float, float]:
    """Time of 2 million rows over 200,000 (first releases), and peak memory a row over the input at 2 million."""
    rng = np.random.default_rng(0)
    small = [snapshot(data.table, rng.choice(len(data.table), 200_000, replace=False)) for _ in range(3)]
    many = data.table[rng.integers(0, len(data.table), 2_000_000)]
    large = snapshot(many, np.arange(len(many)))
    technique = MInvariance(m=10)
    time_small = min(publish_seconds([one], technique)[0] for one in small for _ in range(3))
    time_large = min(publish_seconds([large], technique)[0] for _ in range(4))
    peak = peak_bytes(lambda: publish(technique, large, technique.initial_state(), np.random.default_rng(0)))
    return time_large / time_small, peak / large.size


def peak_bytes(action: Callable[[], object]) -> int:
    """How far resident memory rises above where it was, at its highest, while the action runs."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins again
    before = status("VmRSS")
    action()
    return status("VmHWM") - before


def status(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found.group(1)) * 1024


def end_to_end(data: Data) -> float:
    """`publish` with checks, gate and store over pandas reading the CSV and writing the release, CPU, one process."""
    folder = data.folder / "end-to-end"
    (folder / "snapshots").mkdir(parents=True)
    write_series(folder, data.table[:200_000])
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    code = (ROOT / "tests" / "benchmarks" / "end_to_end.py").read_text()
    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=folder, env=environment
    )
    return float(printed.stdout.split()[-1])


def write_series(folder: Path, table: np.ndarray) -> None:
    import pandas as pd

    label = {name: np.array([f"{name} {i}" for i in range(size)]) for name, size in DOMAINS.items()}
    frame = pd.DataFrame({"person": [f"P{i:07d}" for i in range(len(table))], "age": table[:, 0] + 17})
    for place, name in enumerate(("gender", "education", "birthplace"), start=1):
        frame[name] = label[name][table[:, place]]
    frame["income"] = [f"class {i}" for i in table[:, 4]]
    frame.to_csv(folder / "snapshots" / "r1.csv", index=False)
    columns = "\n".join(
        f"  {name}: {{kind: categorical, order: [{', '.join(label[name])}]}}"
        for name in ("gender", "education", "birthplace")
    )
    (folder / "series.yaml").write_text(
        "series: census\nsource: {path: 'snapshots/{release}.csv', id: person}\nreleases: {names: [r1]}\n"
        "quasi_identifiers:\n  age: {kind: numeric, domain: [17, 95]}\n" + columns + "\n"
        "sensitive: income\ntechnique: {name: m-invariance, m: 10}\n"
    )


def import_seconds() -> float:
    """CPU of everything that `reanon publish` imports, over a bare interpreter."""
    statement = (
        "import reanon_dagster.cli, reanon_dagster.commands.publish, reanon_core.catalog, "
        "duckdb, pyarrow, pyarrow.csv, pyarrow.parquet, rich.console"
    )
    return cpu([sys.executable, "-c", statement]) - cpu([sys.executable, "-c", "pass"])


def help_seconds() -> float:
    return cpu([sys.executable, "-m", "reanon_dagster.cli", "--help"])


def cpu(command: list[str]) -> float:
    """The least CPU of three runs of a command."""
    seconds = []
    for _ in range(3):
        before = os.times()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(seconds)
