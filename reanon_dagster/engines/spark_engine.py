"""The engine that hands tasks to Spark. Descriptions and counts go through it: rows of people stay in files."""

import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.model.errors import InvalidParameter, Problem, Refused
from reanon_dagster.engines.scratch import write_private
from reanon_dagster.engines.spark_failure import failure_sentence
from reanon_dagster.engines.spark_session import require_spark, spark_session
from reanon_dagster.engines.spark_settings import SparkFolders, master_addresses, spark_settings
from reanon_dagster.engines.spark_task import Call, Installation, Outcome, installation, packed, run_call
from reanon_dagster.engines.unavailable import EngineUnavailable

if TYPE_CHECKING:
    from pyspark import SparkContext

    from reanon_dagster.series.engine_config import Spark

T = TypeVar("T")
R = TypeVar("R")

REACHED = 10.0
"""Seconds in which a master must accept a connection."""
OFFERED = 60.0
"""Seconds in which a worker must offer an executor."""


@dataclass(frozen=True)
class SparkEngine:
    """Tasks run on the workers of a Spark session."""

    folder: ColumnFolder
    chunk_rows: int
    context: "SparkContext"
    driver: Installation
    marker: str
    token: str

    def run(self, function: Callable[[T], R], tasks: Sequence[T], sizes: Sequence[int]) -> list[R]:
        """What the function returns for each task, in their order.

        Raises: EngineUnavailable if the tasks cannot be finished; Refused if a task refuses.
        """
        if not tasks:
            return []
        largest_first = sorted(range(len(tasks)), key=lambda number: (-sizes[number], number))
        outcomes = self._outcomes([packed(function, tasks[number]) for number in largest_first])
        found = dict(zip(largest_first, outcomes, strict=True))
        for number in range(len(tasks)):
            _require_result(found[number])
        return [found[number].result for number in range(len(tasks))]

    def _outcomes(self, bodies: list[bytes]) -> list[Outcome]:
        from py4j.protocol import Py4JError, Py4JNetworkError

        calls = [Call(self.driver, self.marker, self.token, body) for body in bodies]
        try:
            return self.context.parallelize(calls, len(calls)).map(run_call).collect()
        except (Py4JError, Py4JNetworkError, OSError) as error:
            raise EngineUnavailable(failure_sentence(str(error))) from None


@contextmanager
def spark_engine(
    config: "Spark", folder: ColumnFolder, chunk_rows: int, secret: str | None, environment: dict[str, str]
) -> Iterator[SparkEngine]:
    """Start a session in a folder, see that its workers fit, and end it whatever happens.

    Raises: InvalidParameter without pyspark or Java; EngineUnavailable if the cluster or its workers do not fit.
    """
    folders = SparkFolders(Path(folder.path).resolve() / "spark")
    if "," in str(folders.place):
        raise InvalidParameter(Problem("engine.spark.scratch", "be a path without commas", str(folders.place.parent)))
    require_spark()
    _require_master(config)
    settings = spark_settings(config, folders, secret or secrets.token_hex(32), environment)
    with spark_session(settings, folders) as context:
        token = secrets.token_hex(16)
        write_private(folders.marker, token)
        _await_executor(context, config)
        engine = SparkEngine(folder, chunk_rows, context, installation(), str(folders.marker), token)
        _probe(engine, folders.place)
        yield engine


def written_probe(path: str) -> str:
    """Write a file on a worker; the driver must see it."""
    token = secrets.token_hex(16)
    write_private(Path(path), token)
    # Long enough for every executor to get one of the tasks.
    time.sleep(0.1)
    return token


def _probe(engine: SparkEngine, place: Path) -> None:
    count = 2 * engine.context.defaultParallelism
    paths = [place / f"probe-{secrets.token_hex(8)}" for _ in range(count)]
    tokens = engine.run(written_probe, [str(path) for path in paths], [1] * count)
    for path, token in zip(paths, tokens, strict=True):
        if not path.is_file() or path.read_text(encoding="utf-8") != token:
            raise EngineUnavailable(
                f"the driver does not see what a worker writes to {place.parent}; set engine.spark.scratch to a folder "
                "that driver and workers share under the same path"
            )
        path.unlink()


def _require_result(outcome: Outcome) -> None:
    if outcome.misfit is not None:
        raise EngineUnavailable(outcome.misfit)
    if outcome.refusal is not None:
        raise Refused(outcome.refusal)


def _require_master(config: "Spark") -> None:
    """See that a master answers. Spark itself would try for a minute."""
    addresses = master_addresses(config)
    reasons = []
    for address in addresses:
        try:
            socket.create_connection(address, REACHED).close()
        except OSError as error:
            reasons.append(str(error.strerror or error))
    if addresses and len(reasons) == len(addresses):
        raise EngineUnavailable(
            f"the Spark master {config.master} cannot be reached ({reasons[0]}); start it, or correct "
            "engine.spark.master"
        )


def _await_executor(context: Any, config: "Spark") -> None:
    """Wait until a worker has started an executor: without one, tasks would wait for ever."""
    if config.local:
        return
    end, session = time.monotonic() + OFFERED, context._jsc.sc()  # noqa: SLF001
    while session.isStopped() or len(session.statusTracker().getExecutorInfos()) < 2:  # the driver is one of them
        if session.isStopped():  # after a minute in which the master did not answer
            raise EngineUnavailable(
                f"the Spark master {config.master} does not accept the session; see that engine.spark.secret holds its "
                "spark.authenticate.secret, and that it has spark.network.crypto.enabled"
            )
        if time.monotonic() > end:
            raise EngineUnavailable(
                f"no worker of {config.master} has started an executor in {OFFERED:.0f} seconds; see that workers run "
                f"and have {config.cores or 1} free cores and {config.memory_limit} of memory"
            )
        time.sleep(0.2)
