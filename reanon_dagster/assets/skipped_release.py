"""A release of a backfill that has to wait for its day or its snapshot: it is skipped, with the reason."""

import dagster as dg
from dagster._core.execution.backfill import BulkActionStatus

BACKFILL = "dagster/backfill"
"""The tag with which Dagster marks the runs of a backfill."""
SKIPPED = "reanon/skipped"
"""The tag that shows the reason in the list of runs."""
LONGEST_TAG = 200


def in_backfill(context: dg.AssetExecutionContext) -> bool:
    """Whether the run belongs to a backfill, in which a release may be asked for that no one has a snapshot of."""
    return BACKFILL in context.run.tags


def skip(context: dg.AssetExecutionContext, asset: dg.AssetKey, reason: str) -> None:
    """Record the reason, and cancel what is left of the backfill: every later release builds on this one.

    A backfill over assets in which a run ends without a materialization ends as failed unless it is canceled.
    """
    context.log.info(f"skipped: {reason}")
    context.log_event(dg.AssetObservation(asset, partition=context.partition_key, metadata={"skipped": reason}))
    context.instance.add_run_tags(context.run_id, {SKIPPED: reason[:LONGEST_TAG]})
    backfill = context.instance.get_backfill(context.run.tags[BACKFILL])
    if backfill is not None and backfill.is_asset_backfill and backfill.status == BulkActionStatus.REQUESTED:
        context.instance.update_backfill(backfill.with_status(BulkActionStatus.CANCELING))
