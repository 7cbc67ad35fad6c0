"""The lines of a transcript that begin a turn, each with the shape it is written in; and code, where none do.

A file keeps to one shape: a line of another one is part of what somebody said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time

from appliance.ingest.parse.markdown_words import side_of
from appliance.ingest.parse.whatsapp_lines import Header, Order, Style, header
from appliance.ingest.parse.when import read_time

_CLOCK = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\s?[AaPp]\.?\s?[Mm]\b\.?)?"
_DATE = r"\d{1,4}(?:[./]|-)\d{1,2}(?:[./]|-)\d{1,4}"
_ZONE = r"(?:\s?(?:UTC|GMT|Z|[+-]\d{2}:?\d{2}))?"
_DATED = rf"{_DATE}(?:,\s?|\s|T){_CLOCK}{_ZONE}"
_STAMP = rf"(?:{_DATED}|{_CLOCK}{_ZONE})"
_NAME = r"[^\s:*_#|<>\[\](){}`=\"][^:*#|<>\[\]{}`=\"\n]{0,60}?"

_HEADING = re.compile(r"(?P<level>#{1,6})\s+(?P<label>\S.{0,100}?)\s*#*\s*")
_BOLD = re.compile(
    rf"(?P<em>_?)\*\*(?:\[(?P<before>{_STAMP})\]\s*)?(?P<label>[^*\n]{{1,80}}?)\*\*(?P=em)"
    rf"(?:\s+\((?P<paren>{_STAMP})\)|\s+(?P<dash>{_STAMP})(?=\s+[-\u2013\u2014]\s))?"
    r"(?P<mark>:|\s+[-\u2013\u2014](?=\s)|)(?:\s(?P<rest>.*))?",
)
_BRACKET = re.compile(
    rf"\[(?P<time>{_CLOCK})\]\s+(?P<name>@[^\s:]+:[^\s:]+(?::\d+)?|{_NAME}):(?:\s(?P<rest>.*))?"
)
_COMMA = re.compile(
    rf"(?P<name>[^\d\s:*#|<>\[\]{{}}][^:*#|<>\[\]{{}}\n]{{0,80}}?),\s(?P<time>{_DATED}):(?:\s(?P<rest>.*))?"
)
_PAREN = re.compile(rf"(?P<name>{_NAME})\s\((?P<time>{_DATED})\):(?:\s(?P<rest>.*))?")
_NICK = re.compile(r"<(?P<name>[^<>\s/]{1,40})>\s(?P<rest>.*)")
_PLAIN = re.compile(rf"(?P<name>{_NAME}):(?:\s+(?P<rest>.*))?")
_TRAILING_TIME = re.compile(rf"\s*[(\u2013\u2014-]\s*(?P<time>{_STAMP})\)?$")
_TRAILING_NOTE = re.compile(r"\s*\([^()]*\)$")
_ORNAMENT = re.compile(r"^[\W_]+|[\s:*_~\ufe0f]+$")
_SAID = re.compile(r".* (?:said|says|sagte|dijo|a dit)", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]{0,12}(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)")
_DAY = re.compile(
    r"(?:#{1,6}\s+|[-=*\u2014]{2,}\s*)?\**"
    r"(?:(?P<iso>\d{4}-\d{2}-\d{2})|(?:[A-Za-z]+,?\s)?(?P<long>[A-Z][a-z]+ \d{1,2}, \d{4}))"
    r"\**(?:\s*[-=*\u2014]{2,})?\s*"
)
_DAY_IN_NAME = re.compile(r"(?<!\d)(?P<day>\d{4}-\d{2}-\d{2})(?![\d])")
_WHOLE_TIME = re.compile(
    r"(?:<time[^>]*datetime=\"(?P<iso>[^\"]+)\"[^>]*>.*</time>"
    rf"|(?:[*_]*(?:message )?time[*_]*:\s*)?[*_(\[]*(?P<plain>{_DATED})[*_)\]]*)\s*",
    re.IGNORECASE,
)

_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?(?:UTC|GMT|Z)|[+-]\d{2}:?\d{2})?"
)
_UTC = re.compile(r"\s?(?:UTC|GMT|Z)$")

DATED = frozenset({"name, time", "name (time)", "dated"})
TIMED = frozenset({"bold (time)", "bold time -", "[time] bold", "[time] name"}) | DATED


@dataclass(frozen=True, slots=True)
class Opener:
    """A line that begins a turn, if the file is of its ``shape``. ``time`` is as it is spelled."""

    shape: str
    name: str
    time: str
    rest: str


def opener(line: str) -> Opener | None:
    """What ``line`` begins, if it could begin a turn in any shape."""
    first = line[:1]
    if first == "#":
        return _heading(line)
    if first in ("*", "_"):
        return _bold(line)
    if first == "<":
        found = _NICK.fullmatch(line)
        return Opener("nick", found["name"], "", found["rest"]) if found else None
    if not first or first.isspace():
        return None
    if first == "[" and (found := _BRACKET.fullmatch(line)):
        return Opener("[time] name", _plain_name(found["name"]), found["time"], found["rest"] or "")
    if (head := header(line)) is not None:
        name, colon, rest = head.rest.partition(":")
        stamp = line[: len(line) - len(head.rest)]
        return Opener("dated", name, stamp, rest.removeprefix(" ")) if colon and 0 < len(name) <= 60 else None
    for shape, pattern in (("name, time", _COMMA), ("name (time)", _PAREN)):
        if found := pattern.fullmatch(line):
            return Opener(shape, _plain_name(found["name"]), found["time"], found["rest"] or "")
    found = _PLAIN.fullmatch(line)
    if found is None:
        return None if not _is_said(line) else Opener("said", line.strip(), "", "")
    name, rest = _plain_name(found["name"]), found["rest"] or ""
    return Opener("said" if _is_said(name) else "plain", name, "", rest) if name else None


def _heading(line: str) -> Opener | None:
    found = _HEADING.fullmatch(line)
    if found is None:
        return None
    name, stamp = _label(found["label"])
    if side_of(name) is None:
        return None
    # Pages that are copied out of a browser put the two sides' lines on different levels.
    shape = "said" if _is_said(name) else "heading " + str(len(found["level"]))
    return Opener(shape, name, stamp, "")


def _bold(line: str) -> Opener | None:
    found = _BOLD.fullmatch(line)
    if found is None:
        return None
    rest = found["rest"] or ""
    inside = found["label"].rstrip()
    colon = found["mark"] == ":" or inside.endswith(":")
    name = _plain_name(inside.removesuffix(":"))
    if not name:
        return None
    if found["before"]:
        return Opener("[time] bold", name, found["before"], rest) if colon else None
    if found["paren"]:
        return Opener("bold (time)", name, found["paren"], rest) if colon else None
    if found["dash"]:
        return Opener("bold time -", name, found["dash"], rest) if found["mark"] else None
    if colon:
        name, stamp = _label(inside)
        return Opener("bold", name, stamp, rest) if name else None
    if not rest and not found["mark"]:
        name, stamp = _label(inside)
        if side_of(name) is not None:
            return Opener("bold alone", name, stamp, "")
    return None


def _label(label: str) -> tuple[str, str]:
    """A heading's words without ornaments, and the time in it."""
    label = _ORNAMENT.sub("", label)
    stamp = ""
    if found := _TRAILING_TIME.search(label):
        stamp, label = found["time"], label[: found.start()]
    elif side_of(label) is None:
        label = _TRAILING_NOTE.sub("", label)
    return _ORNAMENT.sub("", label), stamp


def _plain_name(name: str) -> str:
    """A name without the pictures that are put before it; ids keep their first sign."""
    name = name.strip()
    return name if name.startswith(("@", "+", "~")) else re.sub(r"^[\W_]+", "", name).rstrip()


def _is_said(name: str) -> bool:
    return len(name) < 60 and _SAID.fullmatch(name.strip()) is not None and side_of(name) is not None


def day_of(line: str) -> date | None:
    """The day that a line by itself names: a heading over the messages of a day."""
    found = _DAY.fullmatch(line)
    if found is None:
        return None
    for text, form in ((found["iso"], "%Y-%m-%d"), (found["long"], "%B %d, %Y")):
        try:
            if text:
                return datetime.strptime(text, form).date()
        except ValueError:
            continue
    return None


def day_in(name: str) -> date | None:
    """The day in a file's name."""
    found = _DAY_IN_NAME.search(name.replace("\\", "/").rpartition("/")[2])
    return day_of(found["day"]) if found else None


def whole_time(line: str) -> str:
    """The time that a line consists of: exporters put it below a heading."""
    found = _WHOLE_TIME.fullmatch(line.strip()) if line[:1] in "<*_([mMtT0123456789" else None
    return (found["iso"] or found["plain"]) if found else ""


def dated(stamp: str) -> Header | None:
    """A written time with its date as numbers; None where it has none, or its zone is told by ISO 8601."""
    if _ISO.fullmatch(stamp):
        return None
    bare = _UTC.sub("", stamp)
    return header(bare if bare.endswith(("] ", "- ")) else f"{bare} - ")


def moment(stamp: str, orders: Mapping[Style, Order], day: date | None) -> datetime | None:
    """The time that is written as ``stamp``: UTC where it says so, else local. ``day`` is of a bare clock."""
    if _ISO.fullmatch(stamp):
        return read_time(stamp)
    when: datetime | None = None
    head = dated(stamp)
    if head is not None:
        when = head.when(orders.get(head.style, "dmy"))
    elif day is not None and (clock := clock_of(stamp)) is not None:
        when = datetime.combine(day, time(*clock.clock))
    return when.replace(tzinfo=UTC) if when is not None and _UTC.search(stamp) else when


def clock_of(stamp: str) -> Header | None:
    """The time of day that is written without a date, on a day that means nothing."""
    return header(f"2000-01-01, {_UTC.sub('', stamp)} - ")


@dataclass(slots=True)
class Fences:
    """Which lines stand in fenced code. A fence that is never closed, or that a second one begins in
    (then its own end was taken for a beginning), is none: ``false`` holds the lines of such."""

    false: set[int] = field(default_factory=set)
    _open: list[tuple[int, str, bool]] = field(default_factory=list)

    @property
    def inside(self) -> bool:
        return bool(self._open)

    @property
    def began(self) -> int:
        return self._open[0][0] if self._open else 0

    def feed(self, number: int, line: str) -> bool:
        """Take the next line. True if what was held for code since ``began`` turns out not to be."""
        if "```" not in line[:16] and "~~~" not in line[:16]:
            return False
        found = _FENCE.fullmatch(line)
        if found is None or number in self.false:
            return False
        mark, named = found["mark"], bool(found["info"].strip())
        if self._open:
            _, outer, outer_named = self._open[-1]
            if not named:
                if mark[0] == outer[0] and len(mark) >= len(outer):
                    self._open.pop()
                return False
            if not outer_named and len(self._open) == 1 and len(mark) >= len(outer):
                self.false.add(self._open.pop()[0])
                self._open.append((number, mark, named))
                return True
        self._open.append((number, mark, named))
        return False

    def end(self) -> bool:
        """The file is over. True if a fence was still open."""
        if self._open:
            self.false.add(self._open[0][0])
        return bool(self._open)
