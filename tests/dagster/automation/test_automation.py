"""Sensor and schedule: exactly the next due release whose snapshot is there, and once for each version of it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from builders.assets import Maker
from builders.series import SERIES, lively, people, write_series

from reanon_dagster.cli import main
from reanon_dagster.definitions import series_definitions
from reanon_dagster.resources import SeriesEnvironment

MONTHLY = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: monthly, first: 2024-01}")
MONTHS = [f"2024-{month:02d}" for month in range(1, 6)]
Ask = Callable[..., list[dg.RunRequest] | str]


TODAY = SeriesEnvironment(today="2024-03-20")


def by_sensor(path: Path, environment: SeriesEnvironment = TODAY) -> list[dg.RunRequest] | str:
    """What the sensor asks for at a tick, as the daemon evaluates it; or why it does not ask."""
    repository = series_definitions(path, environment).get_repository_def()
    with dg.DagsterInstance.ephemeral() as instance:
        resources = repository.get_top_level_resources()
        context = dg.build_sensor_context(instance, repository_def=repository, resources=resources)
        tick = repository.get_sensor_def("clinic_snapshot_landed").evaluate_tick(context)
    return list(tick.run_requests or []) or str(tick.skip_message)


def by_schedule(path: Path, environment: SeriesEnvironment = TODAY) -> list[dg.RunRequest] | str:
    """The same of the schedule."""
    repository = series_definitions(path, environment).get_repository_def()
    with dg.DagsterInstance.ephemeral() as instance:
        resources = repository.get_top_level_resources()
        context = dg.build_schedule_context(instance, repository_def=repository, resources=resources)
        tick = repository.get_schedule_def("clinic_cadence").evaluate_tick(context)
    return list(tick.run_requests or []) or str(tick.skip_message)


@pytest.fixture(params=[by_sensor, by_schedule], ids=["sensor", "schedule"])
def ask(request: pytest.FixtureRequest) -> Ask:
    return request.param


def only(answer: list[dg.RunRequest] | str) -> dg.RunRequest:
    assert isinstance(answer, list), answer
    assert len(answer) == 1
    return answer[0]


@pytest.fixture
def series(tmp_path: Path) -> Path:
    return write_series(tmp_path, text=MONTHLY, snapshots=dict(zip(MONTHS, lively().values(), strict=True)))


def write(folder: Path, release: str, frame: pd.DataFrame) -> None:
    frame.to_csv(folder / "snapshots" / f"{release}.csv", index=False)


def test_the_first_release_is_requested_and_no_later_one_though_all_snapshots_are_there(series: Path, ask: Ask) -> None:
    request = only(ask(series))
    assert request.partition_key == "2024-01"
    assert request.tags["dagster/partition"] == "2024-01"


def test_after_each_release_the_next_one_is_requested_until_one_is_not_due(series: Path, ask: Ask) -> None:
    for month in ("2024-01", "2024-02"):
        assert only(ask(series)).partition_key == month
        assert main(["publish", str(series), "--release", month, "--quiet"]) == 0
    assert ask(series) == "release 2024-03 is due on 2024-04-01"  # though its snapshot is there


def test_a_release_is_due_on_the_day_after_its_period(series: Path, ask: Ask) -> None:
    assert ask(series, SeriesEnvironment(today="2024-01-31")) == "release 2024-01 is due on 2024-02-01"
    assert only(ask(series, SeriesEnvironment(today="2024-02-01"))).partition_key == "2024-01"


def test_nothing_is_requested_while_the_snapshot_is_missing_though_later_ones_are_there(
    series: Path, tmp_path: Path, ask: Ask
) -> None:
    (tmp_path / "snapshots" / "2024-01.csv").rename(tmp_path / "late.csv")
    assert ask(series) == "release 2024-01 waits for its snapshot snapshots/2024-01.csv"
    (tmp_path / "late.csv").rename(tmp_path / "snapshots" / "2024-01.csv")
    assert only(ask(series)).partition_key == "2024-01"


def test_a_request_has_one_key_as_long_as_the_snapshot_is_the_same_and_another_when_it_was_corrected(
    series: Path, tmp_path: Path, ask: Ask
) -> None:
    first = only(ask(series)).run_key
    assert first is not None
    assert first.startswith("clinic:2024-01:")
    assert only(ask(series)).run_key == first
    write(tmp_path, "2024-01", people(180))
    corrected = only(ask(series)).run_key
    assert corrected != first
    snapshot = tmp_path / "snapshots" / "2024-01.csv"
    os.utime(snapshot, ns=(0, snapshot.stat().st_mtime_ns + 1))  # the same size, written again
    assert only(ask(series)).run_key not in {first, corrected}


def test_a_release_that_failed_is_requested_again_only_after_its_snapshot_was_corrected(
    series: Path, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    wrong = people(60)
    wrong.loc[:39, "disease"] = "flu"
    write(tmp_path, "2024-01", wrong)
    maker = Maker(series, instance)
    failed = only(by_sensor(series))
    assert "not 3-eligible" in maker.refusal("2024-01")
    assert only(by_sensor(series)).run_key == failed.run_key  # which the daemon has seen, and does not run again
    write(tmp_path, "2024-01", people(60))
    assert only(by_sensor(series)).run_key != failed.run_key
    assert maker.make("2024-01").success
    assert only(by_sensor(series)).partition_key == "2024-02"


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def test_nothing_is_requested_of_a_series_whose_frozen_settings_were_changed(series: Path, ask: Ask) -> None:
    main(["publish", str(series), "--quiet"])
    series.write_text(MONTHLY.replace("m: 3", "m: 2"))
    assert "technique.m was 3 and is 2" in str(ask(series))


def test_names_have_a_sensor_alone_and_it_ends_with_the_last_name(tmp_path: Path) -> None:
    path = write_series(tmp_path, text=SERIES.replace("[r1, r2, r3, r4, r5]", "[r1, r2]"), snapshots=lively(2))
    assert series_definitions(path).schedules == []
    for release in ("r1", "r2"):
        assert only(by_sensor(path)).partition_key == release
        main(["publish", str(path), "--release", release, "--quiet"])
    assert by_sensor(path) == "every release is published"


def test_a_named_day_that_is_still_to_come_is_requested_when_its_snapshot_has_landed(tmp_path: Path) -> None:
    text = SERIES.replace("[r1, r2, r3, r4, r5]", "['2024-01-31', '2199-06-30']")
    path = write_series(tmp_path, text=text, snapshots={"2024-01-31": people(60), "2199-06-30": people(60)})
    main(["publish", str(path), "--release", "2024-01-31", "--quiet"])
    assert only(by_sensor(path)).partition_key == "2199-06-30"


def test_a_tick_of_a_cron_series_is_requested_on_its_own_day(tmp_path: Path, ask: Ask) -> None:
    text = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cron: '30 4 20 * *', first: 2024-03-01}")
    path = write_series(tmp_path, text=text, snapshots={"2024-03-20": people(60)})
    assert only(ask(path)).partition_key == "2024-03-20"


def test_a_release_that_is_due_by_our_calendar_waits_for_its_partition(tmp_path: Path, ask: Ask) -> None:
    path = write_series(
        tmp_path, text=MONTHLY.replace("first: 2024-01", "first: 2199-01"), snapshots={"2199-01": people(60)}
    )
    tomorrow = SeriesEnvironment(today="2199-02-01")  # east of Greenwich it is tomorrow already
    assert "has no partition for it yet" in str(ask(path, tomorrow))


def test_a_query_is_asked_for_its_rows_before_its_release_is_requested(tmp_path: Path) -> None:
    import duckdb

    text = SERIES.replace(
        '{path: "snapshots/{release}.csv", id: patient}',
        "{duckdb: clinic.duckdb, query: \"select * from visits where month = '{release}'\", id: patient}",
    )
    path = write_series(tmp_path, text=text)
    assert by_sensor(path) == "release r1 waits for its snapshot clinic.duckdb"
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.register("arriving", people(60).assign(month="r2"))
        connection.execute("CREATE TABLE visits AS SELECT * FROM arriving")
    assert by_sensor(path) == "release r1 waits for its snapshot clinic.duckdb"
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("UPDATE visits SET month = 'r1'")
    assert only(by_sensor(path)).partition_key == "r1"
