"""The words of Google's activity pages in the language of the account: verbs before a prompt, and dates.

Neither list has to be complete: other verbs are learned from the file, and a message with an unreadable date gets no
time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_PROMPT = re.compile(
    r"(?:Prompted with:|Prompted|Branched|Asked Gemini:|Asked Bard:|Asked|Said|Added chat from link:"
    r"|Eingegebener Prompt:|Pokyn|Gav instruktionen|送信したメッセージ:|분기된)(?:[ \xa0]|$)"
)
_NO_PROMPT = re.compile(
    r"(?:Used an Assistant feature|Used Gemini Apps|Gave feedback:|Created Gemini Canvas"
    r"|Selected preferred draft|Answered survey question|フィードバックを送信しました)"
)
_MAX_VERB_CHARACTERS = 40
# How many titles, and what share of them, must begin alike to show a verb.
_MIN_DISTINCT_TITLES = 5
_MIN_VERB_SHARE = 0.8


def without_verb(title: str, learned: frozenset[str]) -> str | None:
    """The person's prompt in the title of a row; None if the title is no prompt's."""
    if _NO_PROMPT.match(title):
        return None
    for verb in learned:
        if title.startswith(verb):
            return title[len(verb) :]
    match = _PROMPT.match(title)
    return title[match.end() :] if match else None


def is_known(title: str) -> bool:
    """Whether the title begins like the titles of a listed language."""
    return bool(_PROMPT.match(title) or _NO_PROMPT.match(title))


def verbs_of(titles: Iterable[str]) -> frozenset[str]:
    """The verbs at the beginning of titles in a language that isn't listed.

    On a page, a no-break space follows the verb. Elsewhere the verb is the beginning that nearly all titles share."""
    unknown = [title for title in titles if not is_known(title)]
    spaced = {title[: at + 1] for title in unknown if 0 < (at := title.find("\xa0")) <= _MAX_VERB_CHARACTERS}
    if spaced:
        return frozenset(spaced)
    if len(set(unknown)) < _MIN_DISTINCT_TITLES:
        return frozenset()
    shared: Counter[str] = Counter()
    for title in set(unknown):
        ends = [match.end() for match in re.finditer(r"[ :：]+", title[:_MAX_VERB_CHARACTERS])]
        shared.update({title[:end] for end in ends if title[:end].strip(" :：")})
    verbs = [start for start, count in shared.items() if count >= _MIN_VERB_SHARE * len(set(unknown))]
    return frozenset({max(verbs, key=len)}) if verbs else frozenset()


# --- dates ----------------------------------------------------------------------------------------

_MAX_DATE_CHARACTERS = 70
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
        "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu",
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
_CHINA_OFFSET_MINUTES = 480

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
_PM_MARKERS = frozenset({"pm", "午後", "下午", "오후"})
_AM_MARKERS = frozenset({"am", "午前", "上午", "오전"})
_OFFSET = re.compile(r"(?:GMT|UTC)?\s?([+\-−])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)


def is_date(line: str) -> bool:
    """Whether a line is nothing but a date with a time of day, in any language."""
    if len(line) > _MAX_DATE_CHARACTERS:
        return False
    text = _plain(line)
    return read_date(text) is not None or bool(
        re.search(r"(?<!\d)\d{4}(?!\d)", text) and re.search(r"\d:\d{2}:\d{2}(?!\d)", text)
    )


def read_date(line: str) -> datetime | None:
    """The time that a line spells: in UTC if its zone is known, else naive."""
    text = _plain(line)
    clock = _CLOCK.search(text)
    if clock is None or len(text) > _MAX_DATE_CHARACTERS:
        return None
    half = re.sub(r"[.\s]", "", clock["before"] or clock["after"] or "").lower()
    day = _day(text[: clock.start()], american=clock["after"] is not None)
    if day is None:
        return None
    hour = int(clock["hour"])
    if half in _PM_MARKERS and hour < 12:
        hour += 12
    elif half in _AM_MARKERS and hour == 12:
        hour = 0
    try:
        local = datetime(*day, hour, int(clock["minute"] or clock["m"]), int(clock["second"] or clock["s"] or 0))
        minutes = _zone(clock["zone"].strip(" ()"), chinese="年" in text)
        return local if minutes is None else (local - timedelta(minutes=minutes)).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _plain(line: str) -> str:
    return _SPACES.sub(" ", line.replace("\u200e", "").replace("\u200f", "")).strip()


def _day(text: str, *, american: bool) -> tuple[int, int, int] | None:
    """Year, month and day. Only with AM and PM do slashes put the month first."""
    if match := _NUMBERS.search(text):
        first, second, third = (int(part) for part in match.groups())
        if len(match[1]) == 4:
            return first, second, third
        month_first = second > 12 or (american and first <= 12 and "/" in match[0])
        return (third, first, second) if month_first else (third, second, first)
    for pattern, order in ((_DAY_FIRST, (2, 1, 0)), (_MONTH_FIRST, (2, 0, 1)), (_YEAR_FIRST, (0, 1, 2))):
        if match := pattern.search(text):
            year, name, day = (match.groups()[n] for n in order)
            if month := _month(name):
                return int(year), month, int(day)
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
    """Minutes from UTC; None for an unknown name, or one that several zones have."""
    if match := _OFFSET.fullmatch(name):
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        return minutes if match[1] == "+" else -minutes
    if name == "CST" and chinese:
        return _CHINA_OFFSET_MINUTES
    return _ZONES.get(name.upper())
