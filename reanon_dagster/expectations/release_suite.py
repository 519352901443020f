"""The suite of a release: the verdicts of its checks, and its rows for a second judgement."""

from collections.abc import Sequence

from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Check
from reanon_dagster.expectations.suites import Result, Rows, Suite

RELEASE = "release"
JUDGED_FROM_ROWS = frozenset({"k-anonymity", "l-diversity", "m-uniqueness"})
"""The checks that need only the published rows. Others need the past or the truth, so only their verdict is shown."""


def release_results(release: str, entry: Entry, checks: Sequence[Check], verdicts: Sequence[Verdict]) -> Suite:
    """The verdicts on a candidate.

    Requires: one verdict for each check, in the same order.
    """
    judged = [
        (check, verdict.sentence)
        for check, verdict in zip(checks, verdicts, strict=True)
        if check.name in JUDGED_FROM_ROWS and entry.release.shows(entry.snapshot.schema.sensitive.name)
    ]
    rows = Rows(
        group=entry.release.group,
        sensitive=entry.release.sensitive,
        groups=entry.release.boxes.count,
        values=len(entry.snapshot.schema.sensitive.values),
        checks=tuple(check for check, _ in judged),
        sentences=tuple(sentence for _, sentence in judged),
    )
    return Suite(RELEASE, release, tuple(_result_of(verdict) for verdict in verdicts), rows)


def unpublishable_results(release: str, error: Unpublishable) -> Suite:
    """The suite of a release that has no candidate."""
    return Suite(RELEASE, release, (Result("publishable", success=False, sentence=error.redacted(), violations=1),))


def _result_of(verdict: Verdict) -> Result:
    return Result(
        name=verdict.check,
        success=verdict.holds,
        sentence=verdict.sentence,
        observed=dict(verdict.observed),
        violations=verdict.violations,
        required=verdict.required,
    )
