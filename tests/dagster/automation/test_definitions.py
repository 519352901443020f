"""What Dagster is told of the series: keys, partitions, jobs, triggers, and what a wrong file does."""

import itertools
import os
from datetime import UTC, date, datetime
from pathlib import Path

import dagster as dg
import pytest
from builders.series import SERIES, write_series
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.definitions import build_definitions, series_definitions
from reanon_dagster.partitions import may_depend_on_itself, partitions_of
from reanon_dagster.series.calendar import Calendar, CronCalendar, NamedCalendar, RegularCalendar
from reanon_dagster.series.series_file import load_series

PINNED = Path(__file__).parent / "definitions.txt"
ONE_BACK = dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
MONTHLY = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: monthly, first: 2024-01}")
NAMES_DAYS = SERIES.replace("[r1, r2, r3, r4, r5]", "['2024-01-31', '2024-03-05']")
CRON = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cron: '30 4 1,15 * *', first: 2024-01-10}")
ASSETS = ("snapshot", "state", "release", "evidence")
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
        ["2023-12", "2024-01", "2024-02"],
    ),
    "quarterly": (
        RegularCalendar.of("quarterly", "2023-Q4"),
        ["2023-Q4", "2024-Q1", "2024-Q2"],
        ["2023-10-01", "2024-01-01", "2024-04-01"],
    ),
    "yearly": (
        RegularCalendar.of("yearly", "2022"),
        ["2022", "2023", "2024"],
        ["2022", "2023", "2024"],
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
    "named years": (
        NamedCalendar(("2003", "2004", "2005")),
        ["2003", "2004", "2005"],
        ["2003", "2004", "2005"],
    ),
    "names": (NamedCalendar(("r1", "r2", "r3")), ["r1", "r2", "r3"], ["r1", "r2", "r3"]),
    "names that do not sort": (
        NamedCalendar(("r2", "r10", "r1")),
        ["r2", "r10", "r1"],
        ["r2", "~002 r10", "~003 r1"],
    ),
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


@pytest.mark.parametrize("name", [name for name in CALENDARS if not name.startswith("names")])
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


@settings(max_examples=20, deadline=None)
@given(st.lists(st.dates(date(2024, 1, 1), date(2027, 12, 31)), min_size=1, max_size=4, unique=True))
@example([date(2020, 2, 29)])
@example([date(2024, 1, 29), date(2024, 2, 2)])
@example([date(2016, 12, 31), date(2028, 2, 29)])
def test_any_named_days_are_the_partitions_and_follow_each_other(days: list[date]) -> None:
    assume(min(days) <= NOW.date())  # Dagster has no partition before the first one has begun
    names = [day.isoformat() for day in sorted(days)]
    partitions = partitions_of(NamedCalendar(tuple(names)))
    assert list(partitions.get_partition_keys(current_time=NOW)) == names
    for before, name in itertools.pairwise([None, *names]):
        found = ONE_BACK.get_upstream_mapped_partitions_result_for_partitions(
            partitions.subset_with_partition_keys([name]), partitions, partitions
        )
        assert list(found.partitions_subset.get_partition_keys()) == ([before] if before else [])


def test_named_days_far_apart_need_few_exclusions() -> None:
    partitions = partitions_of(NamedCalendar(("2016-01-31", "2024-03-05")))
    assert isinstance(partitions, dg.TimeWindowPartitionsDefinition)
    assert len(partitions.exclusions or ()) < 200  # with daily windows they were 2,955


@pytest.mark.parametrize(
    ("names", "windows"),
    [
        (("2025-11", "2025-12", "2026-01"), True),
        (("2026", "2027"), True),
        (("2003", "2005"), False),
        (("2004", "2003"), False),
    ],
)
def test_names_that_are_months_or_years_in_a_row_are_time_windows(names: tuple[str, ...], windows: bool) -> None:
    partitions = partitions_of(NamedCalendar(names))
    assert may_depend_on_itself(partitions) == windows
    keys = list(partitions.get_partition_keys(current_time=NOW))
    assert [NamedCalendar(names).release_of(key) for key in keys] == list(names)


def test_names_that_are_days_out_of_order_stay_in_the_order_of_the_list() -> None:
    calendar = NamedCalendar(("2024-06-30", "2024-01-31"))
    assert list(partitions_of(calendar).get_partition_keys()) == ["2024-06-30", "~002 2024-01-31"]


@pytest.mark.parametrize("text", [MONTHLY, CRON, NAMES_DAYS, SERIES], ids=["cadence", "cron", "days", "names"])
def test_a_release_depends_on_its_snapshot_and_on_the_state_of_the_release_before(tmp_path: Path, text: str) -> None:
    series = SeriesAssets(load_series(write_series(tmp_path, text=text)))
    graph = series_definitions(series.series.folder).get_repository_def().asset_graph
    node, partitions = graph.get(series.key("release")), series.partitions
    chain = {series.key("state"), *([series.key("release")] if may_depend_on_itself(partitions) else [])}
    assert node.parent_keys == {series.key("snapshot"), *chain}
    assert node.backfill_policy is None  # which is: one run for each partition
    keys = list(partitions.get_partition_keys(current_time=NOW))[:6]
    for place, key in enumerate(keys):
        asked = partitions.subset_with_partition_keys([key])
        for parent in node.parent_keys:
            mapping = graph.get_partition_mapping(node.key, parent)
            found = mapping.get_upstream_mapped_partitions_result_for_partitions(asked, partitions, partitions)
            expected = keys[max(0, place - 1) : place] if parent in chain else [key]
            assert list(found.partitions_subset.get_partition_keys()) == expected


def test_only_dates_may_depend_on_themselves() -> None:
    assert {
        name for name, (calendar, _, _) in CALENDARS.items() if not may_depend_on_itself(partitions_of(calendar))
    } == {
        "names",
        "names that do not sort",
    }


def test_every_asset_says_who_owns_it_and_what_it_is(tmp_path: Path) -> None:
    text = MONTHLY + "owners: [steward@example.org, 'team:registry', Eve]\ntitle: Clinic visits\n"
    graph = series_definitions(write_series(tmp_path, text=text)).get_repository_def().asset_graph
    assert sorted(key.path[-1] for key in graph.get_all_asset_keys()) == sorted(ASSETS)
    for name in ASSETS:
        node = graph.get(dg.AssetKey(["clinic", name]))
        assert node.group_name == "clinic"
        assert node.owners == ["steward@example.org", "team:registry"]
        assert len(node.description or "") > 150
        assert "Clinic visits" in (node.description or "")
    assert graph.get(dg.AssetKey(["clinic", "release"])).pools == {"reanon_clinic"}
    assert graph.materializable_asset_keys == {dg.AssetKey(["clinic", "release"])}


@pytest.mark.parametrize(
    ("source", "publish", "snapshot", "release"),
    [
        ('path: "snapshots/{release}.csv"', "", "csv", {"parquet", "csv"}),
        ('path: "snapshots/{release}.PARQUET"', "publish: {formats: [csv]}", "parquet", {"csv"}),
        (
            "duckdb: a.duckdb, query: \"from a where r = '{release}'\"",
            "publish: {formats: parquet}",
            "duckdb",
            {"parquet"},
        ),
    ],
)
def test_the_kinds_of_an_asset_are_what_its_data_are_kept_in(
    tmp_path: Path, source: str, publish: str, snapshot: str, release: set[str]
) -> None:
    text = SERIES.replace('path: "snapshots/{release}.csv"', source) + publish
    graph = series_definitions(write_series(tmp_path, text=text)).get_repository_def().asset_graph
    assert {name: graph.get(dg.AssetKey(["clinic", name])).kinds for name in ASSETS} == {
        "snapshot": {snapshot},
        "state": {"duckdb"},
        "release": {"python", *release},
        "evidence": {"python"},
    }


def test_every_asset_links_to_its_series_file_and_the_release_to_its_code(tmp_path: Path) -> None:
    path = write_series(tmp_path)
    graph = series_definitions(path).get_repository_def().asset_graph
    for name in ASSETS:
        links = graph.get(dg.AssetKey(["clinic", name])).metadata["dagster/code_references"].code_references
        files = [Path(link.file_path) for link in links]
        assert files[-1] == path.resolve()
        assert [file.name for file in files[:-1]] == (["release.py"] if name == "release" else [])
        assert all(file.is_file() for file in files)


@pytest.mark.parametrize(
    ("text", "schedules"),
    [
        (MONTHLY, {"clinic_cadence": "0 6 1 * *", "clinic_on_time_daily": "0 7 * * *"}),
        (CRON, {"clinic_cadence": "30 4 1,15 * *", "clinic_on_time_daily": "0 7 * * *"}),
        (SERIES, {}),
    ],
    ids=["cadence", "cron", "names"],
)
def test_what_publishes_is_off_by_default(tmp_path: Path, text: str, schedules: dict[str, str]) -> None:
    repository = series_definitions(write_series(tmp_path, text=text)).get_repository_def()
    assert {one.name: one.cron_schedule for one in repository.schedule_defs} == schedules
    assert {one.name: one.default_status.value for one in repository.sensor_defs} == {
        "clinic_snapshot_landed": "STOPPED",
        "clinic_ledger": "RUNNING",  # it publishes nothing
    }
    assert all(one.default_status is dg.DefaultScheduleStatus.STOPPED for one in repository.schedule_defs)
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
    whole = {f"clinic/{asset}" for asset in ASSETS}
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
    assert len(definitions.get_repository_def().asset_graph.get_all_asset_keys()) == len(ASSETS)
    assert "b: another series has the same name" in caplog.text


def test_a_folder_without_any_series_is_an_empty_code_location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REANON_SERIES", raising=False)
    dg.Definitions.validate_loadable(build_definitions(tmp_path))
