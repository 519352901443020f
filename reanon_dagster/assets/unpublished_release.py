"""A release that is not published, refused or skipped: the reason stands where a steward looks for it."""

import dagster as dg

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
