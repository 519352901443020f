"""The published release: what everybody may download."""

from collections.abc import Iterator

import dagster as dg

from reanon_dagster.assets.freshness import freshness_policy
from reanon_dagster.assets.metadata import published_metadata
from reanon_dagster.assets.series_assets import Naming, refusals_as_failures
from reanon_dagster.releasing.staged_candidate import publish_staged

DESCRIPTION = """
What everybody may download: the released table, how many counterfeits each group holds, and a manifest with the digest
of every file. This step is the gate. It judges the candidate once more against the ledger, then advances the series'
memory and publishes in one transaction, or does nothing.
"""


def build_published(naming: Naming) -> dg.AssetsDefinition:
    """The asset that lets a candidate through the gate."""
    series = naming.series
    late = freshness_policy(series.calendar)

    @naming.asset("published", DESCRIPTION, deps=[naming.key("candidate")], freshness_policy=late)
    def published(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        release = naming.release(context)
        with refusals_as_failures():
            record = publish_staged(series, release)
            metadata = published_metadata(series, release, naming.key("snapshot"))
        if record is None:
            metadata["nothing to do"] = "published, same snapshot"
        yield dg.MaterializeResult(metadata=metadata)

    return published
