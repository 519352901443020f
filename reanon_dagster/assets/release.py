"""The release: computed, judged, and published, refused or skipped, in one step; and when Dagster requests it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg

from reanon_core.brakes import accepted_reason
from reanon_core.model.errors import ReanonError, Refused
from reanon_dagster.asset_checks.verdicts import record_on_time, record_unaudited
from reanon_dagster.assets.check_results import (
    changed_checks,
    judged_results,
    refused_results,
    release_checks,
    stored_results,
)
from reanon_dagster.assets.described import DESCRIBED, data_version, descriptions, known_version, release_description
from reanon_dagster.assets.metadata import NOTHING_TO_DO, Metadata, peak_memory, remarks
from reanon_dagster.assets.run_process import RELEASE, SERIES, TAG, this_process
from reanon_dagster.assets.series_assets import SeriesAssets, code_references, refusals_as_failures
from reanon_dagster.partitions import may_depend_on_itself, previous_release
from reanon_dagster.releasing.release import publish_release
from reanon_dagster.releasing.release_order import awaited, next_release
from reanon_dagster.releasing.release_suites import JUDGED, PUBLISHED, DataDocs
from reanon_dagster.releasing.series_view import SeriesView, read_continuable_view, read_view
from reanon_dagster.releasing.snapshot_intake import require_published_input
from reanon_dagster.releasing.withdrawal import require_not_withdrawn
from reanon_dagster.resources import SeriesEnvironment
from reanon_dagster.series.series import Series
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.storage.series_store import read_verdicts

DESCRIPTION = """
One release of the series: what anyone may download. This step reads the snapshot, computes the release from it and from
the state of the release before, and judges it. If a check fails, nothing is published, this partition fails, and every
later release waits. Otherwise one transaction advances the series and publishes the release. A release that is
published already is described again, and one that waits for its day or its snapshot is skipped.
"""

Made = Iterator[dg.AssetCheckResult | dg.MaterializeResult[None]]


class ReleaseConfig(dg.Config):
    """How a run makes its release."""

    look_only: bool = False
    """Compute and judge the release, and publish nothing."""
    accept_drift: str = ""
    """Why a snapshot that looks like the wrong table is right; it is recorded."""


def build_release(assets: SeriesAssets) -> dg.AssetsDefinition:
    """The asset that makes a release; it depends on the state of the release before, and on that release itself."""
    key, before = assets.key("release"), previous_release(assets.partitions)
    chain = [assets.key("state"), *([key] if may_depend_on_itself(assets.partitions) else [])]
    made = assets.spec(
        "release",
        DESCRIPTION,
        deps=[assets.key("snapshot"), *(dg.AssetDep(one, partition_mapping=before) for one in chain)],
        kinds={"python", *assets.series.config.publish.formats},
        metadata=code_references(Path(__file__), assets.file),
        automation_condition=automation_condition(assets),
    )
    checks = release_checks(assets)

    # Dagster paints a check red that a run announces and does not judge, unless the step may be run for some of them.
    @dg.multi_asset(name=f"{assets.name}__release", specs=[made], check_specs=checks, can_subset=True, pool=assets.pool)
    def release(
        context: dg.AssetExecutionContext, config: ReleaseConfig, series_environment: SeriesEnvironment
    ) -> Made:
        name = assets.series.calendar.release_of(context.partition_key) if context.has_partition_key else ""
        tags = {SERIES: assets.name, RELEASE: name, TAG: this_process()}
        context.instance.add_run_tags(context.run.run_id, {tag: text for tag, text in tags.items() if text})
        with refusals_as_failures(about=name):
            try:
                yield from _ReleaseRun(assets, context, config, series_environment).results()
            except ReanonError as error:
                record_unaudited(context, key, error.redacted())
                record_reason(context, key, "refused", error.redacted())
                raise
            finally:
                placed = series_environment.placed(assets.series)
                record_on_time(context, assets.key("state"), placed, series_environment.day())

    return release


@dataclass(frozen=True)
class _ReleaseRun:
    """One run of the step."""

    assets: SeriesAssets
    context: dg.AssetExecutionContext
    config: ReleaseConfig
    environment: SeriesEnvironment

    @property
    def key(self) -> dg.AssetKey:
        return self.assets.key("release")

    @property
    def publishes(self) -> bool:
        """Whether the release itself is asked for, and not only its checks."""
        return not self.config.look_only and self.key in self.context.selected_asset_keys

    @property
    def checks(self) -> list[str]:
        """The checks that are asked for."""
        return sorted(one.name for one in self.context.selected_asset_check_keys)

    def _asked(self, results: Iterator[dg.AssetCheckResult]) -> list[dg.AssetCheckResult]:
        return [one for one in results if one.check_name in self.checks]

    def results(self) -> Made:
        """The release and its checks: made, described again, or skipped with a reason.

        Raises: every error of ours.
        """
        judged = False
        try:
            for made in self._decided():
                judged = True
                yield made
        except ReanonError as error:
            if not judged:
                yield from self._asked(refused_results(self.checks, self.key, error))
            raise

    def _decided(self) -> Made:
        name = self.assets.release(self.context)
        series, today = self.assets.placed(self.environment), self.environment.day()
        view = read_view(series)
        record = view.record(name)
        if record is not None:
            yield from self._again(series, view, record)
        elif reason := self._waits(series, view, name, today):
            skip(self.context, self.key, reason)
        else:
            yield from self._new(series, name, today)

    def _waits(self, series: Series, view: SeriesView, release: str, today: date) -> str | None:
        """What a release that is not published waits for; None if it can run, or was asked for out of its turn."""
        following = next_release(series, view.records)
        if reason := awaited(series, release, today):
            return reason
        early = in_backfill(self.context) and release != following
        return f"release {release} waits for {following}" if early else None

    def _again(self, series: Series, view: SeriesView, record: ReleaseRecord) -> Made:
        """A published release: its stored verdicts and its description.

        Raises: OutOfOrder if it was withdrawn, but in a backfill; Refused if its snapshot is another now.
        """
        if view.pending:
            raise Refused("\n".join(view.pending))
        if not in_backfill(self.context):  # in one, later releases wait for it
            require_not_withdrawn(record)
        require_published_input(series, view, record)
        held = read_verdicts(series.private_folder, record.position)
        judged = self._asked(stored_results(self.key, series, view, record, held))
        yield from self._published(series, record, judged, {**NOTHING_TO_DO, **changed_checks(series, held)})

    def _new(self, series: Series, name: str, today: date) -> Made:
        """The next release: computed, judged, and published unless it is only looked at.

        Raises: every error of ours, after the results of its checks if it was judged.
        """
        view = read_continuable_view(series)
        decided = DataDocs(series, name, PUBLISHED if self.publishes else JUDGED)
        try:
            publish_release(
                series,
                name,
                today,
                view=view,
                dry_run=not self.publishes,
                accept_drift=accepted_reason(self.config.accept_drift or None),
                progress=self.context.log.info,
                observer=decided,
            )
        except ReanonError:
            if decided.candidate is not None:
                yield from self._asked(judged_results(self.key, series, view, decided.candidate))
            raise
        if decided.candidate is None:  # another process has published it since the view was read
            found = read_view(series)
            record = found.record(name)
            if record is None:
                raise AssertionError("there was nothing to do for a release that is not published")
            yield from self._again(series, found, record)
            return
        judged = self._asked(judged_results(self.key, series, view, decided.candidate))
        if self.publishes:
            more = {**remarks(decided.candidate), **peak_memory(), "Data Docs": str(decided.page)}
            yield from self._published(series, None, judged, more)
        else:
            self.context.log.info(f"{name} was computed and judged, and nothing is published")
            yield from judged

    def _published(
        self, series: Series, record: ReleaseRecord | None, judged: list[dg.AssetCheckResult], more: Metadata
    ) -> Made:
        """Describe a release that is published, the latest one if it is None: what goes wrong here must not fail it.

        Without a description it has no data version either, by which the sensor of the ledger notices.
        """
        if not self.publishes:
            yield from judged
            return
        described: Metadata = {}
        version = None
        try:
            records = read_view(series).records[: None if record is None else record.position + 1]
            self._fill(series, records[-1])
            described = release_description(self.assets, series, records)
            version = dg.DataVersion(data_version(records[-1]))
        except (ReanonError, OSError) as error:  # such as a disk that was full or closed just after the commit
            self.context.log.warning(f"the release is published, and cannot be described: {type(error).__name__}")
        yield dg.MaterializeResult(self.key, metadata={**described, **more}, check_results=judged, data_version=version)

    def _fill(self, series: Series, record: ReleaseRecord) -> None:
        """Fill the partitions of the assets that describe a release, unless Dagster has them.

        Raises: every error of ours.
        """
        instance, partition = self.context.instance, self.context.partition_key
        wanted = [
            one for one in DESCRIBED if known_version(instance, self.assets.key(one), partition) != data_version(record)
        ]
        try:
            for event in descriptions(self.assets, series, record, wanted, self.context.log.info):
                self.context.log_event(event)
        except (ReanonError, OSError):
            raise
        except Exception as error:
            self.context.log.warning(f"no evidence for {record.release}: unexpected {type(error).__name__}")


def automation_condition(assets: SeriesAssets) -> dg.AutomationCondition[Any] | None:
    """The next release, once its snapshot is reported; after a failure, only when another snapshot is reported.

    The release before counts as missing until it is published, so no later release is requested.
    """
    if assets.series.config.automation != "condition":
        return None
    condition = dg.AutomationCondition
    corrected = condition.any_deps_updated().allow(dg.AssetSelection.assets(assets.key("snapshot")))
    may_run = ~condition.in_progress() & (~condition.execution_failed() | corrected)
    return condition.missing() & ~condition.any_deps_missing() & may_run


WITHDRAWN = "reanon/withdrawn"
"""The tag of a run that takes the green from a withdrawn release."""
BACKFILL = "dagster/backfill"
"""The tag with which Dagster marks the runs of a backfill."""
LONGEST_TAG = 200


def record_reason(context: dg.AssetExecutionContext, asset: dg.AssetKey, word: str, reason: str) -> None:
    """Record the reason with the events of the partition, and as the tag `reanon/<word>` in the list of runs."""
    if context.has_partition_key:  # a run of several releases has none, and makes none
        context.log_event(dg.AssetObservation(asset, partition=context.partition_key, metadata={word: reason}))
    context.instance.add_run_tags(context.run.run_id, {f"reanon/{word}": reason.replace("\n", "; ")[:LONGEST_TAG]})


def in_backfill(context: dg.AssetExecutionContext) -> bool:
    """Whether the run belongs to a backfill, in which a release may be asked for that no one has a snapshot of."""
    return BACKFILL in context.run.tags


def skip(context: dg.AssetExecutionContext, asset: dg.AssetKey, reason: str) -> None:
    """Record the reason; the run succeeds and materializes nothing, so that no partition turns red.

    The daemon finds that the later releases can never start, and ends the backfill as failed. Nothing of the backfill
    is edited here: the daemon writes its own copy at every tick, and would lose the edit or bring it back.
    """
    context.log.info(f"skipped: {reason}")
    record_reason(context, asset, "skipped", reason)
