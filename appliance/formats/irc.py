"""IRC: the logs of many programs, a line a message.

A line is a time (or none), followed by ``<nick> text``, an action (``* nick waves``) or a notice of the
program (``=== nick has joined``). Days stand in the time, in lines of their own, or only in the file's
name; without any day, messages have no times.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field, replace
from datetime import date, datetime, time, timedelta

from appliance.formats.base import Document, DocumentHead
from appliance.formats.text_lines import text_lines
from appliance.formats.timestamps import read_time
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_MONTHS = {m: n for n, m in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}

_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
_DAY = (
    r"(?P<day>\d{4}-\d{2}-\d{2})[T ]+|(?P<month>[A-Z][a-z]{2}) +(?P<mday>\d{1,2}) "
    r"|(?P<day_first>\d{1,2}) (?P<its_month>[A-Z][a-z]{2}) "
)
_STAMP = re.compile(
    rf"(?P<open>[\[(])?(?:{_DAY})?{_CLOCK}(?P<zone>Z|[+-]\d{{2}}:?\d{{2}})?(?(open)[\])])(?:[ \t]+|$)", re.ASCII
)

# A nick has no spaces; programs put a mark of rank before it.
_MESSAGE_LINE = re.compile(
    r"<(?P<rank>[ @+%&~!])?(?P<nick>[^<>\s!]{1,64})(?:![^<>\s]{1,200})? ?>(?:[ \t](?P<text>.*))?$", re.DOTALL
)
_ACTION_LINE = re.compile(r"\s?\*\s(?P<nick>[^\s*<>]{1,64})(?:\s(?P<text>.*))?$", re.DOTALL)
_NICK_NOTICE_LINE = re.compile(r"-(?P<nick>[^\s<>-][^\s<>]{0,63})-\s(?P<text>.*)$", re.DOTALL)
_TABBED = re.compile(r"(?P<rank>[@+%&~!])?(?P<nick>[^\s<>:]{1,64})\t(?P<text>.*)$", re.DOTALL)
_NOTICE = re.compile(r"(?:===|\*\*\*|---|-!-|-->|<--|--|\*\*\*\*|\u2192|\u2190)(?:\s|$)|(?:Session|Log) \w+:? ")
# Notices that programs write like actions: "* Ana has joined #ferry".
_NOT_AN_ACTION = re.compile(
    r"(?:has|have) (?:joined|left|quit|changed|set)\b|is now known as|sets? mode|changes? topic"
    r"|(?:joined|left) [#&]|quit \(|was kicked|Topic |Now talking|Disconnected",
    re.IGNORECASE,
)

# Lines that name the day: "--- Day changed Sat Mar 15 2025", "Session Start: …", "**** BEGIN LOGGING AT …".
_DAY_LINE = re.compile(
    r"(?:--- (?:Day changed|Log opened)|Session (?:Start|Time):|\*{4} BEGIN LOGGING AT|=== Day changed to)\s+"
    r"(?:[A-Z][a-z]{2},? )?(?P<month>[A-Z][a-z]{2}) +(?P<mday>\d{1,2})(?: (?P<clock>\d{1,2}:\d{2}(?::\d{2})?))?"
    r"(?: [A-Z]+)? (?P<year>\d{4})",
    re.ASCII,
)
_WEECHAT_DAY = re.compile(r".*Day changed to [A-Z][a-z]{2}, (?P<mday>\d{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4})")
_FILE_DAY = re.compile(r"(?<!\d)(?P<y>(?:19|20)\d{2})(?P<sep>[-_.]?)(?P<m>\d{2})(?P=sep)(?P<d>\d{2})(?!\d)")
_CHANNEL = re.compile(r"(?:joined|left|quit|Joins?:|topic (?:for|on|of)|channel) (?P<channel>[#&][^\s,:\])]{1,50})")
_FILE_CHANNEL = re.compile(r"[#&][^\s/,.]{1,50}")
_TAGS = frozenset(
    "a b body br code dd div dl dt em h1 h2 h3 h4 head hr html i img input li link meta ol option p pre script"
    " select span strong style svg table tbody td th thead title tr u ul".split()
)

# Fewer messages without times could be anything; the first lines identify a log.
_BARE_LINES = 3
_IDENTIFYING_LINES = 3
_NOON = 12
_MAX_DETECTION_LINES = 400


@dataclass(frozen=True, slots=True)
class _IrcLine:
    """A parsed line. ``kind`` is that of the text after the time."""

    kind: str
    stamp: re.Match[str] | None
    nick: str | None
    text: str


def matches(head: DocumentHead) -> float:
    """How surely this is a log: after a time, most lines have a nick in angle brackets or a notice."""
    if head.text.lstrip("\ufeff \r\n\t").startswith(("{", "[{", '["', "[\n")):
        return 0.0
    lines = [line.rstrip("\r") for line in head.text.lstrip("\ufeff").split("\n")[:_MAX_DETECTION_LINES]]
    lines = [line for line in lines if line.strip()]
    parsed = [_parse_line(line) for line in lines]
    messages = [line for line in parsed if line.kind == "message"]
    if not messages:
        return _match_tabbed(lines)
    known = sum(line.kind != "other" for line in parsed)
    share = known / len(lines)
    timed = sum(line.stamp is not None for line in messages)
    if timed >= len(messages) / 2:
        return 0.95 if share >= 0.8 else 0.85 if share >= 0.5 else 0.3
    nicks = {line.nick for line in messages}
    if any(nick and (nick.lower().rstrip("/") in _TAGS or "=" in nick or nick[:1] in "/!?") for nick in nicks):
        return 0.0
    if len(nicks) < 2:
        return 0.0
    if len(messages) >= _BARE_LINES and share >= 0.9:
        return 0.85
    return 0.6 if share == 1.0 or (len(messages) >= _BARE_LINES and share >= 0.6) else 0.0


def _match_tabbed(lines: list[str]) -> float:
    """As ``matches``, for logs with tabs instead of brackets: only a notice distinguishes them from a table."""
    parsed = [_parse_line(line, tabs=True) for line in lines]
    known = [line for line in parsed if line.stamp is not None and line.kind != "other"]
    if len(known) < len(parsed) * 0.8 or not any(line.kind == "message" for line in known):
        return 0.0
    return 0.85 if any(line.kind == "notice" for line in known) else 0.45


@dataclass(slots=True)
class _IrcSurvey:
    """The result of the first reading: the clock, the channel, and the lines that identify the log."""

    hours: set[int] = field(default_factory=set)
    has_half_markers: bool = False
    channel: str | None = None
    first: list[str] = field(default_factory=list)
    tabbed: int = 0
    bracketed: int = 0

    @property
    def is_12_hour(self) -> bool:
        """Whether the clock starts over at noon without saying which half of the day it is."""
        return not self.has_half_markers and self.hours <= set(range(1, _NOON + 1)) and _NOON in self.hours


def parse(document: Document) -> Iterator[Record]:
    """The log's lines in their order."""
    survey = _survey(document)
    if not survey.first:
        return
    day = _file_day(document.name)
    channel = survey.channel or _file_channel(document.name)
    identity = "\n".join((str(day or ""), channel or "", *survey.first))
    session = "irc:" + hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:24]
    title = " ".join(part for part in (channel, str(day) if day else "") if part) or None
    clock = _IrcClock(day, is_12_hour=survey.is_12_hour)
    # Without a clock, all messages are of the day.
    clock.sent = datetime.combine(day, time()) if day and not survey.hours else None
    pending: tuple[_IrcLine, int, datetime | None] | None = None
    has_begun = False
    for numbered in text_lines(document):
        if isinstance(numbered, InputProblem):
            yield numbered
            continue
        number, text = numbered
        if not text.strip("\ufeff \t\r"):
            continue
        line = _parse_line(text, tabs=survey.tabbed > survey.bracketed)
        if line.kind == "other" and line.stamp is None and pending is not None and pending[0].kind != "notice":
            # No program breaks lines, but people who copy logs do.
            previous, at, sent = pending
            pending = (replace(previous, text=f"{previous.text}\n{text}"), at, sent)
            continue
        if pending is not None:
            yield _message(session, *pending)
        sent = clock.time(line, text)
        if not has_begun:
            has_begun = True
            yield SessionRecord(session, title, sent)
        pending = (line, number, sent)
    if pending is not None:
        yield _message(session, *pending)
    if clock.is_undated:
        yield InputProblem("", "neither the lines nor the file's name give the day; times are left open", True)
    elif survey.is_12_hour and clock.went_back:
        yield InputProblem("", "the clock has 12 hours without AM and PM; times are kept as they are", True)


def _survey(document: Document) -> _IrcSurvey:
    survey = _IrcSurvey()
    for line in text_lines(document):
        if isinstance(line, InputProblem) or not line[1].strip("\ufeff \t\r"):
            continue
        text = line[1]
        if len(survey.first) < _IDENTIFYING_LINES:
            survey.first.append(text)
        parsed = _parse_line(text)
        if parsed.stamp is not None:
            survey.hours.add(int(parsed.stamp["hour"]))
            survey.has_half_markers = survey.has_half_markers or bool(parsed.stamp["half"])
        survey.bracketed += parsed.kind == "message"
        if parsed.kind == "other" and parsed.stamp is not None and _TABBED.match(text, parsed.stamp.end()):
            survey.tabbed += 1
        if survey.channel is None and parsed.kind == "notice" and (named := _CHANNEL.search(parsed.text)):
            survey.channel = named["channel"]
    return survey


def _parse_line(text: str, *, tabs: bool = False) -> _IrcLine:
    """Parse a line. With ``tabs``, a tab separates nick and text, without brackets."""
    text = text.removeprefix("\ufeff")
    stamp = _STAMP.match(text)
    rest = text[stamp.end() :] if stamp else text
    # "[05:30]  * nick waves" has its space as a part of the mark.
    if match := _MESSAGE_LINE.match(rest):
        return _IrcLine("message", stamp, match["nick"], match["text"] or "")
    if _NOTICE.match(rest):
        return _IrcLine("notice", stamp, None, rest)
    if match := _ACTION_LINE.match(rest) if stamp or rest.startswith(("* ", " * ")) else None:
        if _NOT_AN_ACTION.match(match["text"] or "") or _NOT_AN_ACTION.match(rest.lstrip(" *\t")):
            return _IrcLine("notice", stamp, None, rest)
        return _IrcLine("action", stamp, match["nick"], rest.lstrip())
    if stamp and (match := _NICK_NOTICE_LINE.match(rest)):
        return _IrcLine("nick notice", stamp, match["nick"], match["text"])
    if tabs and stamp and (match := _TABBED.match(rest)):
        return _IrcLine("message", stamp, match["nick"], match["text"])
    return _IrcLine("other", stamp, None, text)


def _message(session: str, line: _IrcLine, number: int, sent: datetime | None) -> MessageRecord:
    role: Role = "user" if line.kind in ("message", "action") else "system"
    return MessageRecord(session, role, line.text, author=line.nick, sent_at=sent, where=f"line {number}")


class _IrcClock:
    """The time of each line. The next day begins where the clock goes back."""

    def __init__(self, day: date | None, *, is_12_hour: bool) -> None:
        self._day = day
        self._is_12_hour = is_12_hour
        self._last: time | None = None
        self.sent: datetime | None = None
        self.is_undated = False
        self.went_back = False

    def time(self, line: _IrcLine, text: str) -> datetime | None:
        if (named := _DAY_LINE.match(text) or _WEECHAT_DAY.match(text)) and (
            day := _day_of(int(named["year"]), named["month"], named["mday"], None)
        ):
            self._day, self._last = day, None
            clock = named.groupdict().get("clock")
            self.sent = read_time(f"{day}T{clock:0>8}" if clock and clock.count(":") == 2 else str(day))
            return self.sent
        stamp = line.stamp
        if stamp is None:
            # A notice without a time has the time of the line before it.
            return self.sent
        at = _clock_time(stamp)
        if at is None:
            return self.sent
        if stamp["day"]:
            zone = (stamp["zone"] or "").replace("Z", "+00:00")
            self.sent = read_time(f"{stamp['day']}T{at.isoformat()}{zone}")
            return self.sent
        month, day_of_month = stamp["month"] or stamp["its_month"], stamp["mday"] or stamp["day_first"]
        if month and self._day is not None:
            self._day = _day_of(self._day.year, month, day_of_month, self._day) or self._day
        elif self._last is not None and at < self._last and not _is_clock_correction(self._last, at):
            self.went_back = True
            if not self._is_12_hour:
                self._day = self._day + timedelta(days=1) if self._day and self._day < date.max else self._day
        self._last = at
        if self._day is None:
            self.is_undated = True
            return None
        self.sent = datetime.combine(self._day, at)
        return self.sent


def _is_clock_correction(last: time, at: time) -> bool:
    """Whether the clock went back by at most five minutes: lines of two servers, or a correction."""
    return 0 <= (last.hour * 60 + last.minute) - (at.hour * 60 + at.minute) <= 5


def _clock_time(stamp: re.Match[str]) -> time | None:
    hour = int(stamp["hour"])
    if stamp["half"]:
        hour = hour % _NOON + (_NOON if stamp["half"] in "pP" else 0)
    try:
        return time(hour, int(stamp["minute"]), int(stamp["second"] or 0))
    except ValueError:
        return None


def _day_of(year: int, month: str, day: str, after: date | None) -> date | None:
    """A day by its month's name; ``after`` December, January is of the next year."""
    try:
        result = date(year, _MONTHS.get(month.lower(), 0), int(day))
        if after is not None and (after - result).days > 300:
            result = result.replace(year=year + 1)
    except ValueError:
        return None
    return result


def _file_day(path: str) -> date | None:
    """The day in the name of the file or its folder."""
    for part in reversed(path.replace("\\", "/").split("/")[-2:]):
        for match in _FILE_DAY.finditer(part):
            with suppress(ValueError):
                return date(int(match["y"]), int(match["m"]), int(match["d"]))
    return None


def _file_channel(path: str) -> str | None:
    for part in reversed(path.replace("\\", "/").split("/")[-2:]):
        if match := _FILE_CHANNEL.search(part):
            return match[0]
    return None
