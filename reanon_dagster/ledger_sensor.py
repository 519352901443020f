"""Dagster and the ledger agree: what the ledger has and Dagster lacks is reported, and dead runs are ended.

The ledger decides. Releases that a command published, and those whose home in Dagster was lost, become green. A
withdrawn one turns red, by a run that fails and says when it was withdrawn: Dagster cannot wipe a single partition.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import dagster as dg

from reanon_core.model.errors import ReanonError, Refused, counted
from reanon_dagster.asset_checks.verdicts import check_name
from reanon_dagster.assets.check_results import stored_results
from reanon_dagster.assets.described import (
    DATA_VERSION,
    DESCRIBED,
    data_version,
    descriptions,
    release_description,
)
from reanon_dagster.assets.release import WITHDRAWN
from reanon_dagster.assets.run_process import SERIES, TAG, is_gone
from reanon_dagster.assets.series_assets import SeriesAssets, refusals_as_failures
from reanon_dagster.automation import EVERY, Job
from reanon_dagster.releasing.series_view import SeriesView, read_view
from reanon_dagster.resources import SeriesEnvironment
from reanon_dagster.series.series import Series
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.storage.series_store import read_verdicts

MOST = 25
"""The number of releases that one run of the sensor reports, at most: the next run goes on."""
GREEN, BUSY = dg.AssetPartitionStatus.MATERIALIZED, dg.AssetPartitionStatus.IN_PROGRESS
Event = dg.AssetMaterialization | dg.AssetCheckEvaluation


@dataclass(frozen=True)
class Comparison:
    """What Dagster has of a series, beside its ledger."""

    assets: SeriesAssets
    series: Series
    instance: dg.DagsterInstance
    view: SeriesView

    def missing(self) -> Iterator[tuple[ReleaseRecord, list[str]]]:
        """The published releases that Dagster lacks, with the assets whose partitions it lacks."""
        seen = {asset: self._seen(asset) for asset in ("release", *DESCRIBED)}
        for record in self.view.records:
            key = self._partition(record)
            lacking = [asset for asset, known in seen.items() if not self._agrees(known[key], record)]
            if record.withdrawn is None and lacking and BUSY not in {known[key][0] for known in seen.values()}:
                yield record, lacking

    def withdrawn(self) -> Iterator[dg.RunRequest]:
        """A run for each withdrawn release that Dagster still shows as published; it fails, and says so."""
        status, last = self._status("release"), self._latest("release")
        for record in self.view.records:
            key = self._partition(record)
            if record.withdrawn is not None and status.get(key) is GREEN:
                shown = last[key][0] if key in last else 0
                yield dg.RunRequest(
                    run_key=f"{self.assets.name}:{record.release}:withdrawn:{shown}",
                    partition_key=key,
                    tags={WITHDRAWN: f"{record.withdrawn:%Y-%m-%d}"},
                )

    def events(self, record: ReleaseRecord, lacking: Sequence[str]) -> Iterator[Event]:
        """What is reported of a release, from the ledger alone: nothing is attacked.

        Raises: every error of ours.
        """
        yield from descriptions(self.assets, self.series, record, lacking, None)
        if "release" not in lacking:
            return
        key, partition = self.assets.key("release"), self._partition(record)
        described = release_description(self.assets, self.series, self.view.records[: record.position + 1])
        yield dg.AssetMaterialization(
            key,
            partition=partition,
            metadata={**described, "reported": "from the ledger, by no run of Dagster"},
            tags={DATA_VERSION: data_version(record)},
        )
        held = read_verdicts(self.series.private_folder, record.position)
        for result in stored_results(key, self.series, self.view, record, held):
            yield dg.AssetCheckEvaluation(
                asset_key=key,
                check_name=check_name(str(result.check_name)),
                passed=result.passed,
                severity=result.severity,
                description=result.description,
                metadata=result.metadata,
                partition=partition,
            )

    def _agrees(self, known: tuple[dg.AssetPartitionStatus | None, str | None], record: ReleaseRecord) -> bool:
        """Whether a partition is green, and by this release if its latest event is in sight."""
        status, version = known
        return status is GREEN and (version is None or version.startswith(data_version(record)))

    def _seen(self, asset: str) -> dict[str, tuple[dg.AssetPartitionStatus | None, str | None]]:
        """Status and data version of the partition of each release."""
        status, last = self._status(asset), self._latest(asset)
        keys = [self._partition(record) for record in self.view.records]
        return {key: (status.get(key), last[key][1] if key in last else None) for key in keys}

    def _status(self, asset: str) -> dict[str, dg.AssetPartitionStatus | None]:
        keys = [self._partition(record) for record in self.view.records]
        found = self.instance.get_status_by_partition(self.assets.key(asset), keys, self.assets.partitions)
        return dict(found or {})

    def _latest(self, asset: str) -> dict[str, tuple[int, str]]:
        """Number and data version of the latest materialization of each partition."""
        latest: dict[str, tuple[int, str]] = {}
        for record in self.instance.fetch_materializations(self.assets.key(asset), limit=1000).records:
            event = record.asset_materialization
            if event is not None and event.partition is not None and event.partition not in latest:
                latest[event.partition] = record.storage_id, (event.tags or {}).get(DATA_VERSION, "")
        return latest

    def _partition(self, record: ReleaseRecord) -> str:
        return self.series.calendar.partition_key(record.release)


def compared(assets: SeriesAssets, environment: SeriesEnvironment, instance: dg.DagsterInstance) -> Comparison:
    """Dagster beside the ledger.

    Raises: every error of ours; Refused if a release is committed, and its files cannot be published yet.
    """
    series = assets.placed(environment)
    view = read_view(series)
    if view.pending:
        raise Refused("\n".join(view.pending))
    return Comparison(assets, series, instance, view)


def end_dead_runs(assets: SeriesAssets, instance: dg.DagsterInstance) -> int:
    """End the runs of a series whose process is gone, as after a reboot: they would hold the queue for ever.

    They end as canceled: a failed run would paint a release red of which nothing is wrong.
    """
    started = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED], tags={SERIES: assets.name}))
    dead = [run for run in started if is_gone(run.tags.get(TAG))]
    for run in dead:
        instance.report_run_canceled(run, "the process of this run is gone; what it published stays, launch it again")
    return len(dead)


def ledger_sensor(assets: SeriesAssets, job: Job) -> dg.SensorDefinition:
    """Keeps Dagster in agreement with the ledger. It is on by default, because it publishes nothing."""

    @dg.sensor(
        name=f"{assets.name}_ledger",
        job=job,
        minimum_interval_seconds=EVERY,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Report to Dagster what the ledger has and Dagster lacks, turn withdrawn releases red, and end "
        "runs whose process is gone. It publishes nothing.",
    )
    def ledger(
        context: dg.SensorEvaluationContext, series_environment: SeriesEnvironment
    ) -> dg.SensorResult | dg.SkipReason:
        dead = end_dead_runs(assets, context.instance)
        try:
            found = compared(assets, series_environment, context.instance)
            lacking = list(found.missing())[:MOST]
            events = [event for record, names in lacking for event in found.events(record, names)]
            requests = list(found.withdrawn())
        except ReanonError as error:
            return dg.SkipReason(error.redacted())
        if events or requests:
            return dg.SensorResult(asset_events=events, run_requests=requests)
        return dg.SkipReason(f"ended {counted(dead, 'run', 'runs')}" if dead else "Dagster shows what the ledger has")

    return ledger


def ledger_job(assets: SeriesAssets) -> dg.JobDefinition:
    """The same at the press of a button, for all releases at once; withdrawn releases are left to the sensor."""

    @dg.op(name=f"{assets.name}__ledger", pool=assets.pool)
    def compare(context: dg.OpExecutionContext, series_environment: SeriesEnvironment) -> None:
        with refusals_as_failures("status"):
            found = compared(assets, series_environment, context.instance)
            for record, names in found.missing():
                context.log.info(f"reporting {record.release}: {', '.join(names)}")
                for event in found.events(record, names):
                    context.instance.report_runless_asset_event(event)

    @dg.job(
        name=f"{assets.name}_ledger",
        description="Report to Dagster what the ledger has and Dagster lacks, now.",
        tags={"reanon/series": assets.name},
    )
    def ledger() -> None:
        compare()

    return ledger
