"""The time ranges that a query names, as microseconds since 1970, and how close messages are to them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from appliance.languages import LANGUAGES
from appliance.languages.periods import find_periods
from appliance.retrieval.candidates import Column
from appliance.timestamps import to_microseconds

DECAY_MICROSECONDS = 7 * 86_400e6
"""Microseconds in which the closeness falls to 1/e: people mention events days after them, or before."""

EARLIER_WEIGHT = 0.5
"""The weight of a message before a range against one as long after it: people report more than they announce."""


_WORD = re.compile(r"\w+")
_OF_NO_CONTENT = frozenset[str]().union(*(one.function_words | one.talk_words for one in LANGUAGES))


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From ``start`` up to but excluding ``end``, in microseconds since 1970; ``words`` name it in the query.

    ``is_bound`` says that the words only tell where it begins or ends: "before March 2022"."""

    start: int
    end: int
    words: str
    is_bound: bool = False


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
            )
            for mention in find_periods(question, datetime(now.year, now.month, now.day))
            for start, end in mention.periods
        )
    )


def unambiguous(ranges: Sequence[TimeRange]) -> list[TimeRange]:
    """The time expressions that name one range, not one in each year."""
    return [it for it in ranges if sum(other.words == it.words for other in ranges) == 1]


def words_beside(ranges: Sequence[TimeRange], question: str) -> set[str]:
    """The words of a question that name something beside the ranges, in small letters."""
    rest = unicodedata.normalize("NFC", question)
    for time_range in ranges:
        rest = rest.replace(time_range.words, " ")
    return set(_WORD.findall(rest.casefold())) - _OF_NO_CONTENT


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
