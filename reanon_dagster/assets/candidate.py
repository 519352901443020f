"""The candidate: the next release, computed and judged, and not published yet."""

from collections.abc import Iterator
from datetime import date

import dagster as dg

from reanon_core.model.errors import ReanonError, Refused
from reanon_dagster.asset_checks.verdicts import results, specs
from reanon_dagster.assets.metadata import candidate_metadata
from reanon_dagster.assets.series_assets import Naming, refusals_as_failures
from reanon_dagster.releasing.gate import require_sound
from reanon_dagster.releasing.judgement import checks_of
from reanon_dagster.releasing.release import candidate_for, latest_verdicts, remember_refusal
from reanon_dagster.releasing.release_suites import candidate_suites, refusal_suites, write_docs
from reanon_dagster.releasing.staged_candidate import stage
from reanon_dagster.sources.snapshot_location import shown_path

DESCRIPTION = """
The next release, computed from its snapshot and from what the series remembers of all releases before: **private**.
Releases are made in order: any other than the next one is refused here. The checks judge it; if one fails, this step
fails, nothing is published, and every later release is refused.
"""


def build_candidate(naming: Naming) -> dg.AssetsDefinition:
    """The asset that computes, judges and stages a candidate."""
    series, key = naming.series, naming.key("candidate")
    checks = specs(checks_of(series), key, naming.partitions)

    # It does not depend on itself one release back: a backfill never puts such an asset into one run with others, and
    # would make the next candidate before this one is published. The ledger keeps the order. See docs/dagster.md.
    @naming.asset("candidate", DESCRIPTION, deps=[naming.key("snapshot")], check_specs=checks)
    def candidate(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult[None]]:
        release = naming.release(context)
        with refusals_as_failures():
            try:
                made = candidate_for(series, release, date.today(), progress=context.log.info)  # noqa: DTZ011
            except ReanonError as error:
                if suites := refusal_suites(series, release, error):
                    write_docs(series, suites)
                raise
            if made is None:
                yield from results(latest_verdicts(series), key)
                yield dg.MaterializeResult(metadata={"release": release, "nothing to do": "published, same snapshot"})
                return
            yield from results(made.verdicts, key)
            docs = write_docs(series, candidate_suites(series, made))
            try:
                require_sound(made)
            except Refused as error:
                remember_refusal(series, release, error)
                raise
            stage(series, made)
        yield dg.MaterializeResult(metadata={**candidate_metadata(series, made), "Data Docs": shown_path(series, docs)})

    return candidate
