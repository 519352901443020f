"""The release: computed, judged, and published, refused or skipped, in one step; and when Dagster requests it."""

import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg

from reanon_core.brakes import BrakesTripped, accepted_reason, size_change
from reanon_core.model.errors import InvalidSnapshot, ReanonError
from reanon_dagster.asset_checks.verdicts import not_judged, record_on_time, record_unaudited, results, spec, specs
from reanon_dagster.assets.expectation_check import EXPECTATIONS, expectation_results, expectation_specs
from reanon_dagster.assets.metadata import (
    NOTHING_TO_DO,
    Metadata,
    evidence_metadata,
    release_metadata,
    remarks,
    snapshot_metadata,
    state_metadata,
)
from reanon_dagster.assets.series_assets import SeriesAssets, code_references, refusals_as_failures
from reanon_dagster.partitions import may_depend_on_itself, previous_release
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.evidence import evidence_of
from reanon_dagster.releasing.judged_candidate import checks_of
from reanon_dagster.releasing.release import publish_release
from reanon_dagster.releasing.release_order import awaited
from reanon_dagster.releasing.release_suites import JUDGED, PUBLISHED, DataDocs
from reanon_dagster.releasing.series_view import SeriesView, read_continuable_view
from reanon_dagster.releasing.snapshot_intake import ExpectationsFailed
from reanon_dagster.resources import SeriesEnvironment
from reanon_dagster.series.series import Series
from reanon_dagster.sources.snapshot_location import SnapshotMissing
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.storage.series_store import read_state_summary, read_verdicts

DESCRIPTION = """
One release of the series: what anyone may download. This step reads the snapshot, computes the release from it and from
the state of the release before, and judges it. If a check fails, nothing is published, this partition fails, and every
later release waits. Otherwise one transaction advances the series and publishes the release.
"""

Made = Iterator[dg.AssetCheckResult | dg.MaterializeResult[None]]


FAILED_CHECKS = {ExpectationsFailed: EXPECTATIONS, BrakesTripped: "drift"}
"""The check that a snapshot fails which is refused with an error."""


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
    checks = [
        spec("valid", key, "The snapshot can be used.", assets.partitions),
        spec("drift", key, "The snapshot does not look like the wrong table.", assets.partitions),
        *expectation_specs(assets),
        *specs(checks_of(assets.series), key, assets.partitions),
    ]

    @assets.asset(
        "release",
        DESCRIPTION,
        deps=[assets.key("snapshot"), *(dg.AssetDep(one, partition_mapping=before) for one in chain)],
        check_specs=checks,
        output_required=False,  # `look_only` makes none
        kinds={"python", *assets.series.config.publish.formats},
        metadata=code_references(Path(__file__), assets.file),
        automation_condition=automation_condition(assets),
    )
    def release(
        context: dg.AssetExecutionContext, config: ReleaseConfig, series_environment: SeriesEnvironment
    ) -> Made:
        name = assets.series.calendar.release_of(context.partition_key) if context.has_partition_key else ""
        with refusals_as_failures(about=name):
            try:
                yield from _made(assets, context, [check.name for check in checks], config, series_environment)
            except ReanonError as error:
                record_unaudited(context, key, error.redacted())
                record_reason(context, key, "refused", error.redacted())
                raise
            finally:
                placed = series_environment.placed(assets.series)
                record_on_time(context, assets.key("state"), placed, series_environment.day())

    return release


def _made(
    assets: SeriesAssets,
    context: dg.AssetExecutionContext,
    checks: list[str],
    config: ReleaseConfig,
    environment: SeriesEnvironment,
) -> Made:
    """Compute and judge; then refuse, or commit and describe.

    Raises: every error of ours.
    """
    key, decided = assets.key("release"), None
    try:
        name = assets.release(context)
        series, today = assets.placed(environment), environment.day()
        view = read_continuable_view(series)
        reason = _reason_to_skip(context, series, view, name, today)
        if reason is None and not requested_along(context, view, name):
            decided = DataDocs(series, name, JUDGED if config.look_only else PUBLISHED)
            publish_release(
                series,
                name,
                today,
                view=view,
                dry_run=config.look_only,
                accept_drift=accepted_reason(config.accept_drift or None),
                progress=context.log.info,
                observer=decided,
            )
    except ReanonError as error:
        if decided is None or decided.candidate is None:
            yield from _unjudged(checks, key, error)
        else:
            yield from _judged(key, series, view, decided.candidate)
        raise
    if reason is not None:
        yield from not_judged(checks, key, reason)
        skip(context, key, reason)
        record_unaudited(context, key, reason)
    elif decided is None or decided.candidate is None:
        held = read_verdicts(series.private_folder, view.position - 1)
        judged = [*_snapshot_results(view, name), *expectation_results(series, name, None), *results(held, key)]
        yield _published(assets, context, series, judged, NOTHING_TO_DO)
    elif config.look_only:
        context.log.info(f"{name} was computed and judged, and nothing is published: look_only is set")
        yield from _judged(key, series, view, decided.candidate)
    else:
        judged = [*_judged(key, series, view, decided.candidate)]
        more = {**remarks(decided.candidate), "Data Docs": str(decided.page)}
        yield _published(assets, context, series, judged, more)


def _reason_to_skip(
    context: dg.AssetExecutionContext, series: Series, view: SeriesView, release: str, today: date
) -> str | None:
    """What a release of a backfill waits for; None if it can run, is published already, or was asked for alone."""
    if not in_backfill(context) or series.calendar.index(release) < view.position:
        return None
    return awaited(series, release, today)


def _unjudged(checks: list[str], key: dg.AssetKey, error: ReanonError) -> Iterator[dg.AssetCheckResult]:
    """The results of a release without a candidate: the check that its snapshot fails, and the others not judged."""
    invalid = isinstance(error, InvalidSnapshot) and not isinstance(error, SnapshotMissing)
    failed = "valid" if invalid else FAILED_CHECKS.get(type(error))
    if failed:
        yield dg.AssetCheckResult(check_name=failed, passed=False, description=error.redacted())
    yield from not_judged([check for check in checks if check != failed], key, error.redacted())


def _judged(key: dg.AssetKey, series: Series, view: SeriesView, made: Candidate) -> Iterator[dg.AssetCheckResult]:
    """The results of every check of a release that was judged."""
    yield from _snapshot_results(view, made.release, made)
    yield from expectation_results(series, made.release, made.doubts)
    yield from results(made.verdicts, key)


def _snapshot_results(view: SeriesView, release: str, made: Candidate | None = None) -> Iterator[dg.AssetCheckResult]:
    """The checks of a snapshot that was read; of the latest release without a candidate. An accepted brake warns."""
    here = view.records[-1].people if made is None else made.people
    yield dg.AssetCheckResult(check_name="valid", passed=True, metadata={"people": here})
    share, sentence = size_change(here, view.people_before(release))
    accepted = view.summary.accepted.get(release, ()) if made is None else made.accepted
    yield dg.AssetCheckResult(
        check_name="drift",
        passed=not accepted,
        severity=dg.AssetCheckSeverity.WARN,
        description="; ".join([sentence, *(f"accepted: {one.brake} ({one.reason})" for one in accepted)]),
        metadata={"people": here, "share changed": share},
    )


def _published(
    assets: SeriesAssets,
    context: dg.AssetExecutionContext,
    series: Series,
    judged: list[dg.AssetCheckResult],
    more: Metadata,
) -> dg.MaterializeResult[None]:
    """Describe the latest release, which is published: whatever goes wrong here must not fail it."""
    try:
        described = _described(assets, context, series)
    except (ReanonError, OSError) as error:  # such as a disk that was full or closed just after the commit
        context.log.warning(f"the release is published, and cannot be described: {type(error).__name__}")
        described = {}
    return dg.MaterializeResult(metadata={**described, **more}, check_results=judged)


def _described(assets: SeriesAssets, context: dg.AssetExecutionContext, series: Series) -> Metadata:
    """Fill the assets that describe the latest release, and return the metadata of the release itself.

    Raises: every error of ours.
    """
    records = read_continuable_view(series).records
    record = records[-1]
    _fill(assets, context, "snapshot", snapshot_metadata(record))
    state = read_state_summary(series.private_folder, record.position)
    if state is not None:
        _fill(assets, context, "state", state_metadata(record, state))
    try:
        _fill(assets, context, "evidence", _evidence(series, record, context))
    except Exception as error:
        context.log.warning(f"no evidence for {record.release}: unexpected {type(error).__name__}")
    return release_metadata(series, records, assets.key("snapshot"))


def _evidence(series: Series, record: ReleaseRecord, context: dg.AssetExecutionContext) -> Metadata:
    began = time.perf_counter()
    numbers = evidence_of(series, record.release, progress=context.log.info)
    return {**evidence_metadata(record, numbers), "seconds of attacks": round(time.perf_counter() - began, 3)}


def _fill(assets: SeriesAssets, context: dg.AssetExecutionContext, asset: str, metadata: Metadata) -> None:
    """Fill this partition of an asset that is described only."""
    event = dg.AssetMaterialization(assets.key(asset), partition=context.partition_key, metadata=metadata)
    context.log_event(event)


REQUESTED = "dagster/from_automation_condition"
"""The tag with which Dagster marks the runs that a condition requests."""


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


def requested_along(context: dg.AssetExecutionContext, view: SeriesView, release: str) -> bool:
    """Whether a condition requests the latest release, which is published, along with the next.

    Dagster 1.13 requests an asset with checks together with what it depends on of itself: the release before. Its
    snapshot may be gone by now, and if its run failed, the next release would never run.
    """
    return REQUESTED in context.run.tags and view.is_latest(release)


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
