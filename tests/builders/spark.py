"""Spark in tests: whether it can run here, an engine over a folder, and a cluster on loopback."""

import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from builders.deployment import free_port
from builders.guard import end, guarded
from reanon_core.engine.column_folder import ColumnFolder
from reanon_dagster.engines.spark_engine import SparkEngine, spark_engine
from reanon_dagster.series.engine_config import Spark

if TYPE_CHECKING:
    from subprocess import Popen

TESTS = Path(__file__).parents[1]
MISSING = next(
    (what for what, there in (("pyspark", find_spec("pyspark")), ("Java", shutil.which("java"))) if not there), None
)
needs_spark = pytest.mark.skipif(MISSING is not None, reason=f"{MISSING} is not installed")


def environment() -> dict[str, str]:
    """The environment of this process, with the modules of the tests for the workers."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}


@contextmanager
def engine_in(folder: Path, config: Spark | None = None, secret: str | None = None) -> Iterator[SparkEngine]:
    """An engine that works in a folder, on two cores of this machine unless told otherwise."""
    config = config or Spark(master="local[2]", memory_limit="1GB")
    with spark_engine(config, ColumnFolder(str(folder)), 1000, secret, environment()) as engine:
        yield engine


@dataclass(frozen=True)
class Cluster:
    """A standalone master with workers, and the secret that they share."""

    address: str
    secret: str
    work: Path

    def config(self) -> Spark:
        """An engine of two executors with one core each."""
        return Spark(master=self.address, memory_limit="1GB", cores=1, executors=2, secret="secret")

    def processes(self, kind: str) -> list[int]:
        """The ids of the cluster's processes of a kind: Worker or CoarseGrainedExecutorBackend."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_text().split("\0")
                except OSError:
                    continue
                # The guard of a worker has its words too, but is no Java.
                if (
                    words[0].endswith("java")
                    and any(word.endswith(f".{kind}") for word in words)
                    and self._is_mine(entry, words)
                ):
                    found.append(int(entry.name))
        return found

    def _is_mine(self, entry: Path, words: list[str]) -> bool:
        try:
            return self.address in words or (entry / "cwd").readlink().is_relative_to(self.work)
        except OSError:
            return False


@contextmanager
def cluster_in(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and workers on loopback, as docs/performance.md sets them up; ended with this block or this process."""
    conf, work, secret, port = folder / "conf", folder / "work", secrets.token_hex(32), free_port()
    for path in (conf, work, folder / "spill"):
        path.mkdir(mode=0o700, parents=True)
    settings = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.network.crypto.enabled": "true",
        "spark.network.crypto.saslFallback": "false",
        "spark.io.encryption.enabled": "true",
        "spark.master.rest.enabled": "false",
    }
    descriptor = os.open(conf / "spark-defaults.conf", os.O_CREAT | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write("".join(f"{key} {value}\n" for key, value in settings.items()))
    home = find_spec("pyspark").submodule_search_locations[0]
    variables = environment() | {
        "SPARK_CONF_DIR": str(conf),
        "SPARK_HOME": home,
        "SPARK_LOCAL_DIRS": str(folder / "spill"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData",
    }
    program, deploy = str(Path(home) / "bin" / "spark-class"), "org.apache.spark.deploy"
    address = f"spark://127.0.0.1:{port}"
    where = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [[program, f"{deploy}.master.Master", "--port", str(port), *where]]
    commands += [
        [
            program,
            f"{deploy}.worker.Worker",
            "--cores",
            "1",
            "--memory",
            "1200M",
            *where,
            "--work-dir",
            str(work),
            address,
        ]
    ] * workers
    mask = os.umask(0o077)
    log = (folder / "log").open("wb")
    started: list[Popen[bytes]] = []
    try:
        for command in commands:
            started.append(guarded(command, env=variables, stdout=log, stderr=log))
        _await_text(folder / "log", "Registering worker", workers)
        yield Cluster(address, secret, work)
    finally:
        os.umask(mask)
        end(*started)
        log.close()


def _await_text(path: Path, text: str, times: int, seconds: float = 90.0) -> None:
    limit = time.monotonic() + seconds
    while path.read_text(errors="replace").count(text) < times:
        assert time.monotonic() < limit, f"{sys.executable}: {path.read_text(errors='replace')[-2000:]}"
        time.sleep(0.2)
