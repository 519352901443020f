"""Releases have an order, a period, and a partition key each."""

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reanon_core.model.errors import InvalidParameter
from reanon_dagster.series.calendar import CADENCES, Calendar, CronCalendar, NamedCalendar, Period, RegularCalendar
from reanon_dagster.series.cron import parse_cron

DAYS = st.dates(date(1900, 1, 1), date(2200, 1, 1))
FIRSTS = {
    "daily": "2024-02-28",
    "weekly": "2020-W52",
    "monthly": "2023-11",
    "quarterly": "2023-Q3",
    "yearly": "2023",
}
EXPECTED = {
    "daily": ["2024-02-28", "2024-02-29", "2024-03-01"],
    "weekly": ["2020-W52", "2020-W53", "2021-W01"],
    "monthly": ["2023-11", "2023-12", "2024-01"],
    "quarterly": ["2023-Q3", "2023-Q4", "2024-Q1"],
    "yearly": ["2023", "2024", "2025"],
}
CADENCE = st.sampled_from(sorted(CADENCES))


@pytest.mark.parametrize("cadence", sorted(CADENCES))
def test_releases_of_a_cadence_are_named_as_in_the_contract(cadence):
    calendar = RegularCalendar.of(cadence, FIRSTS[cadence])
    assert [calendar.at(index) for index in range(3)] == EXPECTED[cadence]
    assert calendar.first == FIRSTS[cadence]
    assert calendar.at(-1) is None


@pytest.mark.parametrize(
    ("cadence", "release", "start", "end"),
    [
        ("daily", "2024-03-01", date(2024, 3, 1), date(2024, 3, 2)),
        ("weekly", "2024-W09", date(2024, 2, 26), date(2024, 3, 4)),
        ("monthly", "2024-12", date(2024, 12, 1), date(2025, 1, 1)),
        ("quarterly", "2024-Q4", date(2024, 10, 1), date(2025, 1, 1)),
        ("yearly", "2024", date(2024, 1, 1), date(2025, 1, 1)),
    ],
)
def test_a_period_runs_from_its_first_day_to_that_of_the_next(cadence, release, start, end):
    assert RegularCalendar.of(cadence, release).period(release) == Period(start, end)


@settings(deadline=None)
@given(CADENCE, DAYS)
def test_every_day_lies_in_exactly_one_period(cadence, day):
    rhythm = CADENCES[cadence]
    release = rhythm.at(rhythm.number_of(day))
    period = RegularCalendar.of(cadence, release).period(release)
    assert period.start <= day < period.end


@settings(deadline=None)
@given(CADENCE, DAYS, st.integers(0, 500))
def test_order_and_names_agree_in_a_cadence(cadence, day, ahead):
    rhythm = CADENCES[cadence]
    calendar = RegularCalendar.of(cadence, rhythm.at(rhythm.number_of(day)))
    release = calendar.at(ahead)
    assert calendar.index(release) == ahead
    assert calendar.previous(calendar.next_after(release)) == release
    assert calendar.previous(calendar.first) is None
    assert calendar.period(calendar.next_after(release)).start == calendar.period(release).end


@settings(deadline=None)
@given(CADENCE, DAYS, st.integers(0, 500))
def test_a_partition_key_is_the_name_or_the_first_day_of_the_period_and_leads_back(cadence, day, ahead):
    rhythm = CADENCES[cadence]
    calendar = RegularCalendar.of(cadence, rhythm.at(rhythm.number_of(day)))
    release = calendar.at(ahead)
    first_day = calendar.period(release).start.isoformat()
    assert calendar.partition_key(release) == (first_day if cadence in {"weekly", "quarterly"} else release)
    assert calendar.release_of(calendar.partition_key(release)) == release


@settings(deadline=None)
@given(CADENCE, DAYS, st.integers(-50, 400))
def test_a_release_is_due_when_its_period_has_ended(cadence, day, later):
    rhythm = CADENCES[cadence]
    calendar = RegularCalendar.of(cadence, rhythm.at(rhythm.number_of(day)))
    today = day + timedelta(days=later)
    due = calendar.due(today)
    assert due == [calendar.at(index) for index in range(len(due))]
    assert all(calendar.period(release).end <= today for release in due)
    assert calendar.period(calendar.at(len(due))).end > today
    assert [calendar.is_due(calendar.at(index), today) for index in range(len(due) + 2)] == [True] * len(due) + [
        False
    ] * 2


@pytest.mark.parametrize(
    ("cadence", "first", "said"),
    [
        ("daily", "2024-02-30", "releases.first (2024-02-30) must be a day such as 2024-03-01"),
        ("weekly", "2021-W53", "releases.first (2021-W53) must be an ISO week such as 2024-W09"),
        ("weekly", "2024-W9", "releases.first (2024-W9) must be an ISO week such as 2024-W09"),
        ("monthly", "2024-13", "releases.first (2024-13) must be a month such as 2024-03"),
        ("quarterly", "2024-Q5", "releases.first (2024-Q5) must be a quarter such as 2024-Q1"),
        ("quarterly", "2024", "releases.first (2024) must be a quarter such as 2024-Q1"),
        ("yearly", "9999", "releases.first (9999) must be a year such as 2024"),
        ("yearly", "0000", "releases.first (0000) must be a year such as 2024"),
        ("yearly", "٢٠٢٤", "releases.first (٢٠٢٤) must be a year such as 2024"),
    ],
)
def test_a_wrong_first_release_says_what_a_right_one_looks_like(cadence, first, said):
    with pytest.raises(InvalidParameter, match=r"must be") as error:
        RegularCalendar.of(cadence, first)
    assert str(error.value) == said


def test_a_release_that_a_series_does_not_have_is_refused_with_a_sentence():
    calendar = RegularCalendar.of("quarterly", "2024-Q1")
    with pytest.raises(InvalidParameter, match=r"release \(2023-Q4\) must not be before the first, 2024-Q1"):
        calendar.index("2023-Q4")
    with pytest.raises(InvalidParameter, match=r"release \(r1\) must be a quarter such as 2024-Q1"):
        calendar.next_after("r1")
    with pytest.raises(InvalidParameter, match="first day of a quarter"):
        calendar.release_of("2024-02-01")
    with pytest.raises(InvalidParameter, match=r"release \(r3\) must be one of r1, r2"):
        NamedCalendar(("r1", "r2")).is_due("r3", date(2024, 1, 1))


def test_named_releases_are_always_due_in_the_order_of_the_list():
    calendar = NamedCalendar(("spring", "autumn"))
    assert calendar.due(date.min) == ["spring", "autumn"]
    assert calendar.is_due("autumn", date.min)
    assert calendar.next_after("spring") == "autumn"
    assert calendar.next_after("autumn") is None
    assert calendar.previous("spring") is None
    assert calendar.release_of(calendar.partition_key("autumn")) == "autumn"
    assert calendar.period("autumn") is None


NAMES = st.lists(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,3}", fullmatch=True), min_size=1, max_size=20, unique=True)


@settings(deadline=None)
@given(NAMES, st.integers(1, 20))
def test_keys_of_names_sort_in_the_order_of_the_list_lead_back_and_stay_when_names_are_added(names, before):
    calendar, earlier = NamedCalendar(tuple(names)), NamedCalendar(tuple(names[:before]))
    keys = [calendar.partition_key(name) for name in names]
    assert keys == sorted(keys)
    assert [calendar.release_of(key) for key in keys] == names
    assert [earlier.partition_key(name) for name in earlier.names] == keys[:before]


def test_a_key_shows_the_name_alone_until_names_no_longer_sort():
    calendar = NamedCalendar(tuple(f"r{place}" for place in range(1, 12)))
    assert [calendar.partition_key(name) for name in ("r1", "r9", "r10", "r11")] == ["r1", "r9", "~010 r10", "~011 r11"]
    for key in ("r10", "~009 r9", "010 r10", ""):
        with pytest.raises(InvalidParameter, match="partition key"):
            calendar.release_of(key)


def test_a_cron_release_is_named_by_the_day_of_its_tick_and_due_on_that_day():
    calendar = CronCalendar.of("0 6 1,15 * *", "2024-02-02")
    assert calendar.due(date(2024, 3, 14)) == ["2024-02-15", "2024-03-01"]
    assert calendar.due(date(2024, 3, 15))[-1] == "2024-03-15"
    assert calendar.due(date(2024, 1, 1)) == []
    assert calendar.is_due("2024-02-15", date(2024, 2, 15))
    assert not calendar.is_due("2024-02-15", date(2024, 2, 14))
    assert calendar.period("2024-03-01") == Period(date(2024, 2, 15), date(2024, 3, 1))
    with pytest.raises(InvalidParameter, match="ticks"):
        calendar.index("2024-02-01")


@settings(deadline=None)
@given(
    st.sampled_from(["0 0 * * *", "30 5 * * 1-5", "0 0 1 */3 *", "0 0 29 2 *", "0 0 1 jan,jul mon"]), st.integers(0, 20)
)
def test_order_and_names_agree_for_cron(expression, ahead):
    calendar = CronCalendar.of(expression, "2024-01-10")
    release = calendar.at(ahead)
    assert calendar.index(release) == ahead
    assert calendar.previous(calendar.next_after(release)) == release
    assert calendar.release_of(calendar.partition_key(release)) == release
    assert release in calendar.due(date.fromisoformat(release))


@pytest.mark.parametrize(
    ("expression", "ticks"),
    [
        ("0 0 1 * *", {1}),
        ("0 0 10-12 * *", {10, 11, 12}),
        ("0 0 */10 * *", {1, 11, 21, 31}),
        ("0 0 5/13 * *", {5, 18, 31}),
        ("0 0 * * 1", {1, 8, 15, 22, 29}),
        ("0 0 * * MON", {1, 8, 15, 22, 29}),
        ("0 0 * * 7", {7, 14, 21, 28}),
        ("0 0 * * 0", {7, 14, 21, 28}),
        ("0 0 13 * 5", {5, 12, 13, 19, 26}),
        ("0 0 1 2 *", set()),
    ],
)
def test_cron_ticks_on_the_days_that_cron_says(expression, ticks):
    cron = parse_cron(expression)
    assert {day for day in range(1, 32) if cron.ticks_on(date(2024, 1, day))} == ticks


@pytest.mark.parametrize(
    ("expression", "rule"),
    [
        ("0 0 1 *", "must have five fields"),
        ("0 0,12 1 * *", "must tick at most once a day"),
        ("* 0 1 * *", "must tick at most once a day"),
        ("0 0 32 * *", "must have a day of month from 1 to 31"),
        ("0 0 x * *", "must have a day of month from 1 to 31"),
        ("0 0 9-3 * *", "must have a day of month from 1 to 31"),
        ("0 0 */0 * *", "must have a day of month from 1 to 31"),
        ("0 0 30 2 *", "must tick on some day"),
    ],
)
def test_a_wrong_cron_expression_is_refused_with_a_sentence(expression, rule):
    with pytest.raises(InvalidParameter, match=rule):
        CronCalendar.of(expression, "2024-01-01")


@pytest.mark.parametrize(
    ("calendar", "release", "walked"),
    [
        (RegularCalendar.of("monthly", "2023-12"), "2024-02", ["2024-02", "2024-01", "2023-12"]),
        (CronCalendar.of("0 0 1 * *", "2024-01-15"), "2024-03-01", ["2024-03-01", "2024-02-01"]),
        (NamedCalendar(("b", "a", "c")), "a", ["a", "b"]),
    ],
)
def test_a_walk_backwards_ends_with_the_first_release(calendar: Calendar, release: str, walked: list[str]):
    assert list(calendar.backwards(release)) == walked
