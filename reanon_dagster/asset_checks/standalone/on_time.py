"""The check `on_time`: whether every release that is due is published, and a daily schedule that asks.

It belongs to `state`, which no run makes: a check without partitions in a run with one leaves a row in Dagster (1.13)
that never ends. The step of a release records the answer too.
"""

from typing import Any

import dagster as dg

from reanon_core.model.errors import ReanonError
from reanon_dagster.asset_checks.verdicts import ON_TIME, on_time_result, unjudged
from reanon_dagster.assets.series_assets import SeriesAssets, refusals_as_failures
from reanon_dagster.releasing.punctuality import has_dates
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.resources import SeriesEnvironment

DESCRIPTION = """
Every release that is due is published, at the latest half a period after the end of its own. The calendar and the
ledger decide: a backfill of old releases does not make a series look fresh.
"""
DAILY = "0 7 * * *"


def build_on_time(assets: SeriesAssets) -> list[dg.AssetChecksDefinition]:
    """The check of a series whose releases have dates; nothing for one whose releases have only names."""
    if not has_dates(assets.series.calendar):
        return []

    @dg.asset_check(
        asset=assets.key("state"), name=ON_TIME, description=DESCRIPTION.strip(), blocking=False, pool=assets.pool
    )
    def on_time(series_environment: SeriesEnvironment) -> dg.AssetCheckResult:
        with refusals_as_failures("status"):
            try:
                series = assets.placed(series_environment)
                return on_time_result(series, read_view(series).records, series_environment.day())
            except ReanonError as error:
                return unjudged(ON_TIME, assets.key("state"), error.redacted())

    return [on_time]


def on_time_schedule(assets: SeriesAssets) -> tuple[list[Any], list[dg.ScheduleDefinition]]:
    """A job with this check alone and a schedule for every morning, which is off by default; nothing without dates."""
    if not has_dates(assets.series.calendar):
        return [], []
    job = dg.define_asset_job(
        f"{assets.name}_on_time",
        selection=dg.AssetSelection.checks(dg.AssetCheckKey(assets.key("state"), ON_TIME)),
        description="Check whether every release that is due is published.",
        tags={"reanon/series": assets.name},
    )
    schedule = dg.ScheduleDefinition(
        name=f"{assets.name}_on_time_daily",
        job=job,
        cron_schedule=DAILY,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Every morning, check whether every release that is due is published.",
    )
    return [job], [schedule]
