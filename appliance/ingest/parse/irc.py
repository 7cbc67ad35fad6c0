"""IRC: the logs of many programs, a line a message.

A line is a time (or none), and then ``<nick> text``, an action (``* nick waves``) or a notice of the
program (``=== nick has joined``). Days stand in the time, in lines of their own, or only in the file's
name; where there is none at all, times are left open.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.textlines import text_lines
from appliance.ingest.parse.when import read_time
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_MONTHS = {m: n for n, m in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}

_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_DAY = r"(?P<day>\d{4}-\d{2}-\d{2})[T ]+|(?P<month>[A-Z][a-z]{2}) +(?P<mday>\d{1,2}) "
_STAMP = re.compile(
    rf"(?P<open>[\[(])?(?:{_DAY})?{_CLOCK}(?P<zone>Z|[+-]\d{{2}}:?\d{{2}})?(?(open)[\])])(?:[ \t]+|$)",
    re.ASCII,
)

# A nick is what no space is in; programs put a mark of rank before it.
_SAID = re.compile(r"<(?P<rank>[ @+%&~!])?(?P<nick>[^<>\s]{1,64}) ?>(?:[ \t](?P<text>.*))?$", re.DOTALL)
_ACTED = re.compile(r"\s?\*\s(?P<nick>[^\s*<>]{1,64})(?:\s(?P<text>.*))?$", re.DOTALL)
_NOTED = re.compile(r"-(?P<nick>[^\s<>-][^\s<>]{0,63})-\s(?P<text>.*)$", re.DOTALL)
_TABBED = re.compile(r"(?P<rank>[@+%&~!])?(?P<nick>[^\s<>:]{1,64})\t(?P<text>.*)$", re.DOTALL)
_NOTICE = re.compile(
    r"(?:===|\*\*\*|---|-!-|-->|<--|--|\*\*\*\*|\u2192|\u2190)(?:\s|$)|(?:Session|Log) \w+:? "
)
# What programs write as if the person did it: "* Ana has joined #ferry".
_NO_ACT = re.compile(
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
_WEECHAT_DAY = re.compile(
    r".*Day changed to [A-Z][a-z]{2}, (?P<mday>\d{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4})"
)
_FILE_DAY = re.compile(r"(?<!\d)(?P<y>(?:19|20)\d{2})(?P<sep>[-_.]?)(?P<m>\d{2})(?P=sep)(?P<d>\d{2})(?!\d)")
_CHANNEL = re.compile(
    r"(?:joined|left|quit|Joins?:|topic (?:for|on|of)|channel) (?P<channel>[#&][^\s,:\])]{1,50})"
)
_FILE_CHANNEL = re.compile(r"[#&][^\s/,.]{1,50}")
_TAGS = frozenset(
    "a b body br code dd div dl dt em h1 h2 h3 h4 head hr html i img input li link meta ol option p pre script"
    " select span strong style svg table tbody td th thead title tr u ul".split()
)

# Messages of a file without times, and without a second person, could be anything.
_BARE_LINES = 3
_IDENTIFYING_LINES = 3
# What a log on a 24-hour clock shows within a day or so.
_NOON = 12
_LINES_LOOKED_AT = 400


@dataclass(frozen=True, slots=True)
class _Line:
    """One line, taken apart. ``kind`` is what stands after the time."""

    kind: str
    stamp: re.Match[str] | None
    nick: str | None
    text: str


def matches(head: Head) -> float:
    """How surely this is a log: most lines are a nick in angle brackets, or a notice, after a time."""
    if head.text.lstrip("\ufeff \r\n\t").startswith(("{", "[{", '["', "[\n")):
        return 0.0
    lines = [line.rstrip("\r") for line in head.text.lstrip("\ufeff").split("\n")[:_LINES_LOOKED_AT]]
    lines = [line for line in lines if line.strip()]
    taken = [_taken(line) for line in lines]
    said = [line for line in taken if line.kind == "said"]
    if not said:
        return _tabbed(lines)
    known = sum(line.kind != "other" for line in taken)
    share = known / len(lines)
    timed = sum(line.stamp is not None for line in said)
    if timed >= len(said) / 2:
        return 0.95 if share >= 0.8 else 0.85 if share >= 0.5 else 0.3
    nicks = {line.nick for line in said}
    if any(
        nick and (nick.lower().rstrip("/") in _TAGS or "=" in nick or nick[:1] in "/!?") for nick in nicks
    ):
        return 0.0
    if len(nicks) < 2:
        return 0.0
    if len(said) >= _BARE_LINES and share >= 0.9:
        return 0.85
    return 0.6 if share == 1.0 or (len(said) >= _BARE_LINES and share >= 0.6) else 0.0


def _tabbed(lines: list[str]) -> float:
    """As ``matches``, for logs with tabs instead of brackets: only a notice tells them from any table."""
    taken = [_taken(line, tabs=True) for line in lines]
    known = [line for line in taken if line.stamp is not None and line.kind != "other"]
    if len(known) < len(taken) * 0.8 or not any(line.kind == "said" for line in known):
        return 0.0
    return 0.85 if any(line.kind == "notice" for line in known) else 0.45


@dataclass(slots=True)
class _Survey:
    """What the first reading found: the clock, the channel, and what identifies the log."""

    hours: set[int] = field(default_factory=set)
    halves: bool = False
    channel: str | None = None
    first: list[str] = field(default_factory=list)
    tabbed: int = 0
    bracketed: int = 0

    @property
    def twelve(self) -> bool:
        """Whether the clock starts over at noon without saying which half of the day it is."""
        return not self.halves and self.hours <= set(range(1, _NOON + 1)) and _NOON in self.hours


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
    clock = _Clock(day, twelve=survey.twelve)
    # Without any clock, the day is all there is to say.
    clock.sent = datetime.combine(day, time()) if day and not survey.hours else None
    pending: tuple[_Line, int, datetime | None] | None = None
    begun = False
    for line in text_lines(document):
        if isinstance(line, Problem):
            yield line
            continue
        number, text = line
        if not text.strip("\ufeff \t\r"):
            continue
        found = _taken(text, tabs=survey.tabbed > survey.bracketed)
        if (
            found.kind == "other"
            and found.stamp is None
            and pending is not None
            and pending[0].kind != "notice"
        ):
            # No program breaks lines, but people who copy logs do.
            before, at, sent = pending
            pending = (_Line(before.kind, before.stamp, before.nick, f"{before.text}\n{text}"), at, sent)
            continue
        if pending is not None:
            yield _message(session, *pending)
        sent = clock.time(found, text)
        if not begun:
            begun = True
            yield SessionRecord(session, title, sent)
        pending = (found, number, sent)
    if pending is not None:
        yield _message(session, *pending)
    if clock.lost:
        yield Problem("", "neither the lines nor the file's name say on which day; times are left open", True)
    elif survey.twelve and clock.back:
        yield Problem("", "the clock has 12 hours and doesn't say which half of the day; read as given", True)


def _survey(document: Document) -> _Survey:
    survey = _Survey()
    for line in text_lines(document):
        if isinstance(line, Problem) or not line[1].strip("\ufeff \t\r"):
            continue
        text = line[1]
        if len(survey.first) < _IDENTIFYING_LINES:
            survey.first.append(text)
        found = _taken(text)
        if found.stamp is not None:
            survey.hours.add(int(found.stamp["hour"]))
            survey.halves = survey.halves or bool(found.stamp["half"])
        survey.bracketed += found.kind == "said"
        if found.kind == "other" and found.stamp is not None and _TABBED.match(text, found.stamp.end()):
            survey.tabbed += 1
        if survey.channel is None and found.kind == "notice" and (named := _CHANNEL.search(found.text)):
            survey.channel = named["channel"]
    return survey


def _taken(text: str, *, tabs: bool = False) -> _Line:
    """A line taken apart. ``tabs``: a tab stands between nick and text, and there are no brackets."""
    text = text.removeprefix("\ufeff")
    stamp = _STAMP.match(text)
    rest = text[stamp.end() :] if stamp else text
    # "[05:30]  * nick waves" has its space as a part of the mark.
    if found := _SAID.match(rest):
        return _Line("said", stamp, found["nick"], found["text"] or "")
    if _NOTICE.match(rest):
        return _Line("notice", stamp, None, rest)
    if found := _ACTED.match(rest) if stamp or rest.startswith(("* ", " * ")) else None:
        if _NO_ACT.match(found["text"] or "") or _NO_ACT.match(rest.lstrip(" *\t")):
            return _Line("notice", stamp, None, rest)
        return _Line("acted", stamp, found["nick"], rest.lstrip())
    if stamp and (found := _NOTED.match(rest)):
        return _Line("noted", stamp, found["nick"], found["text"])
    if tabs and stamp and (found := _TABBED.match(rest)):
        return _Line("said", stamp, found["nick"], found["text"])
    return _Line("other", stamp, None, text)


def _message(session: str, line: _Line, number: int, sent: datetime | None) -> MessageRecord:
    role: Role = "user" if line.kind in ("said", "acted") else "system"
    return MessageRecord(session, role, line.text, author=line.nick, sent_at=sent, where=f"line {number}")


class _Clock:
    """The time of each line: the day goes on where the clock goes back."""

    def __init__(self, day: date | None, *, twelve: bool) -> None:
        self._day = day
        self._twelve = twelve
        self._last: time | None = None
        self.sent: datetime | None = None
        self.lost = False
        self.back = False

    def time(self, line: _Line, text: str) -> datetime | None:
        if (named := _DAY_LINE.match(text) or _WEECHAT_DAY.match(text)) and (day := _named_day(named)):
            self._day, self._last = day, None
            clock = named.groupdict().get("clock")
            self.sent = read_time(f"{day}T{clock:0>8}" if clock and clock.count(":") == 2 else str(day))
            return self.sent
        stamp = line.stamp
        if stamp is None:
            # A notice without a time came when the line before it did, as far as anybody knows.
            return self.sent
        at = _clock_time(stamp)
        if at is None:
            return self.sent
        if stamp["day"]:
            zone = (stamp["zone"] or "").replace("Z", "+00:00")
            self.sent = read_time(f"{stamp['day']}T{at.isoformat()}{zone}")
            return self.sent
        if stamp["month"] and self._day is not None:
            self._day = _day_of(self._day.year, stamp["month"], stamp["mday"], self._day) or self._day
        elif self._last is not None and at < self._last and not _jitter(self._last, at):
            self.back = True
            if not self._twelve:
                self._next_day()
        self._last = at
        if self._day is None:
            self.lost = True
            return None
        self.sent = datetime.combine(self._day, at)
        return self.sent

    def _next_day(self) -> None:
        if self._day is not None and self._day < date.max:
            self._day += timedelta(days=1)


def _jitter(last: time, at: time) -> bool:
    """Whether the clock was only set back a little: lines of two servers, or a correction."""
    gone = (last.hour * 60 + last.minute) - (at.hour * 60 + at.minute)
    return 0 <= gone <= 5


def _clock_time(stamp: re.Match[str]) -> time | None:
    hour = int(stamp["hour"])
    if stamp["half"]:
        hour = hour % _NOON + (_NOON if stamp["half"] in "pP" else 0)
    try:
        return time(hour, int(stamp["minute"]), int(stamp["second"] or 0))
    except ValueError:
        return None


def _named_day(named: re.Match[str]) -> date | None:
    return _day_of(int(named["year"]), named["month"], named["mday"], None)


def _day_of(year: int, month: str, day: str, after: date | None) -> date | None:
    """A day by its month's name; of a log that goes on, January follows December."""
    number = _MONTHS.get(month.lower())
    if number is None:
        return None
    try:
        found = date(year, number, int(day))
        if after is not None and (after - found).days > 300:
            found = date(year + 1, number, int(day))
    except ValueError:
        return None
    return found


def _file_day(path: str) -> date | None:
    """The day in the file's name, or in that of its folder."""
    for part in reversed(path.replace("\\", "/").split("/")[-2:]):
        for found in _FILE_DAY.finditer(part):
            try:
                return date(int(found["y"]), int(found["m"]), int(found["d"]))
            except ValueError:
                continue
    return None


def _file_channel(path: str) -> str | None:
    for part in reversed(path.replace("\\", "/").split("/")[-2:]):
        if found := _FILE_CHANNEL.search(part):
            return found[0]
    return None
