"""Dates in languages whose words do not stand between spaces, or whose months have names in another script: Japanese,
Chinese, Korean and Arabic.

Only dates and the nearest days, weeks, months and years are read; there are no cues for summaries and facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from appliance.languages.language import TimeUnit
from appliance.lazy_dataclasses import dataclass


@dataclass(frozen=True, eq=False, repr=False)
class CalendarWords:
    """The words of dates. Strings with bars hold alternatives.

    Attributes:
        days: The names of days by their distance from today.
        spans: The names of the last and the present week, month and year.
        year: What follows the number of a year ("2024年"); empty where the number stands alone.
        month: What follows the number of a month.
        day: What follows the number of a day.
        months: The names of the months, from January on.
        leads: What may stand before the year ("in the year").
    """

    days: Mapping[int, str]
    spans: Mapping[tuple[TimeUnit, Literal["last", "this"]], str]
    year: str = ""
    month: str = ""
    day: str = ""
    months: tuple[str, ...] = ()
    leads: str = ""


JAPANESE = CalendarWords(
    days={-2: "一昨日|おととい", -1: "昨日|きのう", 0: "今日|きょう|本日", 1: "明日|あした"},
    spans={
        ("week", "last"): "先週", ("week", "this"): "今週", ("month", "last"): "先月", ("month", "this"): "今月",
        ("year", "last"): "去年|昨年", ("year", "this"): "今年",
    },
    year="年", month="月", day="日",
)  # fmt: skip

CHINESE = CalendarWords(
    days={-2: "前天", -1: "昨天", 0: "今天", 1: "明天"},
    spans={
        ("week", "last"): "上周|上週|上个星期|上個星期|上星期",
        ("week", "this"): "这周|這週|本周|本週|这个星期|這個星期",
        ("month", "last"): "上个月|上個月|上月", ("month", "this"): "这个月|這個月|本月",
        ("year", "last"): "去年", ("year", "this"): "今年",
    },
    year="年", month="月", day="日|号|號",
)  # fmt: skip

KOREAN = CalendarWords(
    days={-2: "그저께|그제", -1: "어제", 0: "오늘", 1: "내일"},
    spans={
        ("week", "last"): "지난주|지난 주", ("week", "this"): "이번 주|이번주",
        ("month", "last"): "지난달|지난 달", ("month", "this"): "이번 달|이번달",
        ("year", "last"): "작년|지난해", ("year", "this"): "올해",
    },
    year="년", month="월", day="일",
)  # fmt: skip

ARABIC = CalendarWords(
    days={-2: "أول أمس", -1: "أمس|البارحة", 0: "اليوم", 1: "غدا|غدًا"},
    spans={
        ("week", "last"): "الأسبوع الماضي", ("week", "this"): "هذا الأسبوع",
        ("month", "last"): "الشهر الماضي", ("month", "this"): "هذا الشهر",
        ("year", "last"): "العام الماضي|السنة الماضية", ("year", "this"): "هذا العام|هذه السنة",
    },
    months=(
        "يناير|كانون الثاني", "فبراير|شباط", "مارس|آذار", "أبريل|ابريل|نيسان", "مايو|أيار", "يونيو|حزيران",
        "يوليو|تموز", "أغسطس|اغسطس|آب", "سبتمبر|أيلول", "أكتوبر|اكتوبر|تشرين الأول", "نوفمبر|تشرين الثاني",
        "ديسمبر|كانون الأول",
    ),
    leads="من|عام|سنة|من عام|لعام",
)  # fmt: skip

CALENDARS = (JAPANESE, CHINESE, KOREAN, ARABIC)
