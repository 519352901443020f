"""Which release may run now. The store's record is the only authority, whoever asks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING

from reanon_core.model.errors import OutOfOrder, Refused
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.storage.records import Recorded, Refusal

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


class Status(StrEnum):
    """How it stands with a release."""

    PUBLISHED = "published"
    READY = "ready"
    """Due, and its snapshot is there."""
    WAITING = "waiting for its snapshot"
    REFUSED = "refused"
    NOT_DUE = "not due"


@dataclass(frozen=True)
class ReleaseStatus:
    """A release and how it stands with it."""

    release: str
    status: Status
    reason: str = ""


def expected(series: "Series", records: Sequence[Recorded]) -> str | None:
    """The release that must come next; None after the last name of a list."""
    return series.calendar.next_after(records[-1].release) if records else series.calendar.first


def ready(series: "Series", records: Sequence[Recorded], today: date) -> str | None:
    """The release that can run now: the next one, if it is due and its snapshot is there."""
    release = expected(series, records)
    if release is None or not series.calendar.is_due(release, today):
        return None
    return release if snapshot_exists(series, release) else None


def require_next(series: "Series", records: Sequence[Recorded], release: str, today: date) -> None:
    """Refuse any release but the next one.

    Raises: InvalidParameter if the series has no such release; OutOfOrder if it is not its turn.
    """
    index = series.calendar.index(release)
    if any(record.release == release for record in records) or index < len(records):
        raise frozen_error(records, release)
    following = expected(series, records)
    if release != following:
        raise OutOfOrder(f"release {release} must wait: {following} comes first; run reanon backfill to publish both")
    if not series.calendar.is_due(release, today):
        period = series.calendar.period(release)
        end = "" if period is None else f" on {period.end.isoformat()}"
        raise OutOfOrder(f"release {release} is not due yet: its period ends{end}")


def frozen_error(records: Sequence[Recorded], release: str) -> OutOfOrder:
    """The error for a release that later ones build on."""
    return OutOfOrder(
        f"release {release} is frozen: {records[-1].release} was published after it and builds on it; "
        f"carry a correction into the next release"
    )


def repeats_latest(records: Sequence[Recorded], release: str, input_digest: str) -> bool:
    """Whether this is the latest release again with the same input, so that there is nothing to do.

    Raises: Refused if it is the latest release with another input.
    """
    if not records or records[-1].release != release:
        return False
    if records[-1].input_digest != input_digest:
        raise Refused(
            f"release {release} was published from another snapshot (or selection) than the one there now, and what is "
            f"out cannot be changed; put the first snapshot back, and carry the correction into the next release"
        )
    return True


def statuses(
    series: "Series", records: Sequence[Recorded], refusals: dict[str, Refusal], today: date
) -> list[ReleaseStatus]:
    """How it stands with every release that is published or due, and with the one after."""
    listed = []
    for record in records:
        held = f"{record.withheld} withheld" if record.withheld else ""
        listed.append(ReleaseStatus(record.release, Status.PUBLISHED, held))
    following = expected(series, records)
    for release in series.calendar.due(today):
        if series.calendar.index(release) < len(records):
            continue
        refused = refusals.get(release)
        if refused is not None:
            listed.append(ReleaseStatus(release, Status.REFUSED, refused.reason))
        elif not snapshot_exists(series, release):
            listed.append(ReleaseStatus(release, Status.WAITING))
        else:
            listed.append(ReleaseStatus(release, Status.READY, "" if release == following else "after the ones before"))
    if following is not None and not series.calendar.is_due(following, today):
        period = series.calendar.period(following)
        listed.append(ReleaseStatus(following, Status.NOT_DUE, f"due on {period.end}" if period else ""))
    return listed
