"""The time ranges that a query names, as microseconds since 1970, and how close messages are to them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from appliance.languages import LANGUAGES
from appliance.languages.periods import find_periods, impossible_dates
from appliance.languages.time_words import TIME_PARTICLES
from appliance.retrieval.candidates import Column
from appliance.timestamps import to_microseconds

DECAY_MICROSECONDS = 7 * 86_400e6
"""Microseconds in which the closeness falls to 1/e: people mention events days after them, or before."""

EARLIER_WEIGHT = 0.5
"""The weight of a message before a range against one as long after it: people report more than they announce."""


MONTH_MICROSECONDS = 28 * 86_400e6
"""From this length on, a range that may be of any year is not looked up: nearly every year has messages in March."""

MAX_YEARS = 4
"""How many years a day without a year is looked up in: the latest that have messages of that day."""

EARLIER_YEAR = 0.1
"""How much less a day of any year counts with each later year that has messages of it."""

_WORD = re.compile(r"\w+")
_OF_NO_CONTENT = frozenset[str]().union(*(one.function_words | one.talk_words for one in LANGUAGES))


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From ``start`` up to but excluding ``end``, in microseconds since 1970; ``words`` name it in the query.

    ``is_bound`` says that the words only tell where it begins or ends: "before March 2022". ``is_alternative`` says
    that they may mean another range too, of another year. ``has_messages`` says of such a range whether messages of it
    are looked for, and is None if that was not looked up."""

    start: int
    end: int
    words: str
    is_bound: bool = False
    is_alternative: bool = False
    has_messages: bool | None = None


def find_time_ranges(question: str, now: datetime) -> list[TimeRange]:
    """The time ranges that a query names. ``now``, with its time zone, is when the query is asked."""
    question = unicodedata.normalize("NFC", question)
    return list(
        dict.fromkeys(
            TimeRange(
                _instant(start, now),
                _instant(end, now),
                question[slice(*mention.at)].strip(),
                is_bound=mention.form == "bound",
                is_alternative=len(mention.periods) > 1,
            )
            for mention in find_periods(question, datetime(now.year, now.month, now.day))
            for start, end in mention.periods
        )
    )


def find_impossible_dates(question: str) -> list[str]:
    """The dates that a query names and no calendar has, in its words."""
    return impossible_dates(unicodedata.normalize("NFC", question))


def look_up(ranges: Sequence[TimeRange], has_messages: Callable[[TimeRange], bool]) -> list[TimeRange]:
    """The time ranges, where those of days of any year tell in which years there are messages: the latest
    ``MAX_YEARS``."""
    years: Counter[str] = Counter()
    known: dict[TimeRange, bool] = {}
    for one in sorted(ranges, key=lambda one: one.start, reverse=True):
        if one.is_alternative and one.end - one.start < MONTH_MICROSECONDS:
            known[one] = years[one.words] < MAX_YEARS and has_messages(one)
            years[one.words] += known[one]
    return [replace(one, has_messages=known.get(one)) for one in ranges]


def definite(ranges: Sequence[TimeRange]) -> list[TimeRange]:
    """The time ranges whose messages are looked for: those that their words name alone, and days of any year that were
    looked up."""
    return [one for one in ranges if not one.is_alternative or one.has_messages is not None]


def period_match(ranges: Sequence[TimeRange], times: Column) -> Column:
    """1 for each time (microseconds, NaN unknown) that lies in one of the ranges that are looked for, and less in an
    earlier year of the same day; else 0."""
    best = np.zeros(len(times))
    years: Counter[str] = Counter()
    for one in sorted(definite(ranges), key=lambda one: one.start, reverse=True):
        best = np.maximum(best, (1.0 - EARLIER_YEAR * years[one.words]) * within([one], times))
        years[one.words] += bool(one.has_messages)
    return best


def words_beside(times: Iterable[str], question: str) -> set[str]:
    """The words of a question that name something beside its times, in small letters."""
    rest = question = unicodedata.normalize("NFC", question)
    for words in times:
        rest = rest.replace(words, " ")
    beside = set(_WORD.findall(rest.casefold())) - _OF_NO_CONTENT
    return beside if rest == question else beside - TIME_PARTICLES


def within(ranges: Sequence[TimeRange], times: Column) -> Column:
    """1 for each time (microseconds, NaN unknown) that lies in one of the ranges, else 0."""
    inside = np.zeros(len(times), bool)
    for time_range in ranges:
        inside |= (times >= time_range.start) & (times < time_range.end)
    return inside.astype(np.float64)


def closeness(ranges: Sequence[TimeRange], times: Column) -> Column:
    """How close each time (microseconds, NaN unknown) is to the nearest range: 1 within it, then falling.

    Beyond a bound it is 0: who asks for what was said before a time wants nothing from after it."""
    best = within([time_range for time_range in ranges if time_range.is_bound], times)
    for time_range in ranges:
        if time_range.is_bound:
            continue
        after = np.exp(-np.maximum(times - time_range.end, 0.0) / DECAY_MICROSECONDS)
        before = EARLIER_WEIGHT * np.exp(-np.maximum(time_range.start - times, 0.0) / DECAY_MICROSECONDS)
        near = np.where(times < time_range.start, before, after)
        best = np.maximum(best, np.nan_to_num(near))
    return best


def _instant(moment: datetime, now: datetime) -> int:
    return to_microseconds(moment.replace(tzinfo=now.tzinfo))
