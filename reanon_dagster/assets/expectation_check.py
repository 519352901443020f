"""The check `expectations`: what the steward of a series expects of its snapshots."""

from collections.abc import Iterator

import dagster as dg

from reanon_core.model.errors import ReanonError
from reanon_dagster.asset_checks.verdicts import spec
from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.releasing.snapshot_intake import require_expectations
from reanon_dagster.series.series import Series
from reanon_dagster.sources.snapshot_reader import read_raw_table

EXPECTATIONS = "expectations"


def expectation_specs(assets: SeriesAssets) -> list[dg.AssetCheckSpec]:
    """The check of a series that declares expectations; other series have none."""
    description = "The snapshot is as the series file expects it under `expectations`."
    declared = bool(assets.series.config.expectations)
    return [spec(EXPECTATIONS, assets.key("release"), description, assets.partitions)] if declared else []


def expectation_results(series: Series, release: str, doubts: tuple[str, ...] | None) -> Iterator[dg.AssetCheckResult]:
    """The result for a release that is not refused: a warning if it has doubts.

    Without doubts from a judgement of this run, the snapshot is judged now.
    """
    if not series.config.expectations:
        return
    try:
        found = require_expectations(series, release, read_raw_table(series, release)) if doubts is None else doubts
    except ReanonError as error:
        found = (error.redacted(),)
    yield dg.AssetCheckResult(
        check_name=EXPECTATIONS,
        passed=not found,
        severity=dg.AssetCheckSeverity.WARN,
        description="; ".join(found) or "every expectation holds",
        metadata={"expectations": len(series.expectations)},
    )
