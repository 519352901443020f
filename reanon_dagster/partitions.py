"""The releases of a series as Dagster partitions: time windows for dates, a static list for names."""

import itertools
from collections.abc import Sequence
from datetime import date, datetime

import dagster as dg

from reanon_core.model.errors import InvalidParameter
from reanon_dagster.series.calendar import Calendar, CronCalendar, NamedCalendar, RegularCalendar

DAY = "%Y-%m-%d"
FORMATS = {"monthly": "%Y-%m", "yearly": "%Y"}
"""Where a period's name is a date that Dagster can read, it is the partition's key; elsewhere its first day is."""
CRON = {
    "daily": "0 0 * * *",
    "weekly": "0 0 * * 1",
    "monthly": "0 0 1 * *",
    "quarterly": "0 0 1 1,4,7,10 *",
    "yearly": "0 0 1 1 *",
}


def partitions_of(calendar: Calendar) -> dg.PartitionsDefinition[str]:
    """One partition for each release; its key is what the calendar's `partition_key` says."""
    if isinstance(calendar, RegularCalendar):
        return dg.TimeWindowPartitionsDefinition(
            start=calendar.partition_key(calendar.first),
            fmt=FORMATS.get(calendar.cadence.name, DAY),
            cron_schedule=CRON[calendar.cadence.name],
        )
    if isinstance(calendar, CronCalendar):  # a tick is due on its own day, when its window has just begun
        return dg.TimeWindowPartitionsDefinition(
            start=calendar.first, fmt=DAY, cron_schedule=calendar.expression, end_offset=1
        )
    if not isinstance(calendar, NamedCalendar):
        raise TypeError(f"no partitions for a {type(calendar).__name__}")
    days = _days(calendar.names)
    if days is not None:
        return _day_windows(days)
    if (periods := _periods(calendar.names)) is not None:
        return _period_windows(periods, len(calendar.names))
    return dg.StaticPartitionsDefinition([calendar.partition_key(name) for name in calendar.names])


def previous_release(partitions: dg.PartitionsDefinition[str]) -> dg.PartitionMapping:
    """Each release depends on the one before; the first depends on none."""
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
    keys = partitions.get_partition_keys()
    return dg.StaticPartitionMapping(dict(itertools.pairwise(keys)))


def may_depend_on_itself(partitions: dg.PartitionsDefinition[str]) -> bool:
    """Whether Dagster lets an asset with these partitions depend on its own earlier ones: only time windows may."""
    return isinstance(partitions, dg.TimeWindowPartitionsDefinition)


def _days(names: Sequence[str]) -> list[date] | None:
    """The names as days, if all of them are days in ascending order; else None."""
    try:
        days = [date.fromisoformat(name) for name in names]
    except ValueError:
        return None
    return days if days == sorted(days) and [day.isoformat() for day in days] == list(names) else None


def _periods(names: Sequence[str]) -> RegularCalendar | None:
    """The calendar of names that are months or years, each following the one before; else None."""
    for cadence in FORMATS:
        try:
            calendar = RegularCalendar.of(cadence, names[0])
        except InvalidParameter:
            continue
        if all(calendar.at(place) == name for place, name in enumerate(names)):
            return calendar
    return None


def _period_windows(calendar: RegularCalendar, count: int) -> dg.TimeWindowPartitionsDefinition:
    """Windows that are the first so many periods of a calendar; a name is always due, even if it is in the future."""
    return dg.TimeWindowPartitionsDefinition(
        start=calendar.first,
        end=calendar.at(count),
        fmt=FORMATS[calendar.cadence.name],
        cron_schedule=CRON[calendar.cadence.name],
        end_offset=count,
    )


def _day_windows(days: Sequence[date]) -> dg.TimeWindowPartitionsDefinition:
    """Windows that begin on the days of releases only, so that the previous window is the previous release.

    They tick on the listed days of every month, and the other ticks are excluded: each check and asset has a copy of
    the exclusions, and Dagster sends all of them in one message. Dagster 1.13 loses ticks around the 29th of February;
    with a 29th, they tick every day.
    """
    listed = sorted({day.day for day in days})
    return _windows_on(days, CRON["daily"] if 29 in listed else f"0 0 {','.join(map(str, listed))} * *")


def _windows_on(days: Sequence[date], expression: str) -> dg.TimeWindowPartitionsDefinition:
    """Windows that begin on those ticks of a schedule that are days of releases."""
    cron = CronCalendar.of(expression, days[0].isoformat())
    chosen = set(days)
    ticks = [date.fromisoformat(tick) for tick in cron.due(days[-1])]
    return dg.TimeWindowPartitionsDefinition(
        start=days[0].isoformat(),
        end=cron.next_after(days[-1].isoformat()),
        fmt=DAY,
        cron_schedule=cron.expression,
        exclusions=[datetime(day.year, day.month, day.day) for day in ticks if day not in chosen],  # noqa: DTZ001
        end_offset=len(days),  # a name is always due, even if its day is in the future
    )
