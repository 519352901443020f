"""When Dagster itself requests a release, for series that choose an automation condition."""

from typing import Any

import dagster as dg

from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.releasing.series_view import SeriesView

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
