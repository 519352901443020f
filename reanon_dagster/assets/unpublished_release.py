"""A release that is not published, refused or skipped: the reason stands where a steward looks for it."""

import time

import dagster as dg
from dagster._core.execution.backfill import BulkActionStatus

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
    """Record the reason, and cancel what is left of the backfill: every later release builds on this one.

    A backfill over assets in which a run ends without a materialization ends as failed unless it is canceled. It is
    canceled at once: while it is `CANCELING`, the daemon would terminate this run, and the chain allows no other.
    """
    context.log.info(f"skipped: {reason}")
    record_reason(context, asset, "skipped", reason)
    backfill = context.instance.get_backfill(context.run.tags[BACKFILL])
    if backfill is not None and backfill.is_asset_backfill and backfill.status == BulkActionStatus.REQUESTED:
        canceled = backfill.with_status(BulkActionStatus.CANCELED).with_end_timestamp(time.time())
        context.instance.update_backfill(canceled)
