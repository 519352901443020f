"""What Dagster is told of the series: keys, partitions, jobs, triggers, and what a wrong file does."""

import json
import logging
import os
import subprocess
import sys
from datetime import date, datetime, timezone
from pathlib import Path

import dagster as dg
import pytest
from making.series import SERIES, write_series

from reanon_dagster.definitions import ROOT, build_definitions, series_definitions
from reanon_dagster.partitions import partitions_of
from reanon_dagster.series.calendar import Calendar, CronCalendar, NamedCalendar, RegularCalendar

PINNED = Path(__file__).parent / "definitions.txt"
ONE_BACK = dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
NOW = datetime(2026, 3, 15, 12, tzinfo=timezone.utc)


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


def keys_of(calendar: Calendar) -> list[str]:
    with dg.partitions.context.partition_loading_context(NOW) if False else _at(NOW):
        return list(partitions_of(calendar).get_partition_keys())


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
