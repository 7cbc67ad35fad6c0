"""LINE: the text of "Export chat history", from phones and computers in any language.

A line names the day, and each message is the time, the name and the text, with tabs between them; the computer's
export has spaces. Two columns are a notice of the app. A text of several lines stands in quotation marks. Times are
local.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from datetime import date, datetime, time

from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import made_id
from appliance.formats.markdown_lines import clock_of
from appliance.formats.people_chats import Participants
from appliance.formats.text_lines import TextEntry, text_lines
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_MARK = "[LINE]"
_DAY = re.compile(
    r"(?:(?P<before>[^\W\d_]{2,9})\.?, ?)?"
    r"(?:(?P<year>\d{4})[./-](?P<month>\d{1,2})[./-](?P<day>\d{1,2})|(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<c>\d{4}))"
    r"\.?(?: ?\(?[^\d\s:()]{1,14}\)?)?"
)
_CLOCK = r"(?:[^\W\d_]{1,12}\.? ?){0,2}\d{1,2}:\d\d(?: ?[AaPp]\.?[Mm]\.?)?"
_COLUMNS = re.compile(rf"(?P<clock>{_CLOCK})\t(?P<rest>.*)", re.DOTALL)
_SPACED = re.compile(r"(?P<clock>\d{1,2}:\d\d) (?P<rest>\S.*)", re.DOTALL)
# "[LINE] Chat history with Ana", "[LINE] Anaとのトーク履歴", "[LINE] 與Ana的聊天記錄"
_TITLE = re.compile(
    r"\[LINE\] ?(?:Chat(?: history)? (?:with|in) (?P<en>.+)|(?P<ja>.+?)(?:との|の)トーク(?:履歴)?"
    r"|(?:與|与|和)(?P<zh>.+?)的?聊天.*|(?:ประวัติการ(?:แชท|สนทนา)(?:กับ|ใน)) ?(?P<th>.+)"
    r"|(?P<ko>.+?)(?:님과의|의)? 대화.*|(?P<other>.+))"
)
_WEEKDAYS = {name: number for number, name in enumerate("mon tue wed thu fri sat sun".split())}


def matches(head: DocumentHead) -> float:
    """The confidence that this is an exported chat: its mark, or days and messages with tabs."""
    lines = [line.rstrip("\r") for line in head.text.lstrip("\ufeff \r\n").split("\n")[:400]]
    has_day = any(_DAY.fullmatch(line.strip()) for line in lines)
    found = sum(_COLUMNS.fullmatch(line) is not None for line in lines)
    if lines[0].startswith(_MARK):
        return 0.97 if has_day or found else 0.6
    return 0.85 if has_day and found > 1 and any(line.count("\t") == 2 for line in lines) else 0.0


@dataclass(slots=True)
class _LineSurvey:
    """The result of the first reading: whether tabs separate the columns, and the days in the two orders."""

    title: str | None = None
    tabbed: bool = False
    orders: Counter[str] = field(default_factory=Counter)

    @property
    def order(self) -> str:
        return "mdy" if self.orders["mdy"] > self.orders["dmy"] else "dmy"


def parse(document: Document) -> Iterator[Record]:
    """The messages in file order."""
    survey = _survey(document)
    session: str | None = None
    participants = Participants()
    for entry in _entries(document, survey):
        if isinstance(entry, InputProblem):
            yield entry
            continue
        text = _unquoted(entry.text)
        if not text.strip():
            continue
        if session is None:
            session = made_id("line", survey.title, *([] if survey.title else [entry.sent, entry.author, text]))
            yield SessionRecord(session, survey.title, entry.sent)
        yield from participants.note(session, entry.author, ("name", entry.author))
        role: Role = "user" if entry.author else "system"
        yield MessageRecord(session, role, text, None, entry.author, entry.sent, where=f"line {entry.number}")
    if session is None:
        yield InputProblem("", "the file holds no messages", harmless=True)
    elif survey.orders and survey.orders["mdy"] == survey.orders["dmy"]:
        yield InputProblem("", "day and month can't be told apart; dates are read as day/month/year", harmless=True)


def _unquoted(text: str) -> str:
    """A text without the quotation marks that the app puts around several lines."""
    if "\n" in text and text.startswith('"') and text.rstrip().endswith('"'):
        return text.rstrip()[1:-1].replace('""', '"')
    return text


def _survey(document: Document) -> _LineSurvey:
    survey = _LineSurvey()
    for line in text_lines(document):
        if isinstance(line, InputProblem):
            continue
        text = line[1].removeprefix("\ufeff")
        if survey.title is None and (title := _TITLE.fullmatch(text.strip())):
            survey.title = next((name.strip() for name in title.groupdict().values() if name), None)
        elif (found := _DAY.fullmatch(text.strip())) and found["a"]:
            weekday = _WEEKDAYS.get((found["before"] or "")[:3].lower())
            for order in ("dmy", "mdy"):
                day = _date_of(found, order)
                survey.orders[order] += day is not None and (weekday is None or day.weekday() == weekday)
        survey.tabbed = survey.tabbed or _COLUMNS.fullmatch(text) is not None
    return survey


def _entries(document: Document, survey: _LineSurvey) -> Iterator[TextEntry | InputProblem]:
    entry: TextEntry | None = None
    day: date | None = None
    begun = False
    for line in text_lines(document):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, text = line[0], line[1].removeprefix("\ufeff")
        found = (_COLUMNS if survey.tabbed else _SPACED).fullmatch(text)
        named = None if found else _DAY.fullmatch(text.strip())
        # A blank line stands before a day, except within quotation marks.
        if named is not None and (entry is None or not entry.lines[-1].strip() or not _is_open(entry)):
            new_day = _date_of(named, survey.order)
            if new_day is not None:
                if entry is not None:
                    yield entry
                day, entry, begun = new_day, None, True
                continue
        clock = clock_of(found["clock"]) if found and day is not None else None
        if found is None or clock is None or day is None:
            if entry is not None:
                entry.lines.append(text)
            elif begun and text.strip():
                entry = TextEntry(number, None, datetime.combine(day, time()) if day else None, [text])
            continue
        if entry is not None:
            yield entry
        author, words = _columns(found["rest"], survey)
        entry = TextEntry(number, author, datetime.combine(day, time(*clock.clock)), [words])
    if entry is not None:
        yield entry


def _is_open(entry: TextEntry) -> bool:
    """Whether the text's quotation marks are not closed yet."""
    return entry.lines[0].startswith('"') and sum(line.count('"') for line in entry.lines) % 2 == 1


def _columns(rest: str, survey: _LineSurvey) -> tuple[str | None, str]:
    """The name and the text; a notice has no name."""
    if survey.tabbed:
        name, tab, words = rest.partition("\t")
        return (name, words) if tab and name.strip() else (None, words or name)
    title = survey.title
    if title and rest.startswith(f"{title} "):
        return title, rest[len(title) + 1 :]
    name, space, words = rest.partition(" ")
    return (name, words) if space else (None, rest)


def _date_of(found: re.Match[str], order: str) -> date | None:
    if found["year"]:
        year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
    else:
        first, second, year = int(found["a"]), int(found["b"]), int(found["c"])
        day, month = (first, second) if order == "dmy" else (second, first)
    try:
        return date(year, month, day)
    except ValueError:
        return None
