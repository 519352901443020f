"""The snapshot: the table at one time, read and validated before anything is computed from it."""

from collections.abc import Iterator

import dagster as dg

from reanon_core.model.errors import InvalidSnapshot
from reanon_dagster.asset_checks.verdicts import spec
from reanon_dagster.assets.series_assets import SeriesAssets, refusals_as_failures
from reanon_dagster.releasing.drift import drift_of
from reanon_dagster.releasing.release_suites import document_refusal
from reanon_dagster.releasing.series_view import read_continuable_view
from reanon_dagster.releasing.snapshot_intake import read_open_release
from reanon_dagster.series.series import Series
from reanon_dagster.sources.snapshot_reader import Read

DESCRIPTION = """
The table of people at one time, as the source has it: **private**. This step reads it and checks that it can be used:
every row has an id, ids are unique, no sensitive value is missing, types and domains are as the series file declares.
Nothing of it is stored here. Once the release is published its snapshot is frozen: any other is refused.
"""


def build_snapshot(assets: SeriesAssets) -> dg.AssetsDefinition:
    """The asset that validates a snapshot."""
    key, blocking = assets.key("snapshot"), assets.series.config.max_drift is not None
    specs = [
        spec("valid", key, "The snapshot can be used.", assets.partitions),
        spec(
            "drift",
            key,
            "The number of people is close to that of the release before.",
            assets.partitions,
            blocking=blocking,
        ),
    ]

    @assets.asset("snapshot", DESCRIPTION, check_specs=specs)
    def snapshot(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult[None]]:
        release = assets.release(context)
        with refusals_as_failures():
            series = assets.continued()
            view = read_continuable_view(series)
            try:
                read = read_open_release(series, view, release)
            except InvalidSnapshot as error:
                document_refusal(series, release, error)
                yield dg.AssetCheckResult(check_name="valid", passed=False, description=error.redacted())
                raise
        yield dg.AssetCheckResult(check_name="valid", passed=True, metadata={"people": read.rows})
        yield _drift(series, read, view.people_before(release))
        yield dg.MaterializeResult(
            metadata={"people": read.rows, "release": release, "input digest": read.input_digest},
            data_version=dg.DataVersion(read.input_digest[:16]),
        )

    return snapshot


def _drift(series: Series, read: Read, before: int | None) -> dg.AssetCheckResult:
    drift = drift_of(series, read.rows, before)
    return dg.AssetCheckResult(
        check_name="drift",
        passed=drift.small,
        severity=dg.AssetCheckSeverity.WARN if series.config.max_drift is None else dg.AssetCheckSeverity.ERROR,
        description=drift.sentence,
        metadata={"people": read.rows, "share changed": drift.share},
    )
