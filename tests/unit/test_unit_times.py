"""The times that a question names, and how close a message is to them."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import UsageError
from appliance.languages import ENGLISH, temporal
from appliance.languages.periods import MAX_EXPRESSIONS, impossible_dates, read_period
from appliance.languages.vocabulary import Vocabulary
from appliance.retrieval.time_ranges import (
    EARLIER_WEIGHT,
    TimeRange,
    closeness,
    definite,
    find_time_ranges,
    look_up,
    period_match,
)
from appliance.timestamps import parse_as_of, parse_bound

SUNDAY = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)


def days(question: str, now: datetime = SUNDAY) -> list[tuple[str, str]]:
    """First day and the day after the last, of each stretch."""
    return [
        tuple(datetime.fromtimestamp(at / 1e6, now.tzinfo).date().isoformat() for at in (one.start, one.end))  # type: ignore[misc]
        for one in find_time_ranges(question, now)
    ]


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("what did we say in March 2024?", "2024-03-01", "2024-04-01"),
        ("what happened on May 5, 2023", "2023-05-05", "2023-05-06"),
        ("the photo of 5 May 2023", "2023-05-05", "2023-05-06"),
        ("on the 1st of June, 2023", "2023-06-01", "2023-06-02"),
        ("notes of 2024-02-29", "2024-02-29", "2024-03-01"),
        ("bill of 2024-02", "2024-02-01", "2024-03-01"),
        ("Rechnung vom 05.03.2024", "2024-03-05", "2024-03-06"),
        ("in 2023 we moved", "2023-01-01", "2024-01-01"),
        ("our trip in the summer of 2021", "2021-06-01", "2021-09-01"),
        ("winter 2021", "2021-12-01", "2022-03-01"),
        ("what did Ana tell me yesterday", "2026-11-21", "2026-11-22"),
        ("today's plan", "2026-11-22", "2026-11-23"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("this week", "2026-11-16", "2026-11-23"),
        ("last weekend", "2026-11-14", "2026-11-16"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("last March", "2026-03-01", "2026-04-01"),
        ("last december", "2025-12-01", "2026-01-01"),
        ("last summer", "2026-06-01", "2026-09-01"),
        ("last Monday", "2026-11-16", "2026-11-17"),
        ("what we talked about on Sunday", "2026-11-15", "2026-11-16"),
        ("3 days ago", "2026-11-19", "2026-11-20"),
        ("two weeks ago", "2026-11-05", "2026-11-12"),
        ("a couple of months ago", "2026-09-01", "2026-10-01"),
        ("five years ago", "2021-01-01", "2022-01-01"),
        ("the past 10 days", "2026-11-12", "2026-11-23"),
        ("since May 2024", "2024-05-01", "2026-11-23"),
        ("before 10 April 2023", "1970-01-01", "2023-04-10"),
        ("since May", "2026-05-01", "2026-11-23"),
        ("early March 2024", "2024-03-01", "2024-03-11"),
        ("at the end of June 2024", "2024-06-21", "2024-07-01"),
        ("from June to August 2023", "2023-06-01", "2023-09-01"),
        ("between March 2024 and May 2024", "2024-03-01", "2024-06-01"),
        ("im März 2024", "2024-03-01", "2024-04-01"),
        ("letzte Woche", "2026-11-09", "2026-11-16"),
        ("vor drei Tagen", "2026-11-19", "2026-11-20"),
        ("en marzo de 2024", "2024-03-01", "2024-04-01"),
        ("el 5 de mayo de 2023", "2023-05-05", "2023-05-06"),
        ("la semana pasada", "2026-11-09", "2026-11-16"),
        ("hace dos semanas", "2026-11-05", "2026-11-12"),
        ("Rechnung vom Okt 2024", "2024-10-01", "2024-11-01"),
        ("am 3. Dez. 2024", "2024-12-03", "2024-12-04"),
        ("was war am Montag", "2026-11-16", "2026-11-17"),
        ("qué dije el lunes", "2026-11-16", "2026-11-17"),
        ("the walk last Sat", "2026-11-21", "2026-11-22"),
        ("the walk on Saturday, 5 October 2024", "2024-10-05", "2024-10-06"),
        ("the bill of 10/25/2024", "2024-10-25", "2024-10-26"),
        ("the plan for April 22, 2024: what was in it", "2024-04-22", "2024-04-23"),
    ],
)
def test_a_time_is_understood(question: str, first: str, after: str) -> None:
    assert days(question) == [(first, after)]


@pytest.mark.parametrize(
    "text",
    [
        "Figuier!2022",
        "figuier_2022",
        "Figuier-2022",
        "covid.2022",
        "2022!Figuier",
        "2022-Figuier",
        "2022@example.org",
        "see example.org/2022/03/page",
        "user:2022",
        "#2022 and $2022",
        "2022%",
        "version 3.2022.1",
    ],
)
def test_a_year_within_another_word_is_no_year(text: str) -> None:
    assert days(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "2022",
        "2022?",
        "in 2022, please!",
        "(2022)",
        "the best (of 2022).",
        "“2022”",
        "'2022'",
        "2022's best",
        "the plan for 2022: what was in it",
        "in 2022... and then",
        "2022 – a year",
        "2022—a year",
        "bill 03/2022",
        "Rechnung 03.2022",
        "¿2022?",
        "「2022」",
    ],
)
def test_a_year_that_stands_alone_is_one(text: str) -> None:
    assert days(text) == [("2022-01-01", "2023-01-01")]


def test_a_year_may_have_another_number_beside_it() -> None:
    for text in ("2021–2022", "2021-2022", "2021 - 2022"):
        assert days(text) == [("2021-01-01", "2023-01-01")]
    assert days("2022-03") == [("2022-03-01", "2022-04-01")]
    assert days("2021/2022") == days("2021, 2022") == [("2021-01-01", "2022-01-01"), ("2022-01-01", "2023-01-01")]
    assert days("mid-2022") == [("2022-05-02", "2022-09-01")]


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("from 5 to 7 June 2022", "2022-06-05", "2022-06-08"),
        ("between 1 and 7 February 2022", "2022-02-01", "2022-02-08"),
        ("5-7 June 2022", "2022-06-05", "2022-06-08"),
        ("June 5-7, 2022", "2022-06-05", "2022-06-08"),
        ("between June 5 and 7, 2022", "2022-06-05", "2022-06-08"),
        ("from the 28th to the 3rd of June 2022", "2022-05-28", "2022-06-04"),
        ("from Monday 6 to Wednesday 8 June 2022", "2022-06-06", "2022-06-09"),
        ("from 5 June to 7 June 2022", "2022-06-05", "2022-06-08"),
        ("June 5 to July 7, 2022", "2022-06-05", "2022-07-08"),
        ("2022-06-05 to 2022-06-07", "2022-06-05", "2022-06-08"),
        ("between March and May 2022", "2022-03-01", "2022-06-01"),
        ("March to May 2022", "2022-03-01", "2022-06-01"),
        ("2020-2021", "2020-01-01", "2022-01-01"),
        ("since March 2022 until May 2022", "2022-03-01", "2022-06-01"),
        ("after March 2022 and before May 2022", "2022-04-01", "2022-05-01"),
        ("1.-7. Februar 2022", "2022-02-01", "2022-02-08"),
        ("vom 5. bis 7. Juni 2022", "2022-06-05", "2022-06-08"),
        ("vom 5.6. bis zum 7.6.2022", "2022-06-05", "2022-06-08"),
        ("zwischen dem 5. und dem 7. Juni 2022", "2022-06-05", "2022-06-08"),
        ("von März bis Mai 2022", "2022-03-01", "2022-06-01"),
        ("del 5 al 7 de junio de 2022", "2022-06-05", "2022-06-08"),
        ("entre el 5 y el 7 de junio de 2022", "2022-06-05", "2022-06-08"),
        ("desde marzo hasta mayo de 2022", "2022-03-01", "2022-06-01"),
    ],
)
def test_a_range_keeps_its_beginning(question: str, first: str, after: str) -> None:
    assert days(question) == [(first, after)]


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("before March 2022", "1970-01-01", "2022-03-01"),
        ("before 1 December 2026", "1970-01-01", "2026-12-01"),
        ("after 1 December 2023", "2023-12-02", "2026-11-23"),
        ("since 20 February 2026", "2026-02-20", "2026-11-23"),
        ("until 1 February 2022", "1970-01-01", "2022-02-02"),
        ("vor März 2022", "1970-01-01", "2022-03-01"),
        ("nach dem 1. Dezember 2023", "2023-12-02", "2026-11-23"),
        ("seit dem 20. Februar 2026", "2026-02-20", "2026-11-23"),
        ("bis 1. Februar 2022", "1970-01-01", "2022-02-02"),
        ("bis zum 1. Februar 2022", "1970-01-01", "2022-02-02"),
        ("antes de marzo de 2022", "1970-01-01", "2022-03-01"),
        ("después del 1 de diciembre de 2023", "2023-12-02", "2026-11-23"),
        ("desde el 20 de febrero de 2026", "2026-02-20", "2026-11-23"),
        ("hasta el 1 de febrero de 2022", "1970-01-01", "2022-02-02"),
    ],
)
def test_a_preposition_bounds_a_time_and_belongs_to_its_words(question: str, first: str, after: str) -> None:
    assert days(f"{question}?") == [(first, after)]
    assert [one.words for one in find_time_ranges(f"{question}?", SUNDAY)] == [question]


def test_a_bound_before_all_times_or_in_the_future_bounds_nothing() -> None:
    assert days("before 1960") == days("since 1 December 2026") == days("after today") == []


def test_a_preposition_elsewhere_bounds_nothing() -> None:
    assert days("since it rained on 5 May 2023") == [("2023-05-05", "2023-05-06")]
    assert days("how long until 1 February 2022?") == [("2022-02-01", "2022-02-02")]
    for distance in ("two weeks before", "on the Sunday before", "the day after"):
        assert days(f"{distance} 3 August 2023")[-1] == ("2023-08-03", "2023-08-04")
    assert days("zwei Wochen vor dem 3. August 2023") == [("2023-08-03", "2023-08-04")]
    assert days("dos semanas antes del 3 de agosto de 2023") == [("2023-08-03", "2023-08-04")]
    assert days("5 and 7 June 2022") == [("2022-06-07", "2022-06-08")]


def test_beyond_a_bound_nothing_is_close() -> None:
    times = np.array([datetime(2022, month, 1, tzinfo=UTC).timestamp() * 1e6 for month in (1, 2, 3, 4)])
    assert closeness(find_time_ranges("before March 2022", SUNDAY), times).tolist() == [1, 1, 0, 0]
    assert closeness(find_time_ranges("since March 2022", SUNDAY), times).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "question",
    [
        "2 pm on 8 May 2023",
        "8 May 2023 at 14:00",
        "8 May 2023, 2 p.m.",
        "2023-05-08 14:00",
        "14 Uhr am 8. Mai 2023",
        "2 pm 8 May 2023",
        "8. Mai 2023 um 14 Uhr",
        "8 de mayo de 2023 a las 2 de la tarde",
    ],
)
def test_a_time_of_day_is_that_hour_with_a_margin(question: str) -> None:
    (found,) = find_time_ranges(f"what was said at {question}?", SUNDAY)
    begin, end = (datetime.fromtimestamp(at / 1e6, UTC) for at in (found.start, found.end))
    assert (begin, end) == (datetime(2023, 5, 8, 13, tzinfo=UTC), datetime(2023, 5, 8, 16, tzinfo=UTC))
    assert found.words == question


def test_a_bound_at_a_time_of_day_is_exact() -> None:
    (found,) = find_time_ranges("after 2 pm on 8 May 2023", SUNDAY)
    assert found.start / 1e6 == datetime(2023, 5, 8, 14, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(("question", "hour"), [("12 Uhr am 8. Mai 2023", 12), ("8 May 2023 at 12 am", 0)])
def test_noon_is_not_midnight(question: str, hour: int) -> None:
    (found,) = find_time_ranges(question, SUNDAY)
    assert found.start / 1e6 + 3600 == datetime(2023, 5, 8, hour, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "question",
    [
        "on 8 May 2023 at 20 places",
        "20 am 8. Mai 2023",
        "3 am 8. Mai 2023",
        "room 14 on 8 May 2023",
        "14:30 - 8 May 2023",
    ],
)
def test_a_number_beside_a_day_is_no_time_of_day(question: str) -> None:
    assert days(question) == [("2023-05-08", "2023-05-09")]


@pytest.mark.parametrize(
    "question", ["2 pm to 4 pm on 8 May 2023", "9 and 10 am on 8 May 2023", "10-12 Uhr am 8. Mai 2023"]
)
def test_from_hour_to_hour_is_the_day(question: str) -> None:
    (found,) = find_time_ranges(question, SUNDAY)
    assert found.words == question and days(question) == [("2023-05-08", "2023-05-09")]


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("8th May 23", "2023-05-08", "2023-05-09"),
        ("the week of 10 May 2023", "2023-05-08", "2023-05-15"),
        ("die Woche vom 8. Mai 2023", "2023-05-08", "2023-05-15"),
        ("la semana del 8 de mayo de 2023", "2023-05-08", "2023-05-15"),
        ("Q1 2023", "2023-01-01", "2023-04-01"),
        ("the third quarter of 2023", "2023-07-01", "2023-10-01"),
        ("im 1. Quartal 2023", "2023-01-01", "2023-04-01"),
        ("el primer trimestre de 2023", "2023-01-01", "2023-04-01"),
        ("early 2023", "2023-01-01", "2023-05-02"),
        ("mid July 2023", "2023-07-11", "2023-07-21"),
        ("late 2023", "2023-09-01", "2024-01-01"),
        ("Mitte Juli 2023", "2023-07-11", "2023-07-21"),
        ("a finales de 2023", "2023-09-01", "2024-01-01"),
        ("on Christmas Eve 2023", "2023-12-24", "2023-12-25"),
        ("an Heiligabend 2023", "2023-12-24", "2023-12-25"),
        ("en Nochebuena de 2023", "2023-12-24", "2023-12-25"),
        ("Weihnachten 2025", "2025-12-24", "2025-12-27"),
        ("at Christmas 2025", "2025-12-24", "2025-12-27"),
        ("en Navidad de 2025", "2025-12-24", "2025-12-27"),
        ("mayo pasado", "2026-05-01", "2026-06-01"),
        ("vorletzte Woche", "2026-11-02", "2026-11-09"),
        ("im vorletzten Jahr", "2024-01-01", "2025-01-01"),
        ("the week before last", "2026-11-02", "2026-11-09"),
        ("la semana antepasada", "2026-11-02", "2026-11-09"),
        ("el verano pasado", "2026-06-01", "2026-09-01"),
    ],
)
def test_a_time_by_another_name_is_understood(question: str, first: str, after: str) -> None:
    assert days(question) == [(first, after)]


@pytest.mark.parametrize(
    ("question", "day"),
    [("on May 8th", "05-08"), ("on Christmas Eve", "12-24"), ("Silvester", "12-31"), ("Nochebuena", "12-24")],
)
def test_a_day_without_its_year_may_be_any_years(question: str, day: str) -> None:
    found = [first for first, _ in days(question)]
    assert {f"2022-{day}", f"2025-{day}"} <= set(found) and {first[5:] for first in found} == {day}


def test_a_day_of_any_year_is_looked_up_in_the_latest_years_that_have_messages() -> None:
    asked: list[int] = []

    def has_messages(one: TimeRange) -> bool:
        asked.append(datetime.fromtimestamp(one.start / 1e6, UTC).year)
        return asked[-1] % 2 == 0

    found = look_up(find_time_ranges("on 8 May or in March or yesterday", SUNDAY), has_messages)
    assert asked == [2027, 2026, 2025, 2024, 2023, 2022, 2021, 2020]
    assert [one.words for one in definite(found)] == ["8 May"] * 32 + ["yesterday"]
    times = np.array([datetime(year, 5, 8, 12, tzinfo=UTC).timestamp() * 1e6 for year in (2026, 2024, 2010)])
    first, second, beyond = period_match(found, times).tolist()
    assert first == 1.0 > second > beyond > 0.0


@pytest.mark.parametrize(
    "question",
    [
        "31 April 2023",
        "from 28 to 31 April 2023",
        "may I go?",
        "we march on",
        "an august person",
        "version 2.0.20",
        "2048 is a game",
        "order 20231",
        "February 30, 2024",
        "2024-13-01",
        "in 0 days",
        "a second opinion",
        "they fall often",
        "I am sat here, as I am sun-burnt",
        "what shall we do tomorrow, and next Friday",
        "in 3 days",
        "",
    ],
)
def test_what_is_no_time_names_none(question: str) -> None:
    assert days(question) == []


@pytest.mark.parametrize(
    "text",
    [
        "31 April 2023",
        "February 30, 2024",
        "2024-13-01",
        "2026-05-32",
        "31 June",
        "31.02.2024",
        "30 de febrero de 2024",
    ],
)
def test_an_impossible_date_is_told_from_a_number(text: str) -> None:
    assert impossible_dates(f"what was said on {text}?") == [text]


@pytest.mark.parametrize(
    "text", ["invoice 2024-17", "32 may come", "29 February", "5/6/2024", "1234-56-78", "31 May 2024", "4 weeks ago"]
)
def test_what_may_be_a_date_or_a_number_is_no_impossible_date(text: str) -> None:
    assert impossible_dates(text) == []


def test_a_month_without_its_year_may_be_any_years() -> None:
    found = days("what did we plan in May")
    assert {("2024-05-01", "2024-06-01"), ("2026-05-01", "2026-06-01")} <= set(found)
    assert all(first[5:] == "05-01" for first, _ in found)


def test_a_day_is_a_day_where_the_question_is_asked() -> None:
    east = timezone(timedelta(hours=9))
    (stretch,) = find_time_ranges("yesterday", datetime(2026, 11, 22, 1, 0, tzinfo=east))
    assert stretch.start / 1e6 == datetime(2026, 11, 21, tzinfo=east).timestamp()


def test_a_day_of_which_nobody_knows_what_comes_first_may_be_either() -> None:
    assert days("5/6/2024") == [("2024-05-06", "2024-05-07"), ("2024-06-05", "2024-06-06")]


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("yesterday", "2026-11-21", "2026-11-22"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("2 months ago", "2026-09-01", "2026-10-01"),
        ("March 2024", "2024-03-01", "2024-04-01"),
        ("16.03.2024", "2024-03-16", "2024-03-17"),
        (" letzte Woche ", "2026-11-09", "2026-11-16"),
        ("hace dos días", "2026-11-20", "2026-11-21"),
        ("Friday", "2026-11-20", "2026-11-21"),
        ("5-7 June 2022", "2022-06-05", "2022-06-08"),
        ("Q1 2023", "2023-01-01", "2023-04-01"),
    ],
)
def test_the_name_of_a_period_is_read(text: str, first: str, after: str) -> None:
    period = read_period(text, datetime(2026, 11, 22))
    assert period is not None and [at.date().isoformat() for at in period] == [first, after]


@pytest.mark.parametrize(
    "text", ["soon", "", "next week", "tomorrow", "10", "2024-13-01", "since yesterday", "a day", "2 pm on 8 May 2023"]
)
def test_what_is_no_name_of_a_period_is_none(text: str) -> None:
    assert read_period(text, datetime(2026, 11, 22)) is None


def test_a_bound_is_a_day_a_time_or_a_period_in_words() -> None:
    yesterday = datetime.now().date() - timedelta(days=1)
    for end in (False, True):
        assert parse_bound("yesterday", end=end) == parse_bound(yesterday, end=end)
    assert parse_as_of("yesterday") == parse_as_of(yesterday.isoformat())
    assert parse_bound("March 2024", end=True) == parse_bound("2024-03-31", end=True)
    with pytest.raises(UsageError, match="Invalid date 'soon'") as error:
        parse_bound("soon", end=True)
    assert "yesterday" in (error.value.hint or "")


def test_closeness_is_one_within_and_falls_outside() -> None:
    stretches = find_time_ranges("on 5 May 2023", SUNDAY)
    days_off = [-30, -1, 0, 1, 2, 30]
    times = np.array([datetime(2023, 5, 5, 12, tzinfo=UTC).timestamp() * 1e6 + d * 86_400e6 for d in days_off])
    close = closeness(stretches, np.append(times, np.nan))
    assert close[2] == 1.0 and close[-1] == 0.0
    assert close[0] < close[1] < EARLIER_WEIGHT < close[4] < close[3] < 1.0
    assert 0 < close[5] < 0.1


@given(st.text(max_size=200), st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1)))
def test_any_text_can_be_asked(question: str, now: datetime) -> None:
    for one in find_time_ranges(question, now.replace(tzinfo=UTC)):
        assert one.start < one.end and one.words in question


@given(
    st.sampled_from(("in", "on", "since", "before")), st.integers(1, 31), st.integers(1, 12), st.integers(1951, 2026)
)
def test_every_day_of_the_calendar(word: str, day: int, month: int, year: int) -> None:
    found = find_time_ranges(f"{word} {year}-{month:02}-{day:02}", SUNDAY)
    try:
        meant = datetime(year, month, day, tzinfo=UTC).timestamp() * 1e6
    except ValueError:
        assert not found
    else:
        assert all((one.end if word == "before" else one.start) == meant for one in found) and len(found) <= 1


@pytest.mark.parametrize(
    ("question", "as_if"),
    [
        ("what we said on frıday", "what we said on friday"),
        ("last FRİDAY", "last friday"),
        ("in aprıl 2024", "in april 2024"),
        ("im ma\u0308rz 2024", "im märz 2024"),
    ],
)
def test_letters_that_are_written_otherwise_are_the_same(question: str, as_if: str) -> None:
    assert days(question) == days(as_if) != []


def test_a_moment_is_of_its_day() -> None:
    for written in ("2024-03-05T10:00", "2024-03-05T10:00:00Z", "2024-03-05T1000"):
        assert days(f"the log of {written}") == [("2024-03-05", "2024-03-06")]


def test_from_a_month_to_a_month_in_every_language() -> None:
    ways = ("between May and July", "zwischen Mai und Juli", "entre mayo y julio")
    first, *others = (days(f"{way}?") for way in ways)
    assert ("2026-05-01", "2026-08-01") in first and all(other == first for other in others)


def test_a_leap_day_without_its_year_is_of_the_years_that_have_it() -> None:
    assert days("the party on February 29")[-1] == ("2024-02-29", "2024-03-01")
    assert days("on 29 February 2023") == []


def test_a_time_that_is_named_twice_is_one() -> None:
    assert days("yesterday, I mean yesterday evening") == [("2026-11-21", "2026-11-22")]


def test_nothing_is_named_beyond_the_calendar() -> None:
    last = datetime(9999, 12, 31, 12, tzinfo=UTC)
    for question in ("since 2024", "today", "in May", "last week", "since 9999-12-31", "0000-00"):
        find_time_ranges(question, last)
        find_time_ranges(question, datetime(1, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    "page",
    [
        "in may " * 2_900,
        "2020 " * 4_000,
        "from 2020 to 2021 " * 1_100,
        ("before" + " " * 500 + "in may ") * 40,
        "em março de " * 2_000,
        "entre 5 et " * 2_000 + "mars",
        ("avant" + " " * 500 + "en mars ") * 40,
        " ".join(f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}" for n in range(1_800)),
    ],
)
def test_a_pasted_page_of_times_is_understood_at_once(page: str) -> None:
    """Each would take ten seconds or more if all its times counted; a question's few are found in a few ms."""
    began = time.process_time()
    found = find_time_ranges(page, SUNDAY)
    assert len({one.words for one in found}) <= MAX_EXPRESSIONS
    assert time.process_time() - began < 2


def test_of_several_threads_one_compiles_a_pattern() -> None:
    both = threading.Barrier(2, timeout=0.2)

    def compiled(of: Vocabulary) -> re.Pattern[str]:
        compilations.append(1)
        with suppress(threading.BrokenBarrierError):  # it alone compiles
            both.wait()
        return re.compile("a time")

    compilations: list[int] = []
    pattern = temporal._compiled_once(compiled)
    vocabulary = Vocabulary((ENGLISH.temporal,), articles="the", conjunctions="and")
    with ThreadPoolExecutor(2) as pool:
        found = [asked.result() for asked in [pool.submit(pattern, vocabulary) for _ in range(2)]]
    assert found[0] is found[1] and compilations == [1]
