"""A release is the same whichever way it is computed: in memory, in parts, with any threads, by Spark."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import dagster as dg
import numpy as np
import pandas as pd
import pytest
from builders.assets import Maker
from builders.long_lists import sampled
from builders.series import SERIES, begin, lively, people, write_series
from builders.spark import cluster_in, environment, needs_spark

from reanon_dagster.cli import main
from reanon_dagster.engines.scratch import LOCK
from reanon_dagster.releasing import judged_candidate
from reanon_dagster.releasing.memory_need import PartSizes

IN_PARTS = "engine: {embedded: {memory_limit: 110MB}}\n"
SPARK = 'engine: {spark: {master: "local[2]", memory_limit: 1GB}}\n'
QUIET = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
TECHNIQUES = {
    "blind": "{name: m-invariance, m: 3}",
    "median": "{name: m-invariance, m: 3, balancing: median}",
    "blocks": "{name: m-invariance, m: 5, not_eligible: blocks}",
    "regions": "{name: m-invariance, m: 2, balancing: median, not_eligible: partial-blocks, regions: sizes}",
    "mondrian": "{name: mondrian, k: 4, ell: 3}",
}


def published(folder: Path) -> dict[str, str]:
    """The digest of every published file."""
    files = [path for path in (folder / "published").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}


def series_in(folder: Path, technique: str, more: str = "", snapshots: dict[str, pd.DataFrame] | None = None) -> Path:
    text = SERIES.replace("{name: m-invariance, m: 3}", technique) + more
    path = write_series(folder, text=text, snapshots=lively() if snapshots is None else snapshots)
    begin(path)
    return path


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, str]]:
    """What a series with these snapshots publishes that is computed in memory; each is published once."""

    @cache
    def publish(technique: str, snapshots: Callable[[], dict[str, pd.DataFrame]] = lively) -> dict[str, str]:
        folder = tmp_path_factory.mktemp("whole")
        path = series_in(folder, TECHNIQUES[technique], snapshots=snapshots())
        assert main(["backfill", str(path), "--seed", "3", "--quiet"]) == 0
        return published(folder)

    return publish


def thousands() -> dict[str, pd.DataFrame]:
    """Two snapshots that do not fit into the memory of IN_PARTS."""
    return {"r1": people(9000), "r2": people(12_000).iloc[2000:]}


def thousands_once() -> dict[str, pd.DataFrame]:
    """The first of them."""
    return {"r1": people(9000)}


def scratch(folder: Path) -> list[str]:
    """What is left in the scratch folder of the series."""
    return [path.name for path in (folder / "private" / "clinic" / "scratch").rglob("*") if path.name != LOCK]


@pytest.mark.parametrize("technique", sampled(TECHNIQUES, ["blind", "regions", "mondrian"]))
@pytest.mark.parametrize("chunk_rows", [40, pytest.param(10_000, marks=pytest.mark.slow)])
def test_parts_publish_the_same_files(tmp_path: Path, in_memory, monkeypatch, technique: str, chunk_rows: int) -> None:
    whole = in_memory(technique)
    parts = series_in(tmp_path / "parts", TECHNIQUES[technique])
    monkeypatch.setattr("reanon_dagster.releasing.computation.part_sizes", lambda *_: PartSizes(chunk_rows, 10**6))
    assert main(["backfill", str(parts), "--seed", "3", "--quiet"]) == 0
    assert published(tmp_path / "parts") == whole != {}
    assert scratch(tmp_path / "parts") == []
    assert main(["verify", str(tmp_path / "parts" / "published" / "clinic"), "--quiet"]) == 0


def test_a_series_may_go_on_in_the_other_way(tmp_path: Path, in_memory, monkeypatch) -> None:
    whole = in_memory("median")
    mixed = series_in(tmp_path / "mixed", TECHNIQUES["median"])
    for number in range(1, 6):
        sizes = PartSizes(50, 10**6) if number % 2 else None
        monkeypatch.setattr("reanon_dagster.releasing.computation.part_sizes", lambda *_, sizes=sizes: sizes)
        seed = str(3 + number - 1)
        assert main(["publish", str(mixed), "--release", f"r{number}", "--seed", seed, "--quiet"]) == 0
    assert published(tmp_path / "mixed") == whole


@pytest.mark.parametrize("threads", sampled([1, 3], [3]))
def test_a_limit_and_threads_change_nothing_but_memory(tmp_path: Path, in_memory, threads: int) -> None:
    parts = series_in(tmp_path / "parts", TECHNIQUES["blind"], IN_PARTS + f"threads: {threads}\n", thousands())
    assert main(["backfill", str(parts), "--seed", "3", "--quiet"]) == 0
    assert published(tmp_path / "parts") == in_memory("blind", thousands)


def test_a_refusal_leaves_nothing_in_scratch(tmp_path: Path, capsys, monkeypatch) -> None:
    changed = lively(2)
    changed["r2"]["disease"] = "measles"
    path = series_in(tmp_path, TECHNIQUES["blind"], snapshots=changed)
    monkeypatch.setattr("reanon_dagster.releasing.computation.part_sizes", lambda *_: PartSizes(40, 10**6))
    assert main(["backfill", str(path), "--quiet"]) == 1
    assert "people have another value of disease" in capsys.readouterr().err
    assert scratch(tmp_path) == []


@pytest.mark.parametrize("point", sampled(["reading", "planning", "checking"], ["planning"]))
def test_a_killed_process_publishes_nothing_and_leaves_nothing_readable(tmp_path: Path, in_memory, point: str) -> None:
    path = series_in(tmp_path / "killed", TECHNIQUES["blind"], IN_PARTS, thousands_once())
    found = subprocess.run([sys.executable, "-c", KILLED, str(path), point], check=False, env=environment())
    assert found.returncode == -signal.SIGKILL
    left = list((tmp_path / "killed" / "private").rglob("*"))
    assert any("run-" in str(file) for file in left)
    for file in left:
        assert not stat.S_IMODE(file.stat().st_mode) & 0o077, file
    assert published(tmp_path / "killed") == {}
    assert main(["publish", str(path), "--seed", "3", "--quiet"]) == 0
    assert scratch(tmp_path / "killed") == []
    assert published(tmp_path / "killed") == in_memory("blind", thousands_once)


@pytest.mark.parametrize("command", [["publish"], ["forget", "--id", "Zacharias-000001"], ["doctor"]])
def test_what_a_killed_process_left_is_removed_by_the_next_command(tmp_path: Path, command: list[str]) -> None:
    path = series_in(tmp_path, TECHNIQUES["blind"])
    assert main(["publish", str(path), "--release", "r1", "--quiet"]) == 0
    abandoned = tmp_path / "private" / "clinic" / "scratch" / "run-abandoned"
    abandoned.mkdir(parents=True, mode=0o700)
    (abandoned / "column").touch(0o600)
    assert main([command[0], str(path), *command[1:], "--quiet"]) == 0
    assert scratch(tmp_path) == []


KILLED = """
import os, signal, sys
from reanon_dagster.cli import main
from reanon_dagster.releasing import judged_candidate, computation
path, point = sys.argv[1:]
owner, name = {
    "reading": (judged_candidate, "require_released_brakes"),
    "planning": (computation, "publish_in_parts"),
    "checking": (computation, "judge_at_size"),
}[point]
wrapped = getattr(owner, name)

def killed(*given, **named):
    if point != "reading":
        wrapped(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(owner, name, killed)
main(["publish", path, "--seed", "3", "--quiet"])
"""


@QUIET
@needs_spark
def test_spark_publishes_the_same_later_release(tmp_path: Path, in_memory) -> None:
    spark = series_in(tmp_path / "spark", TECHNIQUES["regions"])
    assert main(["backfill", str(spark), "--to", "r4", "--seed", "3", "--quiet"]) == 0
    spark.write_text(spark.read_text() + SPARK)
    assert main(["publish", str(spark), "--release", "r5", "--seed", "7", "--quiet"]) == 0
    assert published(tmp_path / "spark") == in_memory("regions")
    assert scratch(tmp_path / "spark") == []


@QUIET
@needs_spark
@pytest.mark.slow
@pytest.mark.parametrize("technique", ["blind", "mondrian"])
def test_spark_publishes_the_same_series(tmp_path: Path, in_memory, technique: str) -> None:
    spark = series_in(tmp_path / "spark", TECHNIQUES[technique], SPARK)
    assert main(["backfill", str(spark), "--seed", "3", "--quiet"]) == 0
    assert published(tmp_path / "spark") == in_memory(technique)


@QUIET
@needs_spark
@pytest.mark.slow
@pytest.mark.parametrize("kind", [None, "CoarseGrainedExecutorBackend", "Worker"])
def test_a_cluster_publishes_the_same_releases_also_if_a_process_is_killed(tmp_path: Path, kind: str | None) -> None:
    few = {"r1": people(60_000), "r2": people(64_000).iloc[4000:]}
    whole = series_in(tmp_path / "whole", TECHNIQUES["median"], snapshots=few)
    assert main(["backfill", str(whole), "--seed", "3", "--quiet"]) == 0
    with cluster_in(tmp_path / "cluster") as cluster:
        spark = series_in(tmp_path / "spark", TECHNIQUES["median"], snapshots=few)
        secret = tmp_path / "spark" / "secret"
        secret.touch(0o600)
        secret.write_text(cluster.secret)
        named = f'{{master: "{cluster.address}", memory_limit: 1GB, cores: 1, executors: 2, secret: secret}}'
        spark.write_text(spark.read_text() + f"engine: {{spark: {named}}}\n")
        command = [sys.executable, "-m", "reanon_dagster.cli", "backfill", str(spark), "--seed", "3", "--quiet"]
        process = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
        if kind is not None:
            kill_soon(cluster, kind, process)
        _, said = process.communicate(timeout=240)
        assert process.returncode == 0, said
    assert published(tmp_path / "spark") == published(tmp_path / "whole")
    assert scratch(tmp_path / "spark") == []


def kill_soon(cluster, kind: str, process: "subprocess.Popen[str]") -> None:
    """Kill one process of the cluster once an executor is there."""
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        executors = cluster.processes("CoarseGrainedExecutorBackend")
        if executors:
            time.sleep(2)
            os.kill(cluster.processes(kind)[0], signal.SIGKILL)
            return
        time.sleep(0.1)
    pytest.fail("no executor has begun")


@pytest.mark.parametrize("engine", [IN_PARTS, pytest.param(SPARK, marks=[needs_spark, pytest.mark.slow, QUIET])])
def test_dagster_publishes_the_same_files(tmp_path: Path, engine: str, monkeypatch) -> None:
    monkeypatch.setattr(judged_candidate, "generator", lambda _: np.random.default_rng(5))
    whole = series_in(tmp_path / "whole", TECHNIQUES["median"])
    assert main(["backfill", str(whole), "--to", "r2", "--quiet"]) == 0
    parts = series_in(tmp_path / "parts", TECHNIQUES["median"], engine)
    with dg.DagsterInstance.ephemeral() as instance:
        assert all(Maker(parts, instance).make(release).success for release in ("r1", "r2"))
    assert published(tmp_path / "parts") == published(tmp_path / "whole")
    assert scratch(tmp_path / "parts") == []
