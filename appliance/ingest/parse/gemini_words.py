"""What Google's activity pages say in the language of the account: verbs before a prompt, and dates.

Nothing here must be complete: a verb that isn't listed is learned from the file, and a date that can't
be read is left open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_VERBS = (
    "Prompted with:",
    "Prompted",
    "Branched",
    "Asked Gemini:",
    "Asked Bard:",
    "Asked",
    "Said",
    "Added chat from link:",
    "Eingegebener Prompt:",
    "Pokyn",
    "Gav instruktionen",
    "送信したメッセージ:",
    "분기된",
)
_PROMPT = re.compile("(?:" + "|".join(map(re.escape, _VERBS)) + r")(?:[ \xa0]|$)")
_NO_PROMPT = re.compile(
    r"(?:Used an Assistant feature|Used Gemini Apps|Gave feedback:|Created Gemini Canvas"
    r"|Selected preferred draft|Answered survey question|フィードバックを送信しました)"
)
_LONGEST_VERB = 40
# So many titles must agree before what they begin with is taken for a verb.
_AGREEING = 5
_SHARE = 0.8


def without_verb(title: str, learned: frozenset[str]) -> str | None:
    """What the person typed, out of the title of a row; None where the title is no prompt's."""
    if _NO_PROMPT.match(title):
        return None
    for verb in learned:
        if title.startswith(verb):
            return title[len(verb) :]
    found = _PROMPT.match(title)
    return title[found.end() :] if found else None


def is_known(title: str) -> bool:
    """Whether the title begins as the titles of some language do."""
    return bool(_PROMPT.match(title) or _NO_PROMPT.match(title))


def verbs_of(titles: Iterable[str]) -> frozenset[str]:
    """What the titles of prompts begin with in a language that isn't listed.

    A page has a no-break space behind the verb; else it is what nearly all titles share."""
    unknown = [title for title in titles if not is_known(title)]
    spaced = {title[: at + 1] for title in unknown if 0 < (at := title.find("\xa0")) <= _LONGEST_VERB}
    if spaced:
        return frozenset(spaced)
    if len(set(unknown)) < _AGREEING:
        return frozenset()
    shared: Counter[str] = Counter()
    for title in set(unknown):
        ends = [found.end() for found in re.finditer(r"[ :：]+", title[:_LONGEST_VERB])]
        shared.update({title[:end] for end in ends if title[:end].strip(" :：")})
    enough = [start for start, count in shared.items() if count >= _SHARE * len(set(unknown))]
    return frozenset({max(enough, key=len)}) if enough else frozenset()


# --- dates ----------------------------------------------------------------------------------------

_LONGEST_DATE = 70
_MONTHS = tuple(
    names.split()
    for names in (
        "january february march april may june july august september october november december",
        "jan feb mrz apr mai juni juli aug sep okt nov dez",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "januari februari maart april mei juni juli augustus september oktober november december",
        "jan feb mrt apr mei jun jul aug sep okt nov dec",
        "januari februari mars april maj juni juli augusti september oktober november december",
        "januar februar marts april maj juni juli august september oktober november desember",
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
        "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień",
        "led úno bře dub kvě čvn čvc srp zář říj lis pro",
        "ledna února března dubna května června července srpna září října listopadu prosince",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
        "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
        "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie",
        "január február március április május június július augusztus szeptember október november december",
        "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu"
        " joulukuu",
        "januari februari maret april mei juni juli agustus september oktober november desember",
    )
)

_ZONES = {
    name: minutes
    for minutes, names in {
        0: "UTC GMT WET Z",
        60: "CET MEZ SEČ WEST BST",
        120: "CEST MESZ SELČ EET OEZ SAST",
        180: "EEST OESZ MSK МСК TRT",
        420: "WIB",
        480: "SGT HKT AWST",
        540: "JST KST",
        600: "AEST",
        660: "AEDT",
        720: "NZST",
        780: "NZDT",
        -180: "BRT ART",
        -240: "EDT HAE",
        -300: "EST CDT HNE",
        -360: "CST MDT",
        -420: "MST PDT",
        -480: "PST AKDT",
        -540: "AKST",
        -600: "HST",
    }.items()
    for name in names.split()
}
_CHINA = 480

_SPACES = re.compile(r"\s+")
_CLOCK = re.compile(
    r"(?P<before>AM|PM|午前|午後|上午|下午|오전|오후)?\s?"
    r"(?<!\d)(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2}))?|\.(?P<m>\d{2})\.(?P<s>\d{2}))(?!\d)"
    r"(?:\s?(?P<after>[ap]\.?\s?m\.?(?![a-z])))?"
    r"(?P<zone>.*)$",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"(?<!\d)(\d{1,4})\s?[./\-年]\s?(\d{1,2})\s?[./\-月]\s?(\d{1,4})(?!\d)")
_DAY_FIRST = re.compile(r"(?<!\d)(\d{1,2})\.?º?\s(?:de\s)?([^\W\d_]{3,})\.?,?\s(?:de\s)?(\d{4})(?!\d)")
_MONTH_FIRST = re.compile(r"(?<![^\W\d_])([^\W\d_]{3,})\.?\s(\d{1,2}),?\s(\d{4})(?!\d)")
_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})\.?\s([^\W\d_]{3,})\.?\s(\d{1,2})(?!\d)")
_LATE = frozenset({"pm", "午後", "下午", "오후"})
_EARLY = frozenset({"am", "午前", "上午", "오전"})
_OFFSET = re.compile(r"(?:GMT|UTC)?\s?([+\-−])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)


def is_date(line: str) -> bool:
    """Whether a line is nothing but a date with a time of day, also in a language that isn't listed."""
    if len(line) > _LONGEST_DATE:
        return False
    text = _plain(line)
    return read_date(text) is not None or bool(
        re.search(r"(?<!\d)\d{4}(?!\d)", text) and re.search(r"\d:\d{2}:\d{2}(?!\d)", text)
    )


def read_date(line: str) -> datetime | None:
    """The time that a line spells; in UTC where its zone is known, else local."""
    text = _plain(line)
    clock = _CLOCK.search(text)
    if clock is None or len(text) > _LONGEST_DATE:
        return None
    half = _half(clock["before"] or clock["after"])
    day = _day(text[: clock.start()], american=clock["after"] is not None)
    if day is None:
        return None
    hour = int(clock["hour"])
    if half in _LATE and hour < 12:
        hour += 12
    elif half in _EARLY and hour == 12:
        hour = 0
    try:
        local = datetime(
            *day, hour, int(clock["minute"] or clock["m"]), int(clock["second"] or clock["s"] or 0)
        )
        minutes = _zone(clock["zone"].strip(" ()"), chinese="年" in text)
        return local if minutes is None else (local - timedelta(minutes=minutes)).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _plain(line: str) -> str:
    return _SPACES.sub(" ", line.replace("\u200e", "").replace("\u200f", "")).strip()


def _half(marker: str | None) -> str:
    return re.sub(r"[.\s]", "", marker or "").lower()


def _day(text: str, *, american: bool) -> tuple[int, int, int] | None:
    """Year, month and day. Only with AM and PM do slashes put the month first."""
    if found := _NUMBERS.search(text):
        first, second, third = (int(part) for part in found.groups())
        if len(found[1]) == 4:
            return first, second, third
        month_first = second > 12 or (american and first <= 12 and "/" in found[0])
        return (third, first, second) if month_first else (third, second, first)
    for pattern, order in ((_DAY_FIRST, (2, 1, 0)), (_MONTH_FIRST, (2, 0, 1)), (_YEAR_FIRST, (0, 1, 2))):
        if found := pattern.search(text):
            parts = found.groups()
            month = _month(parts[order[1]])
            if month:
                return int(parts[order[0]]), month, int(parts[order[2]])
    return None


def _month(word: str) -> int:
    """The number of a month by its name or the beginning of it; 0 for any other word."""
    word = word.lower()
    for names in _MONTHS:
        for number, name in enumerate(names, 1):
            if name.startswith(word):
                return number
    return 0


def _zone(name: str, *, chinese: bool) -> int | None:
    """Minutes from UTC; None for a zone whose name is not known, or is several zones' name."""
    if found := _OFFSET.fullmatch(name):
        minutes = int(found[2]) * 60 + int(found[3] or 0)
        return minutes if found[1] == "+" else -minutes
    if name == "CST" and chinese:
        return _CHINA
    return _ZONES.get(name.upper())
