"""The steps of docs/dagster.md, taken: Postgres, two code locations, a webserver and a daemon, and a backfill."""

import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from builders.deployment import QUICK_DAEMON, free_port, start, wait_for_locations
from builders.documented_steps import blocks, commands
from builders.guard import end
from builders.private_texts import leaks, private_texts
from builders.series import SERIES, lively, releases_in, write_series
from builders.server import Server

from reanon_dagster.definitions import ROOT

pytestmark = pytest.mark.server

PAGE = ROOT / "docs" / "dagster.md"
MONTHS = ["2024-01", "2024-02"]
RELOAD = 'mutation { reloadRepositoryLocation(repositoryLocationName: "north") { __typename } }'
DESCRIPTION = """query { assetNodeOrError(assetKey: {path: ["north", "release"]}) {
  ... on AssetNode { description } } }"""
PACKAGES = ("psycopg2", "dagster_postgres")


def series(folder: Path, name: str) -> Path:
    """A team's folder with one series of two releases."""
    text = SERIES.replace("series: clinic", f"series: {name}")
    text = text.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: monthly, first: 2024-01}")
    snapshots = dict(zip(MONTHS, lively(len(MONTHS), 72).values(), strict=True))
    return write_series(folder / name, text=text, snapshots=snapshots).parent


class Steward:
    """Takes the steps of the page on this machine: other folders, ports and passwords, and a quick daemon."""

    def __init__(self, base: Path, database_port: int) -> None:
        self.base, self.ports = base, {number: free_port() for number in (3000, 4001, 4002)}
        self.replaced = {
            "/srv/reanon": str(base),
            "PORT=5432": f"PORT={database_port}",
            "dagster-daemon": f"python -c '{QUICK_DAEMON}'",
            **{f"{mark}{number}": f"{mark}{free}" for number, free in self.ports.items() for mark in ("-p ", "port: ")},
        }
        installed = base / "site"  # as from a wheel: beside the packages is no checkout with series of its own
        installed.mkdir()
        for package in ("reanon_core", "reanon_dagster"):
            (installed / package).symlink_to(ROOT / package)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {"PYTHONPATH": str(installed), "PATH": path, "DAGSTER_HOME": str(base / "dagster")}

    def here(self, text: str) -> str:
        """A text of the page with this machine's folders and ports."""
        for shown, own in self.replaced.items():
            text = text.replace(shown, own)
        return text

    def run(self, command: str) -> None:
        """Run one command with the variables that the page sets, until it ends."""
        ran = subprocess.run(
            ["bash", "-c", self._with_variables(command)],
            cwd=self.base,
            env={**os.environ, "PYTHONWARNINGS": "", **self.environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"

    def start(self, command: str, log: Path) -> subprocess.Popen[bytes]:
        """Start a command that does not end by itself."""
        return start(["bash", "-c", self._with_variables(f"exec env {command}")], log, self.environment, self.base)

    def _with_variables(self, command: str) -> str:
        (variables,) = blocks(PAGE, "2. The instance", "bash")
        return f"set -e\n{self.here(variables)}\n{self.here(command)}"


@pytest.fixture(scope="module")
def database() -> Iterator[object]:
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        pytest.skip(f"{' and '.join(missing)} not installed (pip install 'reanon[postgres]')")
    from builders.postgres import postgres, programs

    if programs() is None:
        pytest.skip("Postgres is not installed (apt-get install postgresql)")
    with postgres() as server:
        yield server


@pytest.mark.slow  # assets/test_metadata.py looks for private texts in the event log in every run
def test_two_teams_share_one_dagster_on_postgres_and_nothing_private_is_in_its_database(
    database: object, tmp_path: Path
) -> None:
    from builders.postgres import Postgres

    assert isinstance(database, Postgres)
    north, south = (series(tmp_path / team, team) for team in ("north", "south"))
    fault = south / "snapshots" / "2024-02.csv"
    pd.concat([pd.read_csv(fault), pd.read_csv(fault).head(1)]).to_csv(fault, index=False)
    (statements,) = blocks(PAGE, "1. The database", "sql")
    for statement in statements.splitlines():
        database.execute(statement)
    steward = Steward(tmp_path, database.port)
    settings, migration = blocks(PAGE, "2. The instance", "console")
    for command in commands(settings):
        steward.run(command)
    with (tmp_path / "dagster" / "dagster.yaml").open("a") as file:
        file.write(blocks(PAGE, "2. The instance", "yaml")[0])
    for command in commands(migration):
        steward.run(command)
    workspace = tmp_path / "dagster" / "workspace.yaml"
    workspace.write_text(steward.here(blocks(PAGE, "3. The code locations", "yaml")[0]))
    (services,) = blocks(PAGE, "4. The processes", "console")
    processes = []
    try:
        for number, command in enumerate(commands(services)):
            processes.append(steward.start(command, tmp_path / "dagster" / f"{number}.log"))
        server = Server(steward.ports[3000], tmp_path / "dagster", tuple(processes))
        wait_for_locations(server, 2)
        launched = {name: server.backfill_assets(name, MONTHS[::-1]) for name in ("north", "south")}
        ended = {name: server.end_of(backfill, 600) for name, backfill in launched.items()}
        runs = {name: server.runs(backfill) for name, backfill in launched.items()}
        sentence = server.failure(runs["south"][-1].id)
        (north / "series.yaml").write_text(f"{(north / 'series.yaml').read_text()}\ndescription: Changed in place.\n")
        reloaded = server.ask(RELOAD)["reloadRepositoryLocation"]
        changed = server.ask(DESCRIPTION)["assetNodeOrError"]["description"]
    finally:
        end(*processes)
    assert ended == {"north": "COMPLETED_SUCCESS", "south": "COMPLETED_FAILED"}
    assert [(run.partition, run.status) for run in runs["north"]] == [(month, "SUCCESS") for month in MONTHS]
    assert [run.status for run in runs["south"]] == ["SUCCESS", "FAILURE"]
    assert {run.tags["dagster/code_location"] for run in runs["south"]} == {"south"}
    assert releases_in(north / "published" / "north") == MONTHS
    assert releases_in(south / "published" / "south") == MONTHS[:1]
    assert reloaded == {"__typename": "WorkspaceLocationEntry"}
    assert "Changed in place." in changed
    private = private_texts(north / "snapshots") | private_texts(south / "snapshots")
    found = list(database.texts("dagster"))
    assert {"event_logs", "runs", "bulk_actions", "asset_check_executions"} <= {table for table, _ in found}
    assert any(sentence in text for _, text in found), "the search does not see what is in the database"
    assert [(table, leaked) for table, text in found if (leaked := leaks(private, text))] == []
    for file in (tmp_path / "dagster").rglob("*"):
        assert not file.is_file() or not leaks(private, file.read_text(errors="replace")), file
    database.execute("CREATE TABLE planted (packed bytea)", "dagster")
    database.execute("INSERT INTO planted VALUES (%s)", "dagster", (zlib.compress(fault.read_bytes()),))
    assert [table for table, text in database.texts("dagster") if leaks(private, text)] == ["planted"]
