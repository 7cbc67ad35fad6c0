"""Dates in Japanese, Chinese, Korean and Arabic mean the same periods as in the other languages."""

from __future__ import annotations

from datetime import datetime

import pytest

from appliance.languages.periods import find_periods, read_day, read_period

TODAY = datetime(2026, 11, 26)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2024年3月1日", "2024-03-01", "2024-03-02"),
        ("2024年3月", "2024-03-01", "2024-04-01"),
        ("2024年", "2024-01-01", "2025-01-01"),
        ("３月１日", "2026-03-01", "2026-03-02"),
        ("3月1号", "2026-03-01", "2026-03-02"),
        ("昨日", "2026-11-25", "2026-11-26"),
        ("昨天", "2026-11-25", "2026-11-26"),
        ("先週", "2026-11-16", "2026-11-23"),
        ("上个月", "2026-10-01", "2026-11-01"),
        ("2024년 3월 1일", "2024-03-01", "2024-03-02"),
        ("작년", "2025-01-01", "2026-01-01"),
        ("مارس 2023", "2023-03-01", "2023-04-01"),
        ("١٤ مارس ٢٠٢٣", "2023-03-14", "2023-03-15"),
        ("14 من مارس عام 2023", "2023-03-14", "2023-03-15"),
        ("أمس", "2026-11-25", "2026-11-26"),
        ("الأسبوع الماضي", "2026-11-16", "2026-11-23"),
    ],
)
def test_a_name_of_a_period_is_read(text: str, start: str, end: str) -> None:
    assert read_period(text, TODAY) == (datetime.fromisoformat(start), datetime.fromisoformat(end))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("田中さんは3月1日に何を言いましたか", "3月1日"),
        ("昨日何を話しましたか", "昨日"),
        ("2024年3月の家賃", "2024年3月"),
        ("ماذا قالت فاطمة في مارس 2023؟", "مارس 2023"),
        ("我们上周说了什么", "上周"),
    ],
)
def test_a_question_names_it(text: str, words: str) -> None:
    assert [text[slice(*one.at)] for one in find_periods(text, TODAY)] == [words]


@pytest.mark.parametrize("text", ["3ヶ月前から", "13月40日に", "أحمد مارس الرياضة", "日本語の本", "이일은"])
def test_other_words_are_no_dates(text: str) -> None:
    assert not [one for one in find_periods(text, TODAY) if one.periods]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("15 March", "2027-03-15"),
        ("03-15", "2027-03-15"),
        ("04.02.2025", "2025-02-04"),
        ("04.02.", "2027-02-04"),
        ("15. März", "2027-03-15"),
        ("el 15 de marzo", None),
        ("15 de marzo", "2027-03-15"),
        ("3月15日", "2027-03-15"),
        ("24 December", "2026-12-24"),
        ("26 November", "2026-11-26"),
        ("29 February", "2028-02-29"),
        ("2025-02-04", "2025-02-04"),
        ("yesterday", "2026-11-25"),
        ("last week", None),
        ("May 2024", None),
        ("02-31", None),
        ("soon", None),
    ],
)
def test_a_day_may_have_no_year(text: str, day: str | None) -> None:
    assert read_day(text, TODAY) == (datetime.fromisoformat(day) if day else None)
