"""The settings of a Spark session, as the text of a file: in an argument or a variable, others could read a secret."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from reanon_dagster.series.engine_config import Spark
from reanon_dagster.series.memory_size import bytes_of

ATTEMPTS = 4
"""How often a task is begun before the run is given up."""
MEBIBYTE = 1 << 20
LEAST_HEAP = 1024
"""Mebibytes of an executor's Java heap: Spark refuses to start with less than 450."""
JAVA = "-XX:-UsePerfData -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""No statistics in /tmp, and no optimization of Java that does not pay: the work is done in Python."""
_LOOPBACK = "127.0.0.1"

LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex{short}
"""
"""Errors only, and no stack traces."""


@dataclass(frozen=True)
class SparkFolders:
    """Where a session keeps its own files."""

    place: Path

    @property
    def settings(self) -> Path:
        """The folder of spark-defaults.conf."""
        return self.place / "conf"

    @property
    def spill(self) -> Path:
        """The folder of blocks that Spark puts on disk, encrypted."""
        return self.place / "local"

    @property
    def temporary(self) -> Path:
        """The folder of Java's temporary files."""
        return self.place / "tmp"

    @property
    def log(self) -> Path:
        """What Java and the workers of this machine write to standard error."""
        return self.place / "log"

    @property
    def marker(self) -> Path:
        """The file that shows a worker that it sees this folder."""
        return self.place / "marker"


def spark_settings(config: Spark, folders: SparkFolders, secret: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What Spark is told. `environment` is that of this process: workers get what they need of it."""
    settings = {
        "spark.app.name": "reanon",
        "spark.master": _master(config),
        "spark.submit.deployMode": "client",
        **_secrecy(secret),
        "spark.local.dir": str(folders.spill),
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f'{JAVA} "-Djava.io.tmpdir={folders.temporary}"',
        "spark.executor.extraJavaOptions": JAVA,
        "spark.executor.memory": f"{max(LEAST_HEAP, bytes_of(config.memory_limit) // MEBIBYTE)}m",
        "spark.task.cpus": "1",
        "spark.task.maxFailures": str(ATTEMPTS),
        "spark.locality.wait": "0",
        "spark.speculation": "false",
        "spark.dynamicAllocation.enabled": "false",
        "spark.python.worker.reuse": "true",
        "spark.python.daemon.module": "reanon_dagster.engines.spark_daemon",
        "spark.hadoop.fs.permissions.umask-mode": "077",
        **{f"spark.executorEnv.{name}": value for name, value in _worker_environment(environment).items()},
    }
    if not config.local:
        cores = config.cores or 1
        settings["spark.executor.cores"] = str(cores)
        if config.executors is not None:
            settings["spark.cores.max"] = str(cores * config.executors)
    if config.local or all(host in {_LOOPBACK, "localhost"} for host, _ in master_addresses(config)):
        settings |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    return settings


def properties(settings: Mapping[str, str]) -> str:
    """The settings as a file of Java properties."""
    return "".join(f"{_escaped(key)} {_escaped(value)}\n" for key, value in settings.items())


def master_addresses(config: Spark) -> list[tuple[str, int]]:
    """The hosts and ports of a cluster's masters; none with local."""
    if config.local:
        return []
    found = [urlsplit(f"//{one}") for one in config.master.removeprefix("spark://").split(",")]
    return [(one.hostname or "", one.port or 0) for one in found]


def _master(config: Spark) -> str:
    # Without this number, one killed process of a worker would end a local run.
    return config.master.replace("]", f",{ATTEMPTS}]") if config.local else config.master


def _secrecy(secret: str) -> dict[str, str]:
    """Who may talk to the session, and what others may see of it."""
    return {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.network.crypto.enabled": "true",
        "spark.network.crypto.saslFallback": "false",
        "spark.io.encryption.enabled": "true",
        "spark.io.encryption.keySizeBits": "256",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "false",
        "spark.master.rest.enabled": "false",
        "spark.shuffle.service.enabled": "false",
    }


def _worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of a worker: one task uses one core, and finds the modules and kernels that this process finds."""
    handed = {name: environment[name] for name in ("PYTHONPATH", "NUMBA_CACHE_DIR") if environment.get(name)}
    single = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return handed | dict.fromkeys(single, "1")


def _escaped(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise ValueError("a setting of Spark is one line")
    return "".join(
        f"\\{letter}" if letter in "\\:=#! " else letter if 32 < ord(letter) < 127 else _unicode(letter)
        for letter in text
    )


def _unicode(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))
