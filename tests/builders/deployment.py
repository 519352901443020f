"""A real Dagster on loopback: webserver, daemon and code location, as `make ui` starts them."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from builders.guard import end, guarded
from builders.server import MODULE, Server
from reanon_dagster.definitions import ROOT

# The daemon looks at its backfills every 30 seconds and knows no setting for it. Nothing else is changed.
QUICK_DAEMON = (
    "import dagster._daemon.controller as controller; controller.DEFAULT_DAEMON_INTERVAL_SECONDS = 2; "
    "from dagster._daemon.cli import cli; cli()"
)
LOCATIONS = """query { workspaceOrError { ... on Workspace { locationEntries {
  name locationOrLoadError { __typename ... on PythonError { message } } } } } }"""


@contextmanager
def running(home: Path, series: Mapping[str, Path], at_once: int = 2) -> Iterator[Server]:
    """A webserver and a daemon with the settings of `make ui`; they end with the block, or with this process.

    They make the releases of so many series at once, as docs/dagster.md tells how.
    """
    settings, alone = (ROOT / "reanon_dagster" / "dagster.yaml").read_text(), "max_concurrent_runs: 1"
    assert alone in settings
    write_settings(home, settings.replace(alone, f"max_concurrent_runs: {at_once}"))
    workspace = home / "workspace.yaml"
    workspace.write_text(f"load_from:\n  - python_module: {MODULE}\n")
    with dg.DagsterInstance.from_config(str(home)) as instance:  # one process makes the tables, as `dagster dev` does
        instance.get_runs(limit=1)
        instance.all_asset_keys()
        instance.all_instigator_state()
        for name in series:
            instance.event_log_storage.set_concurrency_slots(f"reanon_{name}", 1)
    environment = {"DAGSTER_HOME": str(home), "REANON_SERIES": os.pathsep.join(map(str, series.values()))}
    port = free_port()
    commands = {
        "webserver": ["-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(port), "-w", str(workspace)],
        "daemon": ["-c", QUICK_DAEMON, "run", "-w", str(workspace)],
    }
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for name, words in commands.items():
            processes.append(start([sys.executable, *words], home / f"{name}.log", environment))
        server = Server(port, home, tuple(processes))
        wait_for_locations(server, 1)
        yield server
    finally:
        end(*processes)


def write_settings(home: Path, settings: str) -> None:
    """Write an instance's dagster.yaml; only the pace of its queue is a test's own."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "dagster.yaml").write_text(f"{settings}\nrun_queue:\n  dequeue_interval_seconds: 1\n")


def start(
    command: list[str], log: Path, environment: Mapping[str, str], folder: Path = ROOT
) -> subprocess.Popen[bytes]:
    """Start a command under a guard; what it says goes to the log."""
    full = {**os.environ, "PYTHONWARNINGS": "", **environment}
    with log.open("wb") as out:
        return guarded(command, cwd=folder, env=full, stdout=out, stderr=subprocess.STDOUT)


def wait_for_locations(server: Server, count: int) -> None:
    """Wait until the webserver has loaded so many code locations."""

    def loaded() -> bool | None:
        try:
            entries = server.ask(LOCATIONS)["workspaceOrError"]["locationEntries"]
        except OSError:
            return None
        answers = [entry["locationOrLoadError"] for entry in entries]
        if len(answers) < count or None in answers or any("UnreachableError" in str(answer) for answer in answers):
            return None
        assert all(one["__typename"] == "RepositoryLocation" for one in answers), answers
        return True

    server.wait(loaded, 300, "the webserver to load the code locations")


def free_port() -> int:
    """A port of this machine on which no one listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
