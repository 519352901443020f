"""Assets of other people below `release`: the example of docs/dagster.md, and what they may load."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from builders.assets import QUIET, Maker
from builders.documented_steps import blocks
from builders.series import SERIES, lively, write_series

from reanon_core.model.errors import Refused
from reanon_dagster import PublishedReleases, each_release, release_of, release_partitions
from reanon_dagster.cli import main
from reanon_dagster.definitions import ROOT, series_definitions
from reanon_dagster.partitions import partitions_of
from reanon_dagster.series.calendar import CronCalendar, NamedCalendar, RegularCalendar

QUARTERLY = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: quarterly, first: 2024-Q1}")
QUARTERS = ("2024-Q1", "2024-Q2", "2024-Q3")


@pytest.fixture
def form() -> str:
    return "boxes"


@pytest.fixture
def maker(tmp_path: Path, form: str) -> Iterator[Maker]:
    snapshots = dict(zip(QUARTERS, lively(3, 72).values(), strict=True))
    with dg.DagsterInstance.ephemeral() as instance:
        yield Maker(
            write_series(tmp_path / "my-series", text=f"{QUARTERLY}publish: {{form: {form}}}\n", snapshots=snapshots),
            instance,
        )


@pytest.mark.parametrize("form", ["boxes", "decoupled"])
def test_the_documented_asset_reports_every_release_under_its_name(
    maker: Maker, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = blocks(ROOT / "docs" / "dagster.md", "Assets below `release`", "python")
    monkeypatch.chdir(maker.path.parents[1])
    namespace: dict[str, Any] = {"__name__": "example"}
    exec(compile(example, "example", "exec"), namespace)  # as the page has it
    mine: dg.Definitions = namespace["defs"]
    definitions = dg.Definitions.merge(mine, series_definitions(maker.path))
    for quarter in QUARTERS[:2]:
        assert maker.make(quarter).success
    asset = dg.AssetKey("diseases_by_release")
    job = definitions.resolve_implicit_global_asset_job_def().get_subset(asset_selection={asset})
    assert job.execute_in_process(partition_key="2024-04-01", instance=maker.instance, run_config=QUIET).success
    event = maker.instance.get_latest_materialization_event(asset)
    assert event is not None
    assert event.asset_materialization is not None
    told = event.asset_materialization.metadata
    assert told["release"].value == "2024-Q2"
    described = maker.metadata("release")
    invented = described["counterfeits"].value if form == "boxes" else 0  # in the other form they are among the values
    assert told["people"].value == described["dagster/row_count"].value - invented
    found = dg.evaluate_automation_conditions(
        definitions, maker.instance, dg.AssetSelection.assets(asset)
    )  # history too: the first quarter was not reported yet, and the third is not published
    assert found.get_requested_partitions(asset) == {"2024-01-01"}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, duckdb.DuckDBPyRelation, pa.Table])
def test_a_parameter_gets_the_table_in_the_type_it_asks_for(maker: Maker, kind: type) -> None:
    assert main(["backfill", str(maker.path), "--to", "2024-Q2", "--quiet"]) == 0
    seen = []

    @dg.asset(
        ins={"release": dg.AssetIn(dg.AssetKey(["clinic", "release"]), input_manager_key="published")},
        partitions_def=release_partitions(maker.path),
    )
    def below(context: dg.AssetExecutionContext, release: kind) -> None:  # type: ignore[valid-type]
        seen.append((release_of(context), release))

    stub = dg.AssetSpec(dg.AssetKey(["clinic", "release"]), partitions_def=release_partitions(maker.path))
    alone = dg.Definitions([stub, below], resources={"published": PublishedReleases(series=str(maker.path))})
    job = alone.resolve_implicit_global_asset_job_def()  # as in a code location without the series
    for key, expected in (("2024-04-01", True), ("2024-07-01", False)):
        result = job.execute_in_process(
            partition_key=key, instance=maker.instance, run_config=QUIET, raise_on_error=False
        )
        assert result.success == expected  # the third quarter is not published
    ((release, table),) = seen
    assert release == "2024-Q2"
    assert isinstance(table, kind)
    assert "age_min" in (table.column_names if kind is pa.Table else list(table.columns))


def test_a_release_that_is_not_there_is_said_and_nothing_can_be_written(maker: Maker) -> None:
    published = PublishedReleases(series=str(maker.path.parent))
    context = dg.build_input_context(
        asset_key=dg.AssetKey(["clinic", "release"]),
        dagster_type=dg.PythonObjectDagsterType(pd.DataFrame),
        partition_key="2024-04-01",
        asset_partitions_def=release_partitions(maker.path),
    )
    with pytest.raises(Refused, match="release 2024-Q2 of clinic has no people: it is not published, or was withdrawn"):
        published.load_input(context)
    with pytest.raises(Refused, match="read here and never written"):
        published.handle_output(dg.build_output_context(), 1)


CALENDARS = {
    "quarterly": (RegularCalendar.of("quarterly", "2024-Q1"), "2024-Q2"),
    "weekly": (RegularCalendar.of("weekly", "2024-W01"), "2024-W09"),
    "monthly": (RegularCalendar.of("monthly", "2024-01"), "2024-02"),
    "yearly": (RegularCalendar.of("yearly", "2020"), "2021"),
    "daily": (RegularCalendar.of("daily", "2024-01-01"), "2024-01-02"),
    "cron": (CronCalendar.of("30 4 1,15 * *", "2024-01-10"), "2024-02-01"),
    "names": (NamedCalendar(("r9", "r10")), "r10"),
}


@pytest.mark.parametrize("name", CALENDARS)
def test_the_release_of_a_partition_has_its_own_name(name: str) -> None:
    calendar, release = CALENDARS[name]
    told = []

    @dg.asset(partitions_def=partitions_of(calendar))
    def below(context: dg.AssetExecutionContext) -> None:
        told.append(release_of(context))

    with dg.DagsterInstance.ephemeral() as instance:
        key = calendar.partition_key(release)
        assert dg.materialize([below], partition_key=key, instance=instance, run_config=QUIET).success
    assert told == [release]


def test_each_release_is_a_condition_that_waits_for_what_it_depends_on(maker: Maker) -> None:
    @dg.asset(
        deps=[dg.AssetKey(["clinic", "release"])],
        partitions_def=release_partitions(maker.path),
        automation_condition=each_release(),
    )
    def below() -> None: ...

    definitions = dg.Definitions.merge(dg.Definitions([below]), series_definitions(maker.path))
    asked = dg.AssetSelection.assets(below.key)
    found = dg.evaluate_automation_conditions(definitions, maker.instance, asked)
    assert found.get_requested_partitions(below.key) == set()
    for quarter in QUARTERS[:2]:
        assert maker.make(quarter).success
    found = dg.evaluate_automation_conditions(definitions, maker.instance, asked, cursor=found.cursor)
    assert found.get_requested_partitions(below.key) == {"2024-01-01", "2024-04-01"}
