"""The candidate: the next release, computed and judged, and not published yet."""

from collections.abc import Iterator
from datetime import date

import dagster as dg

from reanon_dagster.asset_checks.verdicts import results, specs
from reanon_dagster.assets.metadata import NOTHING_TO_DO, candidate_metadata
from reanon_dagster.assets.series_assets import SeriesAssets, refusals_as_failures
from reanon_dagster.releasing.gate import require_acceptable
from reanon_dagster.releasing.judged_candidate import checks_of
from reanon_dagster.releasing.release import refusal_recorded
from reanon_dagster.releasing.release_suites import documented_candidate
from reanon_dagster.releasing.series_view import read_continuable_view
from reanon_dagster.releasing.stored_candidate import store_candidate
from reanon_dagster.storage.series_store import read_verdicts

DESCRIPTION = """
The next release, computed from its snapshot and from everything published before: **private**. Releases are made in
order; this step refuses any but the next one. Checks judge the candidate. If one fails, this step fails, nothing is
published, and every later release has to wait.
"""


def build_candidate(assets: SeriesAssets) -> dg.AssetsDefinition:
    """The asset that computes, judges and stores a candidate."""
    key = assets.key("candidate")
    checks = specs(checks_of(assets.series), key, assets.partitions)

    # It does not depend on its own previous partition: a backfill never runs such an asset together with others, and
    # would make the next candidate before this one is published. The store keeps the order. See docs/dagster.md.
    @assets.asset("candidate", DESCRIPTION, deps=[assets.key("snapshot")], check_specs=checks)
    def candidate(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult[None]]:
        release = assets.release(context)
        pages: list[str] = []
        with refusals_as_failures():
            series = assets.continued()
            view = read_continuable_view(series)
            today = date.today()  # noqa: DTZ011  a release is due by the steward's own calendar
            made = documented_candidate(series, view, release, today, progress=context.log.info, report=pages.append)
            if made is None:
                yield from results(read_verdicts(series.private_folder, view.position - 1), key)
                yield dg.MaterializeResult(metadata={"release": release, **NOTHING_TO_DO})
                return
            yield from results(made.verdicts, key)
            with refusal_recorded(series, release):
                require_acceptable(made)
            store_candidate(series, made)
        yield dg.MaterializeResult(metadata={**candidate_metadata(view, made), "Data Docs": pages[0]})

    return candidate
