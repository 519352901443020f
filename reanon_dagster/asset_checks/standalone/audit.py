"""The check `audit`: what is published, against the ledger and the definitions, and attacked."""

import dagster as dg

from reanon_core.model.errors import ReanonError
from reanon_dagster.asset_checks.verdicts import AUDIT, preview_allowed, unjudged
from reanon_dagster.assets.metadata import readable
from reanon_dagster.assets.series_assets import SeriesAssets, refusals_as_failures
from reanon_dagster.releasing.release_audit import ReleaseAudit, audit_release
from reanon_dagster.resources import SeriesEnvironment

DESCRIPTION = """
Reads the published files of this release back: they must have the hashes of the manifest, the manifests must form
one chain, and both must agree with the private ledger. Then the technique's definitions are judged and the attacks run,
on all releases up to this one. If it fails, the series is halted: nothing more is published until a person runs
reanon lift. Execute it again at any time.
"""

HALTED = ". The series is halted: correct the cause, then run `reanon lift`"


def build_audit(assets: SeriesAssets) -> dg.AssetChecksDefinition:
    """The check, which has an answer for each release."""
    key = assets.key("release")

    def audit(context: dg.AssetCheckExecutionContext, series_environment: SeriesEnvironment) -> dg.AssetCheckResult:
        with refusals_as_failures("audit"):
            release = assets.series.calendar.release_of(context.partition_key)
            try:
                found = audit_release(assets.placed(series_environment), release, progress=context.log.info)
            except ReanonError as error:
                return unjudged(AUDIT, key, error.redacted())
            if found is None:
                return unjudged(AUDIT, key, f"release {release} is not published yet")
            return _result(found)

    described = dg.asset_check(
        asset=key, name=AUDIT, description=DESCRIPTION.strip(), partitions_def=assets.partitions, pool=assets.pool
    )
    with preview_allowed():
        return described(audit)


def _result(found: ReleaseAudit) -> dg.AssetCheckResult:
    numbers = {name: readable(value) for name, value in found.numbers.items()}
    if not found.flaws:
        sentence = "the published files are those of the ledger, and every promise holds"
        return dg.AssetCheckResult(passed=True, description=sentence, metadata=numbers)
    return dg.AssetCheckResult(
        passed=False,
        severity=dg.AssetCheckSeverity.ERROR,
        description=found.flaws[0] + (HALTED if found.halted else ""),
        metadata={
            "flaws": len(found.flaws),
            "what is wrong": dg.MetadataValue.table([dg.TableRecord({"flaw": flaw}) for flaw in found.flaws]),
            **numbers,
        },
    )
