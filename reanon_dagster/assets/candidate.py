"""The candidate: the next release, computed and judged, and not published yet."""

from collections.abc import Iterator
from datetime import date

import dagster as dg

from reanon_core.model.errors import Refused
from reanon_dagster.asset_checks.verdicts import results, specs
from reanon_dagster.assets.describing import candidate_metadata
from reanon_dagster.assets.naming import Naming, refusals_as_failures
from reanon_dagster.partitions import follows_itself
from reanon_dagster.releasing.gate import require_sound
from reanon_dagster.releasing.preparing import checks_of
from reanon_dagster.releasing.publish import candidate_for, latest_verdicts, remember_refusal
from reanon_dagster.releasing.staging import stage

DESCRIPTION = """
The next release, computed from its snapshot and from what the series remembers of all releases before: **private**. It
depends on the release before, so that releases are made in order. The checks judge it; if one fails, this step fails,
nothing is published, and no later release can run.
"""


def build_candidate(naming: Naming) -> dg.AssetsDefinition:
    """The asset that computes, judges and stages a candidate."""
    series, key = naming.series, naming.key("candidate")
    deps = [dg.AssetDep(naming.key("snapshot"))]
    if follows_itself(naming.partitions):
        deps.append(dg.AssetDep(key, partition_mapping=dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)))
    checks = specs(checks_of(series), key, naming.partitions)

    @naming.asset("candidate", DESCRIPTION, deps=deps, check_specs=checks)
    def candidate(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult[None]]:
        release = naming.release(context)
        with refusals_as_failures():
            made = candidate_for(series, release, date.today(), progress=context.log.info)  # noqa: DTZ011
            if made is None:
                yield from results(latest_verdicts(series), key)
                yield dg.MaterializeResult(metadata={"release": release, "nothing to do": "published, same snapshot"})
                return
            yield from results(made.verdicts, key)
            try:
                require_sound(made)
            except Refused as error:
                remember_refusal(series, release, error)
                raise
            stage(series, made)
        yield dg.MaterializeResult(metadata=candidate_metadata(series, made))

    return candidate
