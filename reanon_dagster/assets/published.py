"""The published release: what anyone may download."""

from collections.abc import Iterator

import dagster as dg

from reanon_dagster.assets.freshness import freshness_policy
from reanon_dagster.assets.metadata import NOTHING_TO_DO, published_metadata
from reanon_dagster.assets.series_assets import SeriesAssets, refusals_as_failures
from reanon_dagster.releasing.series_view import read_continuable_view
from reanon_dagster.releasing.stored_candidate import publish_stored_candidate

DESCRIPTION = """
What anyone may download: the released table, how many counterfeits each group holds, and a manifest with the digest
of every file. This step is the gate. It judges the candidate again with the memory of the store; then one transaction
advances the series and publishes the release, or nothing changes.
"""


def build_published(assets: SeriesAssets) -> dg.AssetsDefinition:
    """The asset that publishes a candidate through the gate."""
    late = freshness_policy(assets.series.calendar)

    @assets.asset("published", DESCRIPTION, deps=[assets.key("candidate")], freshness_policy=late)
    def published(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        release = assets.release(context)
        with refusals_as_failures():
            series = assets.continued()
            view = read_continuable_view(series)
            made = publish_stored_candidate(series, view, release)
            metadata = published_metadata(series, made or view.records[-1], assets.key("snapshot"))
        yield dg.MaterializeResult(metadata=metadata if made else {**metadata, **NOTHING_TO_DO})

    return published
