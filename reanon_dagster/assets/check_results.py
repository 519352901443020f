"""The results of a release's checks: of the snapshot, of the steward's expectations, and of the judges."""

from collections.abc import Iterator, Sequence

import dagster as dg

from reanon_core.brakes import BrakesTripped, size_change
from reanon_core.model.errors import InvalidSnapshot, ReanonError, Unpublishable
from reanon_core.model.verdict import Verdict
from reanon_dagster.asset_checks.verdicts import check_name, not_judged, results, spec, specs
from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.judged_candidate import checks_of
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.releasing.snapshot_intake import ExpectationsFailed, require_expectations
from reanon_dagster.series.series import Series
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.sources.snapshot_reader import read_raw_table
from reanon_dagster.storage.records import AcceptedDrift, ReleaseRecord

EXPECTATIONS = "expectations"
SNAPSHOT_CHECKS = {
    "valid": "The snapshot can be used.",
    "drift": "The snapshot does not look like the wrong table.",
    "eligibility": "The technique can keep its promise on this snapshot.",
}
FAILED_CHECKS = {
    InvalidSnapshot: "valid",
    ExpectationsFailed: EXPECTATIONS,
    BrakesTripped: "drift",
    Unpublishable: "eligibility",
}
"""The check that a snapshot fails which is refused with an error."""
Results = Iterator[dg.AssetCheckResult]


def release_checks(assets: SeriesAssets) -> list[dg.AssetCheckSpec]:
    """The checks of a release: of its snapshot, those of the technique, and those that the series adds."""
    key, partitions = assets.key("release"), assets.partitions
    listed = dict(SNAPSHOT_CHECKS)
    if assets.series.config.expectations:
        listed[EXPECTATIONS] = "The snapshot is as the series file expects it under `expectations`."
    return [
        *(spec(name, key, description, partitions) for name, description in listed.items()),
        *specs(checks_of(assets.series), key, partitions),
    ]


def refused_results(names: Sequence[str], key: dg.AssetKey, error: ReanonError) -> Results:
    """The results of a release without a candidate: the check that its snapshot fails, and the others not judged."""
    failed = next((check for kind, check in FAILED_CHECKS.items() if isinstance(error, kind)), None)
    if failed:
        yield dg.AssetCheckResult(check_name=failed, asset_key=key, passed=False, description=error.redacted())
    yield from not_judged([check for check in names if check != failed], key, error.redacted())


def judged_results(key: dg.AssetKey, series: Series, view: SeriesView, made: Candidate) -> Results:
    """The results of every check of a release that was judged."""
    yield from _snapshot_results(key, made.people, view.people_before(made.release), made.accepted)
    if series.config.expectations:
        yield _expectations(key, series, made.doubts)
    yield from results(made.verdicts, key)


def stored_results(
    key: dg.AssetKey, series: Series, view: SeriesView, record: ReleaseRecord, held: Sequence[Verdict]
) -> Results:
    """The results of a published release again. A check that was declared later has none, nor has one that was removed.

    The expectations of the steward are not stored: they are judged again if the snapshot is still there.
    """
    before = view.records[record.position - 1].people if record.position else None
    yield from _snapshot_results(key, record.people, before, view.summary.accepted.get(record.release, ()))
    if series.config.expectations and snapshot_exists(series, record.release):
        try:
            found = require_expectations(series, record.release, read_raw_table(series, record.release))
        except ReanonError as error:
            found = (error.redacted(),)
        yield _expectations(key, series, found)
    declared = {check.name for check in checks_of(series)}
    yield from results([verdict for verdict in held if verdict.check in declared], key)


def changed_checks(series: Series, held: Sequence[Verdict]) -> dict[str, str]:
    """Which checks were declared after a release was published, and which are declared no longer, as metadata."""
    declared, judged = [check.name for check in checks_of(series)], [verdict.check for verdict in held]
    later, gone = (
        [check_name(name) for name in some if name not in others]
        for some, others in ((declared, judged), (judged, declared))
    )
    told = {"checks declared later, not judged": later, "checks declared no longer": gone}
    return {label: ", ".join(names) for label, names in told.items() if names}


def _snapshot_results(key: dg.AssetKey, people: int, before: int | None, accepted: Sequence[AcceptedDrift]) -> Results:
    """The checks of a snapshot that was read and used. An accepted brake warns."""
    yield dg.AssetCheckResult(check_name="valid", asset_key=key, passed=True, metadata={"people": people})
    share, sentence = size_change(people, before)
    yield dg.AssetCheckResult(
        check_name="drift",
        asset_key=key,
        passed=not accepted,
        severity=dg.AssetCheckSeverity.WARN,
        description="; ".join([sentence, *(f"accepted: {one.brake} ({one.reason})" for one in accepted)]),
        metadata={"people": people, "share changed": share},
    )
    yield dg.AssetCheckResult(check_name="eligibility", asset_key=key, passed=True)


def _expectations(key: dg.AssetKey, series: Series, doubts: Sequence[str]) -> dg.AssetCheckResult:
    """The result for a release that is not refused: a warning if it has doubts."""
    return dg.AssetCheckResult(
        check_name=EXPECTATIONS,
        asset_key=key,
        passed=not doubts,
        severity=dg.AssetCheckSeverity.WARN,
        description="; ".join(doubts) or "every expectation holds",
        metadata={"expectations": len(series.expectations)},
    )
