"""The audit of a published release: its files, the definitions, and attacks on all releases up to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reanon_core.catalog import EXCLUDED_ATTACKS, own_checks
from reanon_core.model.errors import counted
from reanon_core.model.verdict import Verdict
from reanon_dagster.releasing.audited_ledger import audited_ledger
from reanon_dagster.releasing.candidate import digest
from reanon_dagster.releasing.evidence import attack_numbers, exposed_by
from reanon_dagster.releasing.halts import halt_series
from reanon_dagster.releasing.judged_candidate import Progress, silent
from reanon_dagster.releasing.published_audit import release_flaws, table_flaws
from reanon_dagster.releasing.series_view import SeriesView, read_view

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series
    from reanon_dagster.storage.records import ReleaseRecord


@dataclass(frozen=True)
class ReleaseAudit:
    """What an audit found: sentences about what is wrong, and numbers."""

    flaws: tuple[str, ...]
    numbers: Mapping[str, float]
    halted: bool
    """Whether the series was halted: without its ledger it can publish nothing anyway."""


def audit_release(series: "Series", release: str, *, progress: Progress = silent) -> ReleaseAudit | None:
    """Audit a published release, and halt the series if something is wrong; None if the release is not published.

    The tables are read back from the published files and compared with the ledger, so what is judged and attacked here
    is what is published.
    """
    view = read_view(series)
    record = view.record(release)
    if record is None:
        return _unknown_release(series, view, release)
    progress("verifying the published files")
    flaws = release_flaws(series, release)
    checks = own_checks(series.technique)
    with audited_ledger(series, view.records[: record.position + 1], checks) as audited:
        latest = audited.ledger.entries[-1]
        if digest(latest) != record.candidate_digest:
            flaws.append(f"the ledger's rows of release {release} are not those that its checks judged")
        if not flaws and record.withdrawn is None:
            progress("reading the published tables back")
            flaws += table_flaws(series.published_folder / release, latest)
        progress("judging the definitions")
        flaws += broken_promises(series, release, [list(audited.verdicts(check))[-1] for check in checks])
        numbers = attack_numbers(audited, progress)
    flaws += exposure_flaws(series, release, numbers)
    if flaws:
        halt_series(series, release, flaws)
    return ReleaseAudit(tuple(flaws), {**_sizes(record), **numbers}, halted=bool(flaws))


def broken_promises(series: "Series", release: str, verdicts: Sequence[Verdict]) -> list[str]:
    """The verdicts of the technique's own checks that do not hold: checks that a series adds later judge no past."""
    failed = [verdict for verdict in verdicts if verdict.required and not verdict.holds]
    own = {check.name for check in own_checks(series.technique)} if failed else set()
    return [
        f"{verdict.check} fails in release {release} ({counted(verdict.violations, 'violation', 'violations')})"
        for verdict in failed
        if verdict.check in own
    ]


def exposure_flaws(series: "Series", release: str, numbers: Mapping[str, float]) -> list[str]:
    """The attacks that expose people although the technique promises that they expose no one.

    Where values may change (episodes), no attack is excluded: what an intersection concludes may be wrong then.
    """
    promises = [promise for promise in series.technique.promises() if not promise.parameters.get("episodes")]
    excluded = {one for promise in promises for one in EXCLUDED_ATTACKS.get(promise.check, ())}
    return [
        f"the attack {attack} on the releases up to {release} exposes "
        f"{counted(int(numbers[exposed_by(attack)]), 'person', 'people')}, and the technique promises none"
        for attack in sorted(excluded)
        if numbers.get(exposed_by(attack), 0) > 0
    ]


def _unknown_release(series: "Series", view: SeriesView, release: str) -> ReleaseAudit | None:
    """A release that the ledger does not know; it is published all the same if an older private folder was put back."""
    if not (series.published_folder / release).exists():
        return None
    flaw = f"release {release} is published, and the ledger does not know it; restore the latest private folder"
    if view.records:
        halt_series(series, release, [flaw])
    return ReleaseAudit((flaw,), {}, halted=bool(view.records))


def _sizes(record: "ReleaseRecord") -> dict[str, float]:
    return {"releases audited": record.position + 1, "people": record.people}
