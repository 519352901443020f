"""Verdict to AssetCheckResult, and the specs that announce them."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import dagster as dg

from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Check

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
