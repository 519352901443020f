"""What Dagster is told of the series: keys, partitions, jobs, triggers, and what a wrong file does."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from builders.series import SERIES, write_series

from reanon_dagster.definitions import ROOT, build_definitions, series_definitions
from reanon_dagster.partitions import partitions_of
from reanon_dagster.series.calendar import Calendar, CronCalendar, NamedCalendar, RegularCalendar

PINNED = Path(__file__).parent / "definitions.txt"
ONE_BACK = dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
MONTHLY = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: monthly, first: 2024-01}")
NAMES_DAYS = SERIES.replace("[r1, r2, r3, r4, r5]", "['2024-01-31', '2024-03-05']")
CRON = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cron: '30 4 1,15 * *', first: 2024-01-10}")
NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)


def described(definitions: dg.Definitions) -> list[str]:
    """Every name that bookmarks, API calls and other code locations can hold on to, a line each."""
    repository = definitions.get_repository_def()
    graph = repository.asset_graph
    lines = []
    for key in sorted(graph.get_all_asset_keys()):
        node = graph.get(key)
        after = ", ".join(sorted(parent.to_user_string() for parent in node.parent_keys))
        lines.append(f"asset {key.to_user_string()} in {node.group_name}" + (f" after {after}" if after else ""))
    lines += [f"check {key.asset_key.to_user_string()}:{key.name}" for key in sorted(graph.asset_check_keys)]
    lines += [f"job {job.name}" for job in repository.get_all_jobs() if not job.name.startswith("__")]
    lines += [f"schedule {one.name}: {one.cron_schedule}" for one in repository.schedule_defs]
    lines += [f"sensor {one.name}" for one in repository.sensor_defs]
    return lines


def test_the_names_of_our_own_series_are_the_pinned_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REANON_SERIES", raising=False)
    assert sorted(described(build_definitions())) == sorted(PINNED.read_text().splitlines())


CALENDARS: dict[str, tuple[Calendar, list[str], list[str]]] = {
    "daily": (
        RegularCalendar.of("daily", "2024-02-28"),
        ["2024-02-28", "2024-02-29", "2024-03-01"],
        ["2024-02-28", "2024-02-29", "2024-03-01"],
    ),
    "weekly": (
        RegularCalendar.of("weekly", "2020-W53"),
        ["2020-W53", "2021-W01", "2021-W02"],
        ["2020-12-28", "2021-01-04", "2021-01-11"],
    ),
    "monthly": (
        RegularCalendar.of("monthly", "2023-12"),
        ["2023-12", "2024-01", "2024-02"],
        ["2023-12-01", "2024-01-01", "2024-02-01"],
    ),
    "quarterly": (
        RegularCalendar.of("quarterly", "2023-Q4"),
        ["2023-Q4", "2024-Q1", "2024-Q2"],
        ["2023-10-01", "2024-01-01", "2024-04-01"],
    ),
    "yearly": (
        RegularCalendar.of("yearly", "2022"),
        ["2022", "2023", "2024"],
        ["2022-01-01", "2023-01-01", "2024-01-01"],
    ),
    "cron": (
        CronCalendar.of("30 4 1,15 * *", "2024-01-10"),
        ["2024-01-15", "2024-02-01", "2024-02-15"],
        ["2024-01-15", "2024-02-01", "2024-02-15"],
    ),
    "named dates": (
        NamedCalendar(("2024-01-31", "2024-02-03", "2024-06-30")),
        ["2024-01-31", "2024-02-03", "2024-06-30"],
        ["2024-01-31", "2024-02-03", "2024-06-30"],
    ),
    "names": (NamedCalendar(("r2", "r10", "r1")), ["r2", "r10", "r1"], ["r2", "r10", "r1"]),
}


@pytest.mark.parametrize(("calendar", "releases", "keys"), CALENDARS.values(), ids=CALENDARS)
def test_a_partition_is_a_release_and_a_release_is_a_partition(
    calendar: Calendar, releases: list[str], keys: list[str]
) -> None:
    listed = list(partitions_of(calendar).get_partition_keys(current_time=NOW))
    assert listed[:3] == keys
    assert [calendar.release_of(key) for key in listed[:3]] == releases
    assert [calendar.partition_key(calendar.release_of(key)) for key in listed] == listed


@pytest.mark.parametrize(("calendar", "releases", "keys"), CALENDARS.values(), ids=CALENDARS)
def test_there_is_a_partition_for_every_release_that_is_due_and_for_no_other(
    calendar: Calendar, releases: list[str], keys: list[str]
) -> None:
    listed = list(partitions_of(calendar).get_partition_keys(current_time=NOW))
    assert [calendar.release_of(key) for key in listed] == calendar.due(NOW.date())


@pytest.mark.parametrize("name", [name for name in CALENDARS if name != "names"])
def test_one_partition_back_is_the_release_before(name: str) -> None:
    calendar, _, _ = CALENDARS[name]
    partitions = partitions_of(calendar)
    assert isinstance(partitions, dg.TimeWindowPartitionsDefinition)
    for key in partitions.get_partition_keys(current_time=NOW)[:20]:
        found = ONE_BACK.get_upstream_mapped_partitions_result_for_partitions(
            partitions.subset_with_partition_keys([key]), partitions, partitions
        )
        before = calendar.previous(calendar.release_of(key))
        assert list(found.partitions_subset.get_partition_keys()) == (
            [calendar.partition_key(before)] if before else []
        )


def test_a_named_day_that_is_still_to_come_has_its_partition_because_a_name_is_always_due() -> None:
    calendar = NamedCalendar(("2026-01-31", "2026-06-30", "2027-01-01"))
    assert list(partitions_of(calendar).get_partition_keys(current_time=NOW)) == calendar.due(NOW.date())


def test_names_that_are_days_out_of_order_stay_in_the_order_of_the_list() -> None:
    calendar = NamedCalendar(("2024-06-30", "2024-01-31"))
    assert list(partitions_of(calendar).get_partition_keys()) == ["2024-06-30", "2024-01-31"]


def test_no_asset_depends_on_itself_so_that_a_backfill_makes_each_release_in_one_run(tmp_path: Path) -> None:
    graph = series_definitions(write_series(tmp_path, text=MONTHLY)).get_repository_def().asset_graph
    for key in graph.get_all_asset_keys():
        assert key not in graph.get(key).parent_keys
        assert graph.get(key).backfill_policy is None  # which is: one run for each partition


def test_every_asset_says_who_owns_it_what_it_is_and_which_pool_it_needs(tmp_path: Path) -> None:
    text = MONTHLY + "owners: [steward@example.org, 'team:registry', Eve]\ntitle: Clinic visits\n"
    definitions = series_definitions(write_series(tmp_path, text=text))
    assets = [asset for asset in definitions.assets or () if isinstance(asset, dg.AssetsDefinition)]
    assert [asset.key.path[-1] for asset in assets] == ["snapshot", "candidate", "published", "evidence"]
    for asset in assets:
        spec = asset.get_asset_spec(asset.key)
        assert spec.group_name == "clinic"
        assert spec.owners == ["steward@example.org", "team:registry"]
        assert spec.kinds == {"duckdb", "python"}
        assert len(spec.description or "") > 150
        assert "Clinic visits" in (spec.description or "")
        assert asset.op.pool == "reanon_clinic"


@pytest.mark.parametrize(
    ("text", "schedules"),
    [
        (MONTHLY, {"clinic_cadence": "0 6 1 * *", "clinic_on_time_daily": "0 7 * * *"}),
        (CRON, {"clinic_cadence": "30 4 1,15 * *", "clinic_on_time_daily": "0 7 * * *"}),
        (SERIES, {}),
    ],
    ids=["cadence", "cron", "names"],
)
def test_schedule_and_sensor_are_off_by_default(tmp_path: Path, text: str, schedules: dict[str, str]) -> None:
    repository = series_definitions(write_series(tmp_path, text=text)).get_repository_def()
    assert {one.name: one.cron_schedule for one in repository.schedule_defs} == schedules
    assert [one.name for one in repository.sensor_defs] == ["clinic_snapshot_landed"]
    assert all(one.default_status is dg.DefaultScheduleStatus.STOPPED for one in repository.schedule_defs)
    assert all(one.default_status is dg.DefaultSensorStatus.STOPPED for one in repository.sensor_defs)
    for trigger in (*repository.schedule_defs, *repository.sensor_defs):
        assert trigger.job_name == ("clinic_on_time" if "on_time" in trigger.name else "clinic_release")


@pytest.mark.parametrize("text", [MONTHLY, CRON, NAMES_DAYS, SERIES], ids=["cadence", "cron", "days", "names"])
def test_every_kind_of_calendar_loads_and_its_definitions_are_valid(tmp_path: Path, text: str) -> None:
    dg.Definitions.validate_loadable(series_definitions(write_series(tmp_path, text=text)))


def test_a_name_with_a_hyphen_becomes_one_that_dagster_allows(tmp_path: Path) -> None:
    path = write_series(tmp_path, text=SERIES.replace("series: clinic", "series: my-clinic"))
    repository = series_definitions(path).get_repository_def()
    assert {key.path[0] for key in repository.asset_graph.get_all_asset_keys()} == {"my_clinic"}


def test_a_wrong_file_takes_no_other_down_and_all_errors_of_all_files_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_series(tmp_path / "data" / "clinic")
    write_series(
        tmp_path / "data" / "first", text="series: first\nsensitive: disease\nquasi_identifiers: {age: {kind: x}}"
    )
    write_series(tmp_path / "elsewhere" / "second", text="this is: [no yaml")
    write_series(tmp_path / "third", text=SERIES.replace("m: 3", "m: 1"))
    monkeypatch.setenv("REANON_SERIES", f"{tmp_path / 'elsewhere'}{os.pathsep}{tmp_path / 'third'}")
    definitions = build_definitions(tmp_path)
    dg.Definitions.validate_loadable(definitions)
    graph = definitions.get_repository_def().asset_graph
    keys = {key.to_user_string() for key in graph.get_all_asset_keys()}
    whole = {f"clinic/{asset}" for asset in ("snapshot", "candidate", "published", "evidence")}
    assert keys == {*whole, "first/broken", "second/broken", "third/broken"}
    assert len(caplog.records) == 1
    said = caplog.records[0].getMessage()
    for line in ("first: source must", "first: releases must", "first: technique must", "second: ", "third: "):
        assert line in said
    shown = graph.get(dg.AssetKey(["first", "broken"])).description or ""
    for word in ("was not loaded", "source must", "releases must", "technique must"):
        assert word in shown


def test_of_two_series_with_one_name_the_second_is_reported_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("REANON_SERIES", raising=False)
    for name in ("a", "b"):
        write_series(tmp_path / "data" / name)
    definitions = build_definitions(tmp_path)
    assert len(definitions.get_repository_def().asset_graph.get_all_asset_keys()) == 4
    assert "b: another series has the same name" in caplog.text


def test_a_folder_without_any_series_is_an_empty_code_location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REANON_SERIES", raising=False)
    dg.Definitions.validate_loadable(build_definitions(tmp_path))


def test_the_code_location_is_imported_in_less_than_4_seconds_of_cpu_and_without_heavy_packages() -> None:
    program = (
        "import json, sys, time\n"
        "import reanon_dagster.definitions\n"
        "print(json.dumps([time.process_time(), sorted(sys.modules)]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    seconds, modules = json.loads(ended.stdout)
    assert not {"great_expectations", "pyspark", "matplotlib", "pandas"} & set(modules)
    assert seconds < 4
