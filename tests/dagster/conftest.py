"""One Dagster server for all tests that need one: they are marked `server`, and run in one process after the others."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders.series import SERIES, lively, write_series
from builders.server import Server, running

MONTHS = tuple(f"2024-{month:02d}" for month in range(1, 9))


def monthly(folder: Path, name: str) -> Path:
    """A series of eight monthly releases of few people; gives its folder."""
    text = SERIES.replace("series: clinic", f"series: {name}\ntitle: {name.capitalize()} visits, monthly")
    text = text.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: monthly, first: 2024-01}")
    snapshots = dict(zip(MONTHS, lively(len(MONTHS), 72).values(), strict=True))
    return write_series(folder / name, text=text, snapshots=snapshots).parent


@pytest.fixture(scope="session")
def clinics(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of the series that the server knows, by name."""
    base = tmp_path_factory.mktemp("series")
    return {name: monthly(base, name) for name in ("steady", "faulty", "late")}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, clinics: dict[str, Path]) -> Iterator[Server]:
    """Webserver and daemon with the settings of `make ui`."""
    if os.name != "posix":
        pytest.skip("the server's processes are ended as a group, which needs POSIX")
    with running(tmp_path_factory.mktemp("dagster") / "home", list(clinics.values())) as started:
        yield started


@pytest.fixture(scope="session")
def backfilled(server: Server, clinics: dict[str, Path]) -> tuple[str, str]:
    """An asset backfill of all releases of `steady`, given in reverse order: its id, and the status it ended with."""
    backfill = server.backfill_assets("steady", MONTHS[::-1])
    return backfill, server.end_of(backfill, 300)
