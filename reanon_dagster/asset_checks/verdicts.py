"""Verdicts, and answers of checks with steps of their own, as AssetCheckResults, and the specs that announce them."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date

import dagster as dg

from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Check
from reanon_dagster.releasing.punctuality import has_dates, punctuality_of
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series import Series
from reanon_dagster.storage.records import ReleaseRecord

AUDIT, ON_TIME = "audit", "on_time"
"""The checks that have a step of their own."""


@contextmanager
def preview_allowed() -> Iterator[None]:
    """Define a check with partitions without a warning: Dagster calls that a preview."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.PreviewWarning)
        yield


def check_name(name: str) -> str:
    """A check's name as Dagster allows it."""
    return name.replace("-", "_")


def spec(
    name: str, asset: dg.AssetKey, description: str, partitions: dg.PartitionsDefinition[str], *, blocking: bool = True
) -> dg.AssetCheckSpec:
    """A check that has an answer for each partition.

    `blocking` is what Dagster's page shows. What really blocks is the step, which fails with the check.
    """
    with preview_allowed():
        return dg.AssetCheckSpec(
            check_name(name), asset=asset, description=description, partitions_def=partitions, blocking=blocking
        )


def specs(
    checks: Sequence[Check], asset: dg.AssetKey, partitions: dg.PartitionsDefinition[str]
) -> list[dg.AssetCheckSpec]:
    """One spec for each check of a candidate."""
    return [
        spec(check.name, asset, (type(check).__doc__ or "").split("\n", maxsplit=1)[0], partitions) for check in checks
    ]


def unjudged(name: str, asset: dg.AssetKey, reason: str) -> dg.AssetCheckResult:
    """What Dagster records of a check that could not judge: a warning, not a failure."""
    return dg.AssetCheckResult(
        check_name=name,
        asset_key=asset,
        passed=False,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"not judged: {reason}",
    )


def not_judged(names: Iterable[str], asset: dg.AssetKey, reason: str) -> list[dg.AssetCheckResult]:
    """What Dagster records of checks whose release was refused before they could judge it: a warning, not a failure.

    Without a result it would show them as failed.
    """
    return [unjudged(name, asset, reason) for name in names]


def results(verdicts: Iterable[Verdict], asset: dg.AssetKey) -> list[dg.AssetCheckResult]:
    """What Dagster records: the rule, the answer, and aggregates."""
    return [
        dg.AssetCheckResult(
            check_name=check_name(verdict.check),
            asset_key=asset,
            passed=verdict.holds,
            severity=dg.AssetCheckSeverity.ERROR if verdict.required else dg.AssetCheckSeverity.WARN,
            description=verdict.sentence,
            metadata={"violations": verdict.violations, **verdict.observed},
        )
        for verdict in verdicts
    ]


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
