"""The resource that says where the folders of a series are and which day it is."""

import stat
from pathlib import Path

import dagster as dg
import pytest
from builders.assets import QUIET, said
from builders.series import SERIES, lively, write_series
from pydantic import ValidationError

from reanon_core.model.errors import InvalidSchema, Refused
from reanon_dagster.cli import main
from reanon_dagster.definitions import series_definitions
from reanon_dagster.resources import SeriesEnvironment
from reanon_dagster.series.series_file import load_series

MONTHLY = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: monthly, first: 2024-01}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    snapshots = dict(zip(("2024-01", "2024-02"), lively(2).values(), strict=True))
    return write_series(tmp_path / "clinic", text=MONTHLY, snapshots=snapshots)


def made(path: Path, month: str, environment: SeriesEnvironment) -> dg.ExecuteInProcessResult:
    with dg.DagsterInstance.ephemeral() as instance:
        job = series_definitions(path, environment).resolve_job_def("clinic_release")
        return job.execute_in_process(partition_key=month, instance=instance, run_config=QUIET, raise_on_error=False)


def test_folders_and_day_of_a_release_are_those_of_the_environment(path: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    february = SeriesEnvironment(root=str(root), today="2024-02-10")
    assert made(path, "2024-01", february).success
    assert (root / "published" / "clinic" / "2024-01" / "manifest.json").is_file()
    assert stat.S_IMODE((root / "private" / "clinic").stat().st_mode) == 0o700
    assert not {"private", "published"} & {found.name for found in path.parent.iterdir()}
    skipped = made(path, "2024-02", february)
    assert skipped.success
    (reason,) = [event.asset_observation_data for event in skipped.all_events if event.is_asset_observation]
    told = reason.asset_observation.metadata["skipped"].value
    assert told == "release 2024-02 is due on 2024-03-01"
    assert made(path, "2024-02", SeriesEnvironment(root=str(root), today="2024-03-01")).success


def test_a_root_that_would_begin_a_second_history_of_the_same_people_is_refused(path: Path, tmp_path: Path) -> None:
    assert main(["publish", str(path), "--quiet"]) == 0
    refused = made(path, "2024-01", SeriesEnvironment(root=str(tmp_path / "root")))
    assert "would not be protected against them" in said(refused)
    assert not (tmp_path / "root").exists()
    own = SeriesEnvironment(root=str(path.parent))  # which is where the file keeps it
    assert made(path, "2024-02", own).success


@pytest.mark.parametrize("inside", ["published", "published/clinic", "private", "private/clinic/more"])
def test_a_root_inside_the_series_own_folders_is_refused(path: Path, inside: str) -> None:
    with pytest.raises(Refused, match="choose another root"):
        SeriesEnvironment(root=str(path.parent / inside)).placed(load_series(path))


def test_a_root_whose_public_folder_would_hold_the_snapshots_is_refused(tmp_path: Path) -> None:
    path = write_series(tmp_path / "published" / "clinic")
    with pytest.raises(InvalidSchema, match="snapshots are private"):
        SeriesEnvironment(root=str(tmp_path)).placed(load_series(path))


def test_a_day_must_be_a_date() -> None:
    with pytest.raises(ValidationError):
        SeriesEnvironment(today="soon")
