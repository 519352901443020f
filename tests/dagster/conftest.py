"""One Dagster server for all tests that need one: they are marked `server`, and run in a process of their own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from builders.deployment import running
from builders.series import SERIES, lively, write_series
from builders.server import Server

MONTHS = [f"2024-{month:02d}" for month in range(1, 6)]
DAYS = [f"2024-{day}" for day in ("01-31", "02-29", "03-28", "04-30", "05-31", "06-28", "07-31", "08-30")]
MONTHLY = "{cadence: monthly, first: 2024-01}"
ON_THESE_DAYS = f"{{names: [{', '.join(DAYS)}]}}"
FAULT, MISSING = DAYS[3], MONTHS[1]


def clinic(folder: Path, name: str, releases: str, names: list[str]) -> Path:
    """A series of few people; gives its folder."""
    text = SERIES.replace("series: clinic", f"series: {name}\ntitle: {name.capitalize()} visits")
    text = text.replace("{names: [r1, r2, r3, r4, r5]}", releases).replace("max_drift: 1", "max_drift: 2")
    snapshots = dict(zip(names, lively(len(names), 72).values(), strict=True))
    return write_series(folder / name, text=text, snapshots=snapshots).parent


@pytest.fixture(scope="session")
def clinics(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of the series that the server knows, by name."""
    base = tmp_path_factory.mktemp("series")
    return {
        "steady": clinic(base, "steady", MONTHLY, MONTHS),
        "faulty": clinic(base, "faulty", ON_THESE_DAYS, DAYS),
        "late": clinic(base, "late", MONTHLY, MONTHS),
    }


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, clinics: dict[str, Path]) -> Iterator[Server]:
    """Webserver and daemon with the settings of `make ui`, and two series at once."""
    if os.name != "posix":
        pytest.skip("the server's processes are ended as a group, which needs POSIX")
    with running(tmp_path_factory.mktemp("dagster") / "home", clinics) as started:
        yield started


@pytest.fixture(scope="session")
def launched(server: Server, clinics: dict[str, Path]) -> dict[str, str]:
    """An asset backfill for each series, at the same time, with the releases in reverse order.

    In `faulty` a person is listed twice on one day, and in `late` a snapshot is missing. What is right is kept beside.
    """
    snapshot = clinics["faulty"] / "snapshots" / f"{FAULT}.csv"
    right = pd.read_csv(snapshot)
    right.to_csv(clinics["faulty"] / "right.csv", index=False)
    pd.concat([right, right.head(1)]).to_csv(snapshot, index=False)
    (clinics["late"] / "snapshots" / f"{MISSING}.csv").rename(clinics["late"] / "right.csv")
    partitions = {"faulty": DAYS, "steady": MONTHS, "late": MONTHS[:3]}
    return {series: server.backfill_assets(series, keys[::-1]) for series, keys in partitions.items()}


@pytest.fixture(scope="session")
def backfilled(server: Server, launched: dict[str, str]) -> tuple[str, str]:
    """The backfill of `steady`: its id, and the status it ended with."""
    return launched["steady"], server.end_of(launched["steady"], 600)


@pytest.fixture(scope="session")
def halted(server: Server, launched: dict[str, str]) -> tuple[str, str]:
    """The backfill of `faulty`: its id, and the status it ended with. test_daemon.py corrects the snapshot later."""
    return launched["faulty"], server.end_of(launched["faulty"], 600)


@pytest.fixture(scope="session")
def skipped(server: Server, clinics: dict[str, Path], launched: dict[str, str]) -> tuple[str, str]:
    """The backfill of `late`: its id, and the status it ended with. Now the snapshot is there."""
    status = server.end_of(launched["late"], 600)
    (clinics["late"] / "right.csv").rename(clinics["late"] / "snapshots" / f"{MISSING}.csv")
    return launched["late"], status
