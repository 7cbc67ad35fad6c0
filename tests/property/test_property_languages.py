"""A time in words is the same to search, which looks back, and to facts, which look ahead, in every language."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.languages import LANGUAGES, Language, temporal
from appliance.languages.temporal import TemporalExpression
from appliance.memory.facts import dates
from appliance.retrieval.time_ranges import find_time_ranges

NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
"""A Sunday."""
TODAY = NOW.date()


def searched(question: str) -> list[tuple[date, date]]:
    """First day and the day after the last, of each stretch that search understands."""
    found = find_time_ranges(question, NOW)
    return [
        (datetime.fromtimestamp(one.start / 1e6, UTC).date(), datetime.fromtimestamp(one.end / 1e6, UTC).date())
        for one in found
    ]


def stated(low: str, said: date | None = TODAY) -> str | None:
    """The day or the month that facts understand."""
    found = dates.named(low, 0, len(low), said)
    return found.value if found else None


def spelled(language: Language, field: str) -> list[tuple[int, str]]:
    """Every name with its number from 0 on."""
    several = enumerate(getattr(language.temporal, field))
    return [(number, name) for number, names in several for name in names.split("|")]


MONTHS = [(one, number + 1, name) for one in LANGUAGES for number, name in spelled(one, "months")]
WEEKDAYS = [(one, number, name) for one in LANGUAGES for number, name in spelled(one, "weekdays")]


@given(
    st.sampled_from(MONTHS), st.integers(1960, 2030), st.integers(1, 28), st.sampled_from((str, str.title, str.upper))
)
def test_a_month_in_any_language_is_the_same_to_search_and_to_facts(
    month: tuple[Language, int, str], year: int, day: int, written: type[str]
) -> None:
    _, number, name = month
    shown = written(name)
    later = (number % 12) + 1
    whole = (date(year, number, 1), date(year + (later == 1), later, 1))
    assert searched(f"{shown} {year}") == [whole] and stated(f"{name} {year}") == f"{year}-{number:02}"
    for order in (f"{day} {{}} {year}", f"{day}. {{}} {year}", f"{{}} {day}, {year}", f"{{}} {day} {year}"):
        ((first, after),) = searched(order.format(shown))
        assert stated(order.format(name)) == first.isoformat() == f"{year}-{number:02}-{day:02}"
        assert (after - first).days == 1
    assert stated(f"{day} {name}", None) == f"{number:02}-{day:02}"
    assert {(first.month, first.day) for first, _ in searched(f"{day} {shown}")} == {(number, day)}


@given(st.sampled_from(WEEKDAYS))
def test_a_weekday_in_any_language_is_the_same_to_search_and_to_facts(weekday: tuple[Language, int, str]) -> None:
    language, number, name = weekday
    for lead in language.temporal.on:
        ((first, after),) = searched(f"{lead} {name.title()}")
        ahead = date.fromisoformat(stated(f"{lead} {name}") or "")
        assert first.weekday() == number == ahead.weekday() and (after - first).days == 1
        assert 0 < (TODAY - first).days <= 7 and 0 < (ahead - TODAY).days <= 7


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_a_day_near_today_is_understood_by_who_looks_there(language: Language) -> None:
    for days, names in language.temporal.days.items():
        for name in names.split("|"):
            found = [first for first, _ in searched(name)]
            assert found == ([TODAY + timedelta(days=days)] if days <= 0 else [])
            assert stated(name) == ((TODAY + timedelta(days=days)).isoformat() if days >= 0 else None)


def test_no_name_means_two_things() -> None:
    for field in ("months", "weekdays", "seasons", "numbers"):
        meant: dict[str, int] = {}
        for one in LANGUAGES:
            for number, name in spelled(one, field):
                assert meant.setdefault(name, number) == number, name


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_a_language_is_whole(language: Language) -> None:
    """Twelve months, seven weekdays, four seasons; words in small letters."""
    words = language.temporal
    assert [len(words.months), len(words.weekdays), len(words.seasons)] == [12, 7, 4]
    for field in fields(language):
        held = getattr(language, field.name)
        if isinstance(held, frozenset):
            assert all(word == word.lower() and not word.isspace() for word in held), field.name


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from([*temporal.MONTHS, "5", "12.", "2024", "5.3.", "last"])).map(" ".join)
)
def test_an_expression_lies_in_its_text(text: str) -> None:
    found = temporal.find(text, 4)
    assert len(found) <= 4 and all(isinstance(one, TemporalExpression) for one in found)
    assert all(0 <= one.start < one.end <= len(text) for one in found)
    ends = sorted((one.start, one.end) for one in found)
    assert all(left[1] <= right[0] for left, right in pairwise(ends))
