"""What the step of a release records for the checks that have steps of their own."""

from collections.abc import Sequence
from datetime import date

import dagster as dg

from reanon_dagster.asset_checks.verdicts import AUDIT, ON_TIME, unjudged
from reanon_dagster.releasing.punctuality import has_dates, punctuality_of
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series import Series
from reanon_dagster.storage.records import ReleaseRecord


def on_time_result(series: Series, records: Sequence[ReleaseRecord], today: date) -> dg.AssetCheckResult:
    """Whether every release that is due is published, with how many are not and for how long."""
    found = punctuality_of(series, records, today)
    return dg.AssetCheckResult(
        check_name=ON_TIME,
        passed=not found.late,
        severity=dg.AssetCheckSeverity.WARN,
        description=found.sentence,
        metadata={
            "releases due and not published": len(found.awaited),
            "releases late": len(found.late),
            "days late": found.days,
        },
    )


def record_unaudited(context: dg.AssetExecutionContext, asset: dg.AssetKey, reason: str) -> None:
    """Record that the audit has no release to judge: Dagster skips its step, and would show the check as failed."""
    if context.has_partition_key:  # a run of several releases has none, and makes none
        _record(context, asset, unjudged(AUDIT, asset, reason), context.partition_key)


def record_on_time(context: dg.AssetExecutionContext, asset: dg.AssetKey, series: Series, today: date) -> None:
    """Record whether the series is on time after this run, whatever became of its release.

    Nothing that goes wrong here may fail a release.
    """
    if has_dates(series.calendar):
        try:
            _record(context, asset, on_time_result(series, read_view(series).records, today), None)
        except Exception as error:
            context.log.warning(f"whether the series is on time is not known: unexpected {type(error).__name__}")


def _record(
    context: dg.AssetExecutionContext, asset: dg.AssetKey, answer: dg.AssetCheckResult, partition: str | None
) -> None:
    event = dg.AssetCheckEvaluation(
        asset_key=asset,
        check_name=str(answer.check_name),
        passed=answer.passed,
        severity=answer.severity,
        description=answer.description,
        metadata=answer.metadata,
        partition=partition,
    )
    context.log_event(event)
