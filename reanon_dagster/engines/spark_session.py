"""A Spark session: started with private files only, and always ended, with its Java process and everything it wrote."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reanon_core.model.errors import InvalidParameter, Problem, printable, shortened
from reanon_dagster.engines.java import WHAT, require_java
from reanon_dagster.engines.scratch import PRIVATE_FILE, PRIVATE_FOLDER, remove, write_private
from reanon_dagster.engines.spark_settings import LOGGING, SparkFolders, properties
from reanon_dagster.engines.unavailable import EngineUnavailable

if TYPE_CHECKING:
    from pyspark import SparkContext

KEPT_VARIABLES = frozenset({"SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"})
"""The variables of Spark that say which address of this machine workers can reach. Others would change our settings."""
END = 30.0
"""Seconds in which a session may end by itself."""


def require_spark() -> None:
    """See that pyspark and Java are there.

    Raises: InvalidParameter.
    """
    try:
        import pyspark  # noqa: F401
    except ModuleNotFoundError:
        rule = "have the package pyspark, which is not installed"
        raise InvalidParameter(Problem(WHAT, rule, help="install reanon[spark]")) from None
    require_java()


@contextmanager
def spark_session(settings: Mapping[str, str], folders: SparkFolders) -> Iterator["SparkContext"]:
    """Start a session, and end it whatever happens.

    Requires: no other session of Spark in this process; the folder of the session does not exist.

    Raises: EngineUnavailable if it does not start.
    """
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None or SparkContext._gateway is not None:  # noqa: SLF001
        raise EngineUnavailable("another Spark session runs in this process; end it, or run reanon in one of its own")
    mask = os.umask(0o077)
    try:
        with _written(settings, folders), _environment(folders), _restored_process():
            gateway = _launched(folders)
            try:
                yield _connected(gateway, folders)
            finally:
                _ended(gateway)
    finally:
        os.umask(mask)


@contextmanager
def _written(settings: Mapping[str, str], folders: SparkFolders) -> Iterator[None]:
    """The folders and files of the session, while it lasts."""
    folders.place.mkdir(mode=PRIVATE_FOLDER)
    try:
        for folder in (folders.settings, folders.spill, folders.temporary):
            folder.mkdir(mode=PRIVATE_FOLDER)
        write_private(folders.settings / "spark-defaults.conf", properties(settings))
        write_private(folders.settings / "log4j2.properties", LOGGING)
        yield
    finally:
        remove(folders.place)


@contextmanager
def _environment(folders: SparkFolders) -> Iterator[None]:
    """The variables that Spark's scripts read: ours alone, and afterwards again what was there."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(("SPARK_", "PYSPARK_")) and name not in KEPT_VARIABLES:
            del os.environ[name]
    os.environ |= {
        "SPARK_CONF_DIR": str(folders.settings),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ |= before


@contextmanager
def _restored_process() -> Iterator[None]:
    """Undo what pyspark changes in this process: the handler of Ctrl-C, and the places where modules are found."""
    main = threading.current_thread() is threading.main_thread()
    handler, path = signal.getsignal(signal.SIGINT) if main else None, list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = path
        if handler is not None:
            signal.signal(signal.SIGINT, handler)


def _launched(folders: SparkFolders) -> Any:
    """The connection to a new Java process, which ends when its standard input does, so also when this one is killed.

    Ctrl-C waits until the process is known: it could not be ended otherwise.
    """
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    descriptor = os.open(folders.log, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, PRIVATE_FILE)
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return launch_gateway(popen_kwargs={"stdout": descriptor, "stderr": descriptor})  # type: ignore[no-untyped-call]
    except (PySparkRuntimeError, OSError):
        raise EngineUnavailable(f"Spark does not start{reason_in(folders.log)}") from None
    finally:
        os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)


def _connected(gateway: Any, folders: SparkFolders) -> "SparkContext":
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark import SparkContext

    try:
        # Everything is in spark-defaults.conf: what is passed here would be passed on as an argument.
        return SparkContext(gateway=gateway)
    except (Py4JError, Py4JNetworkError):
        raise EngineUnavailable(f"the Spark session does not start{reason_in(folders.log)}") from None


def _ended(gateway: Any) -> None:
    """End the session and its Java process, in bounded time."""
    from pyspark import SparkContext

    last_resort = threading.Timer(END, gateway.proc.kill)
    last_resort.daemon = True
    last_resort.start()
    try:
        context = SparkContext._active_spark_context  # noqa: SLF001
        if context is not None:
            with suppress(Exception):
                context.stop()
        with suppress(Exception):
            gateway.shutdown()
        with suppress(OSError):
            gateway.proc.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            gateway.proc.wait(END)
    finally:
        if gateway.proc.poll() is None:
            gateway.proc.kill()
            gateway.proc.wait()
        last_resort.cancel()
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001


def reason_in(log: Path) -> str:
    """The last error in a log of Spark, for a message; nothing if there is none."""
    with suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        errors = [line for line in lines if line.startswith("ERROR ") or "Exception" in line]
        if errors:
            return f": {shortened(printable(errors[-1].strip()))}"
    return ""
