"""Jobs, schedules and sensors of a series. The store alone decides which release is next."""

from typing import Any

import dagster as dg

from reanon_core.model.errors import ReanonError
from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.partitions import CRON
from reanon_dagster.releasing.release_order import awaited, next_release, ready_release
from reanon_dagster.releasing.series_view import read_continuable_view
from reanon_dagster.resources import SeriesEnvironment
from reanon_dagster.series.calendar import CronCalendar, RegularCalendar
from reanon_dagster.sources.snapshot_location import snapshot_version

Job = Any
"""What `dg.define_asset_job` gives: Dagster has no public name for it."""
EVERY = 60
"""Seconds between two runs of the sensor."""


def release_job(assets: SeriesAssets) -> Job:
    """The job that makes one release."""
    return dg.define_asset_job(
        f"{assets.name}_release",
        selection=[assets.key("release")],
        description=f"One release of {assets.series.title}: computed, judged, and published or refused.",
        tags={"reanon/series": assets.name},
    )


def next_request(assets: SeriesAssets, environment: SeriesEnvironment) -> dg.RunRequest | dg.SkipReason:
    """A request for the next release, if it is due and its snapshot is there; otherwise the reason why not.

    The run key contains the version of the snapshot: there is one request for each release and version, so that a
    corrected snapshot is tried again, and the same one is not tried twice.
    """
    series = assets.series
    today = environment.day()
    try:
        records = read_continuable_view(assets.placed(environment)).records
        release = ready_release(series, records, today)
        version = "" if release is None else snapshot_version(series, release)
    except ReanonError as error:
        return dg.SkipReason(error.redacted())
    if release is None:
        waiting = next_release(series, records)
        if waiting is None:
            return dg.SkipReason("every release is published")
        return dg.SkipReason(awaited(series, waiting, today) or f"{waiting} is ready")
    key = series.calendar.partition_key(release)
    if not assets.partitions.has_partition_key(key):
        return dg.SkipReason(f"{release} is due, but Dagster has no partition for it yet, because its clock is UTC")
    return dg.RunRequest(
        run_key=f"{assets.name}:{release}:{version}",
        partition_key=key,
    )


def landing_sensor(assets: SeriesAssets, job: Job) -> dg.SensorDefinition:
    """Requests the next release when its snapshot has landed. It is off by default."""

    @dg.sensor(
        name=f"{assets.name}_snapshot_landed",
        job=job,
        minimum_interval_seconds=EVERY,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="When the snapshot of the next release has landed, make that release.",
    )
    def snapshot_landed(series_environment: SeriesEnvironment) -> dg.RunRequest | dg.SkipReason:
        return next_request(assets, series_environment)

    return snapshot_landed


def report_sensor(assets: SeriesAssets) -> dg.SensorDefinition:
    """Reports the next release's snapshot to the automation condition when it has landed. It is off by default."""

    @dg.sensor(
        name=f"{assets.name}_snapshot_landed",
        minimum_interval_seconds=EVERY,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="When the snapshot of the next release has landed, fill its partition of `snapshot`.",
    )
    def snapshot_landed(
        context: dg.SensorEvaluationContext, series_environment: SeriesEnvironment
    ) -> dg.SensorResult | dg.SkipReason:
        request = next_request(assets, series_environment)
        if isinstance(request, dg.SkipReason):
            return request
        if context.cursor == request.run_key:
            return dg.SkipReason(f"the snapshot of {request.partition_key} is reported already")
        event = dg.AssetMaterialization(
            assets.key("snapshot"),
            partition=request.partition_key,
            metadata={"landed": "it is there, and not read yet"},
        )
        return dg.SensorResult(asset_events=[event], cursor=request.run_key)

    return snapshot_landed


def triggers(assets: SeriesAssets, job: Job) -> list[dg.SensorDefinition]:
    """The sensors of a series: one that requests releases, or one that reports snapshots and one for the condition."""
    if assets.series.config.automation == "sensor":
        return [landing_sensor(assets, job)]
    condition = dg.AutomationConditionSensorDefinition(
        f"{assets.name}_automation",
        target=[assets.key("release")],
        minimum_interval_seconds=EVERY,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="When the automation condition of `release` holds, make that release.",
    )
    return [report_sensor(assets), condition]


def cadence_schedule(assets: SeriesAssets, job: Job) -> dg.ScheduleDefinition | None:
    """Requests the next release six hours after its period has ended. It is off by default."""
    calendar = assets.series.calendar
    if isinstance(calendar, RegularCalendar):
        cron = CRON[calendar.cadence.name].replace("0 0", "0 6", 1)
    elif isinstance(calendar, CronCalendar):
        cron = calendar.expression
    else:
        return None  # names have no dates: the sensor triggers them

    @dg.schedule(
        name=f"{assets.name}_cadence",
        job=job,
        cron_schedule=cron,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="At the end of each period, make its release if the snapshot is there.",
    )
    def cadence(series_environment: SeriesEnvironment) -> dg.RunRequest | dg.SkipReason:
        return next_request(assets, series_environment)

    return cadence
