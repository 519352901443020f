"""Whether a series is on time, from its calendar and its ledger. When a run materialized something does not matter."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from reanon_core.model.errors import counted
from reanon_dagster.releasing.release_order import awaited
from reanon_dagster.series.calendar import Calendar
from reanon_dagster.storage.records import ReleaseRecord

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


@dataclass(frozen=True)
class Punctuality:
    """The releases that are due and not published."""

    awaited: tuple[str, ...]
    """In order."""
    late: tuple[str, ...]
    """Those of them whose grace is over: half a period after the end of their own."""
    days: int
    """For how many days the oldest late one has been due; 0 if none is late."""
    sentence: str


def has_dates(calendar: Calendar) -> bool:
    """Whether releases are due on a day: names have none."""
    return calendar.period(calendar.first) is not None


def deadline(calendar: Calendar, release: str) -> date | None:
    """The last day on which a release is on time; None if releases have no dates."""
    period, following = calendar.period(release), calendar.next_after(release)
    after = None if following is None else calendar.period(following)
    if period is None or after is None:
        return None
    return period.end + timedelta(days=(after.end - period.end).days // 2)


def punctuality_of(series: "Series", records: Sequence[ReleaseRecord], today: date) -> Punctuality:
    """The releases of a series that are due today and not published."""
    calendar = series.calendar
    waiting = tuple(calendar.due(today)[len(records) :])
    ends = {release: deadline(calendar, release) for release in waiting}
    late = tuple(release for release, end in ends.items() if end is not None and end < today)
    if not late:
        if waiting:
            return Punctuality(waiting, (), 0, f"release {waiting[0]} is due, and on time until {ends[waiting[0]]}")
        latest = f"the latest is {records[-1].release}" if records else "none is due yet"
        return Punctuality((), (), 0, f"every release that is due is published; {latest}")
    period = calendar.period(late[0])
    days = 0 if period is None else (today - period.end).days
    others = f", and {counted(len(late) - 1, 'later one', 'later ones')}" if len(late) > 1 else ""
    reason = awaited(series, late[0], today) or "its snapshot is there: see `reanon status`"
    return Punctuality(
        waiting, late, days, f"release {late[0]} is late by {counted(days, 'day', 'days')}{others}; {reason}"
    )
