"""Which release may run now: only the store's records decide."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from reanon_core.model.errors import OutOfOrder, Refused
from reanon_dagster.releasing.query_error import utility
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_place
from reanon_dagster.storage.records import AcceptedDrift, Refusal, ReleaseRecord

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

LISTED = 4
"""The longest list of releases that a message spells out."""
CORRECTED = "its snapshot was changed afterwards, and it stays as it is: make the correction in the next snapshot"
COUNTS = {3: "three", 4: "four", 5: "five"}


class Status(StrEnum):
    """What has become of a release so far."""

    PUBLISHED = "published"
    WITHDRAWN = "withdrawn"
    READY = "ready"
    """Due, and its snapshot is there."""
    WAITING = "waiting for its snapshot"
    REFUSED = "refused"
    NOT_DUE = "not due"


@dataclass(frozen=True)
class ReleaseStatus:
    """A release with its status."""

    release: str
    status: Status
    reason: str = ""


def next_release(series: "Series", records: Sequence[ReleaseRecord]) -> str | None:
    """The release that must come next; None after the last name of a list."""
    return series.calendar.next_after(records[-1].release) if records else series.calendar.first


def ready_release(series: "Series", records: Sequence[ReleaseRecord], today: date) -> str | None:
    """The release that can run now: the next one, if it is due and its snapshot is there."""
    release = next_release(series, records)
    if release is None or not series.calendar.is_due(release, today):
        return None
    return release if snapshot_exists(series, release) else None


def due_day(series: "Series", release: str, today: date) -> date:
    """The day on which a release is due, or today if it is due already."""
    period = series.calendar.period(release)
    return today if period is None else max(today, period.end)


def awaited(series: "Series", release: str, today: date) -> str | None:
    """What a release that is not published waits for, as a sentence: its day or its snapshot; None if neither."""
    if not series.calendar.is_due(release, today):
        return f"release {release} is due on {due_day(series, release, today)}"
    if not snapshot_exists(series, release):
        return f"release {release} waits for its snapshot {snapshot_place(series, release)}"
    return None


def nothing_to_do(series: "Series", release: str | None, today: date) -> str:
    """Why there is nothing to publish; `release` is the next one, None after the last."""
    reason = "every release is published" if release is None else awaited(series, release, today)
    return f"{series.name}: nothing to do, {reason}"


def require_next(series: "Series", records: Sequence[ReleaseRecord], release: str, today: date) -> None:
    """Refuse any release but the next one.

    Raises: InvalidParameter if the series has no such release; OutOfOrder if it is not its turn.
    """
    require_not_frozen(series, records, release)
    earlier = _releases_before(series, records, release)
    if earlier:
        them = "both" if len(earlier) == 1 else f"all {COUNTS.get(len(earlier) + 1, str(len(earlier) + 1))}"
        raise OutOfOrder(
            f"release {release} cannot be published before {_listed(earlier)}; run `reanon backfill` to publish {them}"
        )
    if not series.calendar.is_due(release, today):
        raise OutOfOrder(f"release {release} is not due yet; its period ends on {due_day(series, release, today)}")


def require_not_frozen(series: "Series", records: Sequence[ReleaseRecord], release: str) -> None:
    """Refuse a release that later ones build on.

    Raises: InvalidParameter if the series has no such release; OutOfOrder.
    """
    latest = bool(records) and records[-1].release == release
    if series.calendar.index(release) < len(records) and not latest:
        raise OutOfOrder(
            f"release {release} is frozen: {records[-1].release} was published after it and builds on it; "
            f"make the correction in the next release"
        )


def require_same_input(record: ReleaseRecord, input_digest: str) -> None:
    """Refuse to publish a release again from another input.

    Raises: Refused.
    """
    if record.input_digest != input_digest:
        raise Refused(
            f"release {record.release} was published from another snapshot or selection, and a published release "
            f"cannot change; restore the original, and make the correction in the next release"
        )


def _releases_before(series: "Series", records: Sequence[ReleaseRecord], release: str) -> list[str]:
    """The releases that must be published before this one."""
    waiting, following = [], next_release(series, records)
    while following is not None and following != release:
        waiting.append(following)
        following = series.calendar.next_after(following)
    return waiting


def _listed(names: Sequence[str]) -> str:
    """The names as a list in a sentence; the middle of a long list is left out."""
    if len(names) > LISTED:
        return f"{names[0]}, {names[1]} and {len(names) - 2} others"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def statuses(
    series: "Series",
    records: Sequence[ReleaseRecord],
    refusals: Mapping[str, Refusal],
    today: date,
    *,
    accepted: Mapping[str, Sequence[AcceptedDrift]] = MappingProxyType({}),
    corrected: Collection[str] = (),
) -> list[ReleaseStatus]:
    """The status of every release that is published or due, and of the next one.

    `corrected` are those whose snapshot is not the one that they were published from.
    """
    listed = []
    for record in records:
        remarks = [f"{record.withheld} withheld"] if record.withheld else []
        remarks += (
            []
            if record.query_error is None
            else [utility(record.query_error, record.relations, record.lost, record.share_changed)]
        )
        remarks += [f"accepted: {one.brake} ({one.reason})" for one in accepted.get(record.release, ())]
        remarks += [CORRECTED] if record.release in corrected else []
        status = Status.PUBLISHED
        if record.withdrawn is not None:
            status, remarks = Status.WITHDRAWN, [f"on {record.withdrawn:%Y-%m-%d}"]
        listed.append(ReleaseStatus(record.release, status, "; ".join(remarks)))
    following = next_release(series, records)
    for release in series.calendar.due(today):
        if series.calendar.index(release) < len(records):
            continue
        refusal = refusals.get(release)
        if refusal is not None:
            listed.append(ReleaseStatus(release, Status.REFUSED, refusal.reason))
        elif not snapshot_exists(series, release):
            listed.append(ReleaseStatus(release, Status.WAITING))
        else:
            reason = "" if release == following else f"after {following}"
            listed.append(ReleaseStatus(release, Status.READY, reason))
    if following is not None and not series.calendar.is_due(following, today):
        listed.append(ReleaseStatus(following, Status.NOT_DUE, f"due on {due_day(series, following, today)}"))
    return listed
