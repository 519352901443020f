"""Whether a series is on time: the calendar and the ledger decide, not the time of a run."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import dagster as dg
import pytest
from builders.assets import QUIET, Maker
from builders.series import SERIES, lively, write_series

from reanon_dagster.definitions import series_definitions
from reanon_dagster.releasing.punctuality import deadline, has_dates, punctuality_of
from reanon_dagster.resources import SeriesEnvironment
from reanon_dagster.series.calendar import CronCalendar, NamedCalendar, RegularCalendar
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage.records import ReleaseRecord

QUARTERLY = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: quarterly, first: 2024-Q1}")
MONTHLY = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: monthly, first: 2024-01}")
MONTHS = ("2024-01", "2024-02", "2024-03")


def records(*releases: str) -> list[ReleaseRecord]:
    return [ReleaseRecord(place, release, "", "", "", 1, 0, 0.0) for place, release in enumerate(releases)]


@pytest.mark.parametrize(
    ("calendar", "release", "until"),
    [
        (RegularCalendar.of("daily", "2024-03-01"), "2024-03-01", date(2024, 3, 2)),
        (RegularCalendar.of("weekly", "2024-W09"), "2024-W09", date(2024, 3, 7)),
        (RegularCalendar.of("monthly", "2024-01"), "2024-01", date(2024, 2, 15)),
        (RegularCalendar.of("quarterly", "2024-Q1"), "2024-Q1", date(2024, 5, 16)),
        (RegularCalendar.of("yearly", "2023"), "2023", date(2024, 7, 2)),
        (CronCalendar.of("0 0 1 * *", "2024-01-01"), "2024-01-01", date(2024, 1, 16)),
        (NamedCalendar(("r1", "r2")), "r1", None),
    ],
)
def test_the_grace_is_half_a_period(
    calendar: RegularCalendar | CronCalendar | NamedCalendar, release: str, until: date | None
) -> None:
    assert deadline(calendar, release) == until
    assert has_dates(calendar) == (until is not None)


@pytest.mark.parametrize(
    ("published", "today", "late", "days"),
    [
        ([], date(2024, 3, 31), (), 0),  # nothing is due
        ([], date(2024, 5, 16), (), 0),  # due, within its grace
        ([], date(2024, 5, 17), ("2024-Q1",), 46),
        (["2024-Q1"], date(2024, 7, 1), (), 0),
        (["2024-Q1"], date(2025, 2, 20), ("2024-Q2", "2024-Q3", "2024-Q4"), 234),  # three quarters late
        (["2024-Q1", "2024-Q2", "2024-Q3", "2024-Q4"], date(2025, 2, 20), (), 0),
    ],
)
def test_a_release_is_late_when_it_is_due_not_published_and_its_grace_is_over(
    tmp_path: Path, published: list[str], today: date, late: tuple[str, ...], days: int
) -> None:
    series = load_series(write_series(tmp_path, text=QUARTERLY))
    found = punctuality_of(series, records(*published), today)
    assert (found.late, found.days) == (late, days)
    if late:
        assert found.sentence.startswith(f"release {late[0]} is late by {days} days")
        assert "waits for its snapshot" in found.sentence


def test_the_sentence_says_what_a_late_release_waits_for(tmp_path: Path) -> None:
    series = load_series(write_series(tmp_path, text=QUARTERLY, snapshots={"2024-Q1": lively(1, 12)["r1"]}))
    assert "; its snapshot is there: see `reanon status`" in punctuality_of(series, [], date(2025, 1, 1)).sentence
    assert "is due, and on time until 2024-05-16" in punctuality_of(series, [], date(2024, 4, 1)).sentence
    done = punctuality_of(series, records("2024-Q1"), date(2024, 4, 1)).sentence
    assert done == "every release that is due is published; the latest is 2024-Q1"


@pytest.fixture
def maker(tmp_path: Path) -> Iterator[Maker]:
    snapshots = dict(zip(MONTHS, lively(3, 72).values(), strict=True))
    with dg.DagsterInstance.ephemeral() as instance:
        yield Maker(write_series(tmp_path, text=MONTHLY, snapshots=snapshots), instance)


def answers(maker: Maker) -> list[tuple[str | None, bool, object]]:
    """What is recorded of the check, the oldest first: partition, passed, releases late."""
    key = dg.AssetCheckKey(maker.key("state"), "on_time")
    history = maker.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    evaluations = [(record.partition, record.evaluation) for record in reversed(history)]
    return [
        (partition, one.passed, one.metadata["releases late"].value)
        for partition, one in evaluations
        if one is not None
    ]


def test_every_run_records_whether_the_series_is_on_time_also_if_its_release_is_refused(maker: Maker) -> None:
    assert maker.make("2024-01").success
    assert not maker.make("2024-03").success
    assert maker.make("2024-02").success
    told = answers(maker)
    assert [(partition, passed) for partition, passed, _ in told] == [(None, False)] * 3
    assert told[0][2] == told[1][2] == int(str(told[2][2])) + 1  # a release that was just made is still late before it


def test_the_check_runs_alone_on_the_day_of_the_environment(maker: Maker) -> None:
    for today, passed, late in (("2024-02-15", True, 0), ("2024-03-31", False, 2)):
        definitions = series_definitions(maker.path, SeriesEnvironment(today=today))
        job = definitions.resolve_job_def("clinic_on_time")
        result = job.execute_in_process(instance=maker.instance, run_config=QUIET)
        (found,) = result.get_asset_check_evaluations()
        assert found.passed == passed
        assert found.severity is dg.AssetCheckSeverity.WARN
        assert found.metadata["releases late"].value == late
        assert found.metadata["days late"].value == (59 if late else 0)


def test_the_daily_schedule_runs_this_check_alone_and_is_off(maker: Maker) -> None:
    definitions = series_definitions(maker.path)
    schedule = definitions.resolve_schedule_def("clinic_on_time_daily")
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    result = definitions.resolve_job_def("clinic_on_time").execute_in_process(instance=maker.instance, run_config=QUIET)
    assert [one.check_name for one in result.get_asset_check_evaluations()] == ["on_time"]
    assert [(partition, passed) for partition, passed, _ in answers(maker)] == [(None, False)]


def test_a_series_with_names_has_no_check_and_no_schedule(tmp_path: Path) -> None:
    repository = series_definitions(write_series(tmp_path)).get_repository_def()
    assert {key.name for key in repository.asset_graph.asset_check_keys} & {"on_time"} == set()
    assert repository.schedule_defs == []
