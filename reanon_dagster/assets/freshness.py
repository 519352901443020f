"""When a release is late."""

from datetime import timedelta

import dagster as dg

from reanon_dagster.series.calendar import Calendar, RegularCalendar

DAYS = {"daily": 1, "weekly": 7, "monthly": 31, "quarterly": 92, "yearly": 366}


def freshness_policy(calendar: Calendar) -> dg.FreshnessPolicy | None:
    """A release is late after two periods without a new one, with a warning after one and a half."""
    if not isinstance(calendar, RegularCalendar):
        return None
    period = timedelta(days=DAYS[calendar.cadence.name])
    return dg.FreshnessPolicy.time_window(fail_window=2 * period, warn_window=1.5 * period)
