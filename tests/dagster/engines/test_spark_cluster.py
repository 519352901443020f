"""A standalone master with two workers on loopback: the same results, also when processes are killed with -9."""

import gc
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from builders import tasks
from builders.spark import cluster_in, engine_in, environment, needs_spark

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.engine.engine import EmbeddedEngine
from reanon_dagster.engines.scratch import scratch_folder
from reanon_dagster.engines.unavailable import EngineUnavailable

pytestmark = [
    pytest.mark.slow,
    needs_spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
EXECUTOR, WORKER = "CoarseGrainedExecutorBackend", "Worker"
VALUES = np.random.default_rng(7).integers(0, 10**6, 20_000)
DRIVER = """
import sys
from pathlib import Path
from builders import tasks
from builders.spark import Cluster, engine_in
from reanon_dagster.engines.scratch import scratch_folder
place, address, work = sys.argv[1:]
config = () if address == "local" else (Cluster(address, "", Path(work)).config(), sys.stdin.readline().strip())
with scratch_folder(Path(place)) as folder, engine_in(folder, *config) as engine:
    engine.folder.written("people", __import__("numpy").arange(1000))
    engine.run(tasks.hold, [str(folder)] * 2, [1, 1])
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with cluster_in(tmp_path_factory.mktemp("cluster")) as started:
        yield started
    gc.collect()


def killed_soon(cluster, kind):
    """Kill one process of a kind as soon as tasks run; gives the ids that were killed."""
    killed = []

    def kill():
        time.sleep(2)
        number = cluster.processes(kind)[0]
        os.kill(number, signal.SIGKILL)
        time.sleep(1)
        assert number not in cluster.processes(kind)
        killed.append(number)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread, killed


def test_a_cluster_gives_the_columns_that_this_process_gives(cluster, tmp_path):
    for name in ("spark", "embedded"):
        (tmp_path / name).mkdir()
    with engine_in(tmp_path / "spark", cluster.config(), cluster.secret) as engine:
        found = tasks.sort_by_remainder(engine, VALUES, 6)
        assert len(cluster.processes(EXECUTOR)) == 2
        assert not [path for path in Path("/proc").glob("[0-9]*") if cluster.secret.encode() in _command(path)]
    embedded = EmbeddedEngine(ColumnFolder(str(tmp_path / "embedded")), 1000)
    assert (found == tasks.sort_by_remainder(embedded, VALUES, 6)).all()
    assert (found == tasks.sorted_by_remainder(VALUES)).all()
    assert not [path for path in tmp_path.rglob("*-*") if stat.S_IMODE(path.stat().st_mode) & 0o077]


def test_a_wrong_secret_is_a_sentence_in_bounded_time(cluster, tmp_path):
    begun = time.monotonic()
    with pytest.raises(EngineUnavailable) as error, engine_in(tmp_path, cluster.config(), "not the secret"):
        pass
    assert "does not accept the session; see that engine.spark.secret holds its" in str(error.value)
    assert time.monotonic() - begun < 120
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_without_room_is_a_sentence_in_bounded_time(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("reanon_dagster.engines.spark_engine.OFFERED", 5.0)
    config = cluster.config().model_copy(update={"memory_limit": "500GB"})
    with pytest.raises(EngineUnavailable, match=r"no worker of .* has started an executor"):  # noqa: SIM117
        with engine_in(tmp_path, config, cluster.secret):
            pass


def test_an_executor_that_is_killed_changes_nothing(cluster, tmp_path):
    with engine_in(tmp_path, cluster.config(), cluster.secret) as engine:
        thread, killed = killed_soon(cluster, EXECUTOR)
        found = tasks.sort_by_remainder(engine, VALUES, 8, seconds=1.5)
        thread.join()
    assert killed
    assert (found == tasks.sorted_by_remainder(VALUES)).all()


def test_a_worker_that_is_killed_changes_nothing(tmp_path):
    for name in ("cluster", "scratch"):
        (tmp_path / name).mkdir()
    with (
        cluster_in(tmp_path / "cluster") as started,
        engine_in(tmp_path / "scratch", started.config(), started.secret) as engine,
    ):
        thread, killed = killed_soon(started, WORKER)
        found = tasks.sort_by_remainder(engine, VALUES, 8, seconds=1.5)
        thread.join()
    assert killed
    assert (found == tasks.sorted_by_remainder(VALUES)).all()
    assert not [path for path in tmp_path.rglob("*") if stat.S_IMODE(path.lstat().st_mode) & 0o077 and path.is_file()]


@pytest.mark.parametrize("where", ["local", "cluster"])
def test_after_a_killed_driver_nothing_is_open_and_the_next_run_sweeps(cluster, tmp_path, where):
    place = tmp_path / "scratch"
    address = cluster.address if where == "cluster" else where
    command = [sys.executable, "-c", DRIVER, str(place), address, str(cluster.work)]
    driver = subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, text=True)
    try:
        driver.stdin.write(f"{cluster.secret}\n")
        driver.stdin.flush()
        limit = time.monotonic() + 90
        while len(list(place.glob("run-*/running-*"))) < 2:
            assert driver.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.1)
    finally:
        driver.kill()
        driver.communicate()
    left = list(place.rglob("*"))
    assert any(path.name.endswith("people") for path in left)
    assert not [path for path in left if path.exists() and stat.S_IMODE(path.lstat().st_mode) & 0o077]
    with scratch_folder(place) as folder:
        assert {path.name for path in place.iterdir()} == {".lock", folder.name}
    limit = time.monotonic() + 60
    while cluster.processes(EXECUTOR):
        assert time.monotonic() < limit
        time.sleep(0.2)
    time.sleep(3)
    assert [path.name for path in place.iterdir()] == [".lock"], "a process of the killed driver wrote again"
    assert not [path for path in Path("/proc").glob("[0-9]*") if str(place).encode() in _command(path)]


def _command(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""
