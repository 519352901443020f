"""A real Dagster on loopback: webserver, daemon and code location, as `make ui` starts them."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import dagster as dg

from reanon_dagster.definitions import ROOT

MODULE = "reanon_dagster.definitions"
REPOSITORY = {"repositoryName": "__repository__", "repositoryLocationName": MODULE}
# The daemon looks at its backfills every 30 seconds and knows no setting for it. Nothing else is changed.
QUICK_DAEMON = (
    "import dagster._daemon.controller as controller; controller.DEFAULT_DAEMON_INTERVAL_SECONDS = 1; "
    "from dagster._daemon.cli import cli; cli()"
)
ENDED = {"COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED"}

LAUNCH = """mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
STATUS = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
  __typename ... on PartitionBackfill { status error { message } } } }"""
RUNS = """query($filter: RunsFilter!) { runsOrError(filter: $filter) {
  ... on Runs { results { runId status startTime endTime tags { key value } } } } }"""
LOCATIONS = """query { workspaceOrError { ... on Workspace { locationEntries {
  name locationOrLoadError { __typename ... on PythonError { message } } } } } }"""

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """One run of a backfill."""

    partition: str
    status: str
    start: float
    end: float
    id: str
    tags: dict[str, str]


@dataclass(frozen=True)
class Server:
    """Where the webserver listens, and where the instance is."""

    port: int
    home: Path
    processes: tuple[subprocess.Popen[bytes], ...]

    @property
    def url(self) -> str:
        """The address of the UI."""
        return f"http://127.0.0.1:{self.port}"

    def ask(self, query: str, **variables: object) -> dict[str, Any]:
        """The answer to a GraphQL question, asked as the UI asks it."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            told = json.load(answer)
        assert not told.get("errors"), told["errors"]
        return told["data"]

    def backfill_assets(self, series: str, partitions: Sequence[str]) -> str:
        """Launch an asset backfill of the releases, as the lineage page does; gives its id."""
        return self._launch(assetSelection=[{"path": [series, "release"]}], partitionNames=list(partitions))

    def backfill_job(self, series: str, partitions: Sequence[str]) -> str:
        """Launch a backfill of the job, as the job's own page does; gives its id."""
        selector = {"repositorySelector": REPOSITORY, "partitionSetName": f"{series}_release_partition_set"}
        return self._launch(selector=selector, partitionNames=list(partitions))

    def _launch(self, **params: object) -> str:
        told = self.ask(LAUNCH, params=params)["launchPartitionBackfill"]
        assert told["__typename"] == "LaunchBackfillSuccess", told
        return str(told["backfillId"])

    def end_of(self, backfill: str, seconds: float) -> str:
        """The status with which a backfill ends."""

        def ended() -> str | None:
            told = self.ask(STATUS, id=backfill)["partitionBackfillOrError"]
            return told["status"] if told["status"] in ENDED else None

        return self.wait(ended, seconds, f"the backfill {backfill} to end")

    def runs(self, backfill: str) -> list[Run]:
        """The runs of a backfill in the order in which they began."""
        answer = self.ask(RUNS, filter={"tags": [{"key": "dagster/backfill", "value": backfill}]})
        listed = []
        for run in answer["runsOrError"]["results"]:
            tags = {tag["key"]: tag["value"] for tag in run["tags"]}
            listed.append(
                Run(
                    tags["dagster/partition"],
                    run["status"],
                    run["startTime"] or 0.0,
                    run["endTime"] or 0.0,
                    run["runId"],
                    tags,
                )
            )
        return sorted(listed, key=lambda run: run.start)

    def refusal(self, backfill: str) -> str:
        """What the one failed step of a backfill's one run told the steward."""
        (run,) = self.runs(backfill)
        with dg.DagsterInstance.from_config(str(self.home)) as instance:
            records = instance.get_records_for_run(run.id, of_type=dg.DagsterEventType.STEP_FAILURE).records
        event = records[0].event_log_entry.dagster_event
        assert event is not None
        told = event.step_failure_data.user_failure_data
        assert told is not None
        return str(told.description)

    def wait(self, condition: Callable[[], T | None], seconds: float, what: str) -> T:
        """What the condition gives, as soon as it gives something; a failure that says what was waited for."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if (found := condition()) is not None:
                return found
            for process in self.processes:
                assert process.poll() is None, f"a process of the server ended while waiting for {what}\n{self.log()}"
            time.sleep(0.5)
        raise AssertionError(f"waited {seconds:.0f} s for {what}\n{self.log()}")

    def log(self) -> str:
        """The last lines of what the processes said."""
        texts = [path.read_text(errors="replace")[-3000:] for path in sorted(self.home.glob("*.log"))]
        return "\n".join(texts)


@contextmanager
def running(home: Path, series: Sequence[Path]) -> Iterator[Server]:
    """A webserver and a daemon on this DAGSTER_HOME, which are ended whatever happens."""
    home.mkdir(parents=True)
    shutil.copy(ROOT / "reanon_dagster" / "dagster.yaml", home)
    with (home / "dagster.yaml").open("a") as settings:
        settings.write("\nrun_queue:\n  dequeue_interval_seconds: 1\n")
    workspace = home / "workspace.yaml"
    workspace.write_text(f"load_from:\n  - python_module: {MODULE}\n")
    with dg.DagsterInstance.from_config(str(home)) as instance:  # one process makes the tables, as `dagster dev` does
        instance.get_runs(limit=1)
        instance.all_asset_keys()
        instance.all_instigator_state()
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "REANON_SERIES": os.pathsep.join(map(str, series)),
        "PYTHONWARNINGS": "",
    }
    port = _free_port()
    commands = {
        "webserver": ["-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(port), "-w", str(workspace)],
        "daemon": ["-c", QUICK_DAEMON, "run", "-w", str(workspace)],
    }
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for name, arguments in commands.items():
            with (home / f"{name}.log").open("wb") as log:
                processes.append(
                    subprocess.Popen(
                        [sys.executable, *arguments],
                        cwd=ROOT,
                        env=environment,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )
        server = Server(port, home, tuple(processes))
        server.wait(lambda: _loaded(server), 90, "the webserver to load the code location")
        yield server
    finally:
        for process in processes:
            _end(process)


def _loaded(server: Server) -> bool | None:
    try:
        entries = server.ask(LOCATIONS)["workspaceOrError"]["locationEntries"]
    except OSError:
        return None
    answers = [entry["locationOrLoadError"] for entry in entries]
    if not answers or None in answers:
        return None
    assert all(one["__typename"] == "RepositoryLocation" for one in answers), answers
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process of ours to end, then end it with everything it has started: its session is its own."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(15)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
