"""A mixture of shell, UI and a reboot: the colours of a running Dagster are those of `reanon status`."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from builders.browser import Page, browsing, chromium
from builders.deployment import running
from builders.series import SERIES, lively, write_series
from builders.server import Server

from reanon_dagster.cli import main
from reanon_dagster.releasing.release_order import Status, statuses
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.resources import ENVIRONMENT
from reanon_dagster.series.series_file import load_series

pytestmark = [pytest.mark.server, pytest.mark.slow]  # automation/test_ledger_sensor.py has each case in every run

COLOURS = {Status.PUBLISHED: "MATERIALIZED", Status.WITHDRAWN: "FAILED", Status.REFUSED: "FAILED"}
NAMES = ["2020", "2021", "2022", "2023", "2024"]


def ledger(path: Path) -> dict[str, str]:
    """What `reanon status` says of each release, as colours."""
    series = load_series(path)
    summary = read_view(series).summary
    listed = statuses(series, summary.records, summary.refusals, ENVIRONMENT.day())
    return {one.release: COLOURS[one.status] for one in listed if one.status in COLOURS}


def agrees(server: Server, path: Path) -> None:
    """Wait until Dagster shows what the ledger has; its sensor looks every minute."""

    def same() -> bool | None:
        shown = {}
        for status, first, last in server.partition_ranges("clinic"):
            shown |= dict.fromkeys(NAMES[NAMES.index(first) : NAMES.index(last) + 1], status)
        return True if shown == ledger(path) else None

    server.wait(same, 240, f"Dagster to show {ledger(path)}")


def command(*words: object) -> None:
    assert main([*map(str, words), "--quiet"]) == 0


@pytest.fixture
def page() -> Iterator[Page | None]:
    if chromium() is None:
        yield None
    else:
        with browsing() as opened:
            yield opened


def test_the_colours_are_those_of_the_ledger_after_all_all_again_shell_withdrawal_and_a_reboot(
    tmp_path: Path, page: Page | None
) -> None:
    text = SERIES.replace("[r1, r2, r3, r4, r5]", f"[{', '.join(NAMES)}]").replace("max_drift: 1", "max_drift: 2")
    snapshots = dict(zip(NAMES, lively(5, 72).values(), strict=True))
    path = write_series(tmp_path / "clinic", text=text, snapshots=dict(list(snapshots.items())[:3]))
    home = tmp_path / "home"
    with running(home, {"clinic": path.parent}) as server:
        first = server.backfill_assets("clinic", NAMES[::-1])
        assert server.end_of(first, 600) == "COMPLETED_FAILED", "two snapshots are not there yet"
        assert [run.status for run in server.runs(first)] == ["SUCCESS"] * 4
        agrees(server, path)
        again = server.backfill_assets("clinic", NAMES[:3])
        assert server.end_of(again, 600) == "COMPLETED_SUCCESS"
        agrees(server, path)
        snapshots["2023"].to_csv(path.parent / "snapshots" / "2023.csv", index=False)
        command("publish", path)
        agrees(server, path)
        command("withdraw", path, "--release", "2023", "--because", "a wrong column")
        agrees(server, path)
        if page is not None:
            page.open(f"{server.url}/assets/clinic/release?view=partitions&partition=2023")
            page.show("Failed (1)", "Materialized (3)")
        snapshots["2024"].to_csv(path.parent / "snapshots" / "2024.csv", index=False)
        run = server.launch_run("clinic", {"dagster/partition": "2024"})
        working = server.wait(lambda: tagged(server, run), 180, "the run to work")
        for process in server.processes:  # with everything in their groups, as a machine that loses its power
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(working, signal.SIGKILL)
    with running(home, {"clinic": path.parent}) as server:
        ended = server.end_of_run(run, 300)
        assert ended.status == "CANCELED", "the sensor found that its process is gone"
        agrees(server, path)
        last = server.launch_run("clinic", {"dagster/partition": "2024"})
        assert server.end_of_run(last, 300).status == "SUCCESS"
        agrees(server, path)
        assert list(ledger(path).values()) == ["MATERIALIZED"] * 3 + ["FAILED", "MATERIALIZED"]


def tagged(server: Server, run: str) -> int | None:
    """The process of a run that works."""
    (found,) = server.find_runs(runIds=[run])
    told = found.tags.get("reanon/process")
    return None if told is None else int(told.split(" ")[2])
