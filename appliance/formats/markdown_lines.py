"""The lines of a transcript that begin a turn, in any of the known shapes, and fenced code, where none do.

A file uses one shape; a line of another shape is part of a message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, date, datetime, time

from appliance.formats.markdown_words import is_numbered_speaker, side_of
from appliance.formats.timestamps import read_time
from appliance.formats.whatsapp_lines import HeaderStyle, MessageHeader, Order, parse_header
from appliance.lazy_dataclasses import dataclass

_CLOCK = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\s?[AaPp]\.?\s?[Mm]\b\.?)?"
_DATE = r"\d{1,4}(?:[./]|-)\d{1,2}(?:[./]|-)\d{1,4}"
_ZONE = r"(?:\s?(?:UTC|GMT|Z|[+-]\d{2}:?\d{2}))?"
_DATED = rf"{_DATE}(?:,\s?|\s|T){_CLOCK}{_ZONE}"
_STAMP = rf"(?:{_DATED}|{_CLOCK}{_ZONE})"
_NAME = r"[^\s:*_#|<>\[\](){}`=\"][^:*#|<>\[\]{}`=\"\n]{0,60}?"

_HEADING = re.compile(r"(?P<level>#{1,6})\s+(?P<label>\S.{0,100}?)\s*#*\s*")
_BOLD = re.compile(
    rf"(?P<em>_?)\*\*(?:\[(?P<before>{_STAMP})\]\s*)?(?P<label>[^*\n]{{1,80}}?)\*\*(?P=em)"
    rf"(?:\s+\((?P<paren>{_STAMP})\)|\s+(?P<dash>{_STAMP})(?=\s+[-\u2013\u2014]\s)"
    rf"|\s+[-\u2013\u2014]\s+(?P<after>{_DATED})\s*$)?"
    r"(?P<mark>:|\s+[-\u2013\u2014](?=\s)|)(?:\s(?P<rest>.*))?"
)
_BRACKET = re.compile(rf"\[(?P<time>{_CLOCK})\]\s+(?P<name>@[^\s:]+:[^\s:]+(?::\d+)?|{_NAME}):(?:\s(?P<rest>.*))?")
_COMMA = re.compile(
    rf"(?P<name>[^\d\s:*#|<>\[\]{{}}][^:*#|<>\[\]{{}}\n]{{0,80}}?),\s(?P<time>{_DATED}):(?:\s(?P<rest>.*))?"
)
_PAREN = re.compile(rf"(?P<name>{_NAME})\s\((?P<time>{_DATED})\):(?:\s(?P<rest>.*))?")
_PAREN_CLOCK = re.compile(rf"(?P<name>{_NAME})\s[(\[](?P<time>{_CLOCK})[)\]]:?(?:\s(?P<rest>.*))?")
_BRACKETED = re.compile(r"\[(?P<name>[^\[\]\n:]{1,40})\]:?(?:\s+(?P<rest>.*))?")
_NICK = re.compile(r"<(?P<name>[^<>\s/]{1,40})>\s(?P<rest>.*)")
_COLON = re.compile(rf"(?P<name>{_NAME}):(?:\s+(?P<rest>.*))?")
_TRAILING_TIME = re.compile(rf"\s*(?:[(\u2013\u2014-]|\([^()]*\s)\s*(?P<time>{_STAMP})\)?$")
_TRAILING_NOTE = re.compile(r"\s*\([^()]*\)$")
_ORNAMENT = re.compile(r"^[\W_]+|[\s:*_~\ufe0f]+$")
_SAID_SUFFIX = re.compile(r".* (?:said|says|sagte|dijo|a dit)", re.IGNORECASE)
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

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?(?:UTC|GMT|Z)|[+-]\d{2}:?\d{2})?")
_NAMED_TIME = re.compile(r"(?<=\d)[_T](\d\d)-(\d\d)-(\d\d)(?=Z|[+-]\d\d:?\d\d|$)")
_UTC = re.compile(r"\s?(?:UTC|GMT|Z)$")

DATED = frozenset({"name, time", "name (time)", "dated"})
TIMED = frozenset({"bold (time)", "bold - time", "bold time -", "[time] bold", "[time] name", "name (clock)"}) | DATED


@dataclass(frozen=True, slots=True)
class TurnOpener:
    """A line that begins a turn in a file of this ``shape``. ``time`` is the text of the line, not parsed."""

    shape: str
    name: str
    time: str
    rest: str


def parse_opener(line: str) -> TurnOpener | None:
    """The turn that ``line`` would begin, in whichever shape it has."""
    first = line[:1]
    if first == "#":
        return _heading(line)
    if first in ("*", "_"):
        return _bold(line)
    if first == "<":
        found = _NICK.fullmatch(line)
        return TurnOpener("nick", found["name"], "", found["rest"]) if found else None
    if not first or first.isspace():
        return None
    if first == "[" and (found := _BRACKET.fullmatch(line)):
        return TurnOpener("[time] name", _plain_name(found["name"]), found["time"], found["rest"] or "")
    if first == "[" and (found := _BRACKETED.fullmatch(line)) and is_numbered_speaker(found["name"]):
        return TurnOpener("[name]", found["name"], "", found["rest"] or "")
    if (head := parse_header(line)) is not None:
        name, colon, rest = head.rest.partition(":")
        stamp = line[: len(line) - len(head.rest)]
        return TurnOpener("dated", name, stamp, rest.removeprefix(" ")) if colon and 0 < len(name) <= 60 else None
    for shape, pattern in (("name, time", _COMMA), ("name (time)", _PAREN)):
        if found := pattern.fullmatch(line):
            return TurnOpener(shape, _plain_name(found["name"]), found["time"], found["rest"] or "")
    if (found := _PAREN_CLOCK.fullmatch(line)) and (
        line.endswith(":") or ": " in line or is_numbered_speaker(found["name"])
    ):
        return TurnOpener("name (clock)", _plain_name(found["name"]), found["time"], found["rest"] or "")
    found = _COLON.fullmatch(line)
    if found is None:
        return TurnOpener("said", line.strip(), "", "") if _is_said_heading(line) else None
    name, rest = _plain_name(found["name"]), found["rest"] or ""
    return TurnOpener("said" if _is_said_heading(name) else "plain", name, "", rest) if name else None


def _heading(line: str) -> TurnOpener | None:
    found = _HEADING.fullmatch(line)
    if found is None:
        return None
    name, stamp = _label(found["label"])
    if side_of(name) is None and not is_numbered_speaker(name):
        return None
    # Pages copied from a browser have the two sides' "said" headings on different levels.
    shape = "said" if _is_said_heading(name) else "heading " + str(len(found["level"]))
    return TurnOpener(shape, name, stamp, "")


def _bold(line: str) -> TurnOpener | None:
    found = _BOLD.fullmatch(line)
    if found is None:
        return None
    rest = found["rest"] or ""
    label = found["label"].rstrip()
    has_colon = found["mark"] == ":" or label.endswith(":")
    name = _plain_name(label.removesuffix(":"))
    if not name:
        return None
    for shape, group, is_complete in (
        ("[time] bold", "before", has_colon),
        ("bold (time)", "paren", has_colon),
        ("bold time -", "dash", bool(found["mark"])),
    ):
        if found[group]:
            return TurnOpener(shape, name, found[group], rest) if is_complete else None
    if found["after"]:
        return TurnOpener("bold - time", name, found["after"], "")
    if not has_colon and (rest or found["mark"]):
        return None
    name, stamp = _label(label)
    if has_colon:
        return TurnOpener("bold", name, stamp, rest) if name else None
    is_speaker = side_of(name) is not None or is_numbered_speaker(name)
    return TurnOpener("bold alone", name, stamp, "") if is_speaker else None


def _label(label: str) -> tuple[str, str]:
    """A label without decoration, and the time in it."""
    label = _ORNAMENT.sub("", label)
    stamp = ""
    if found := _TRAILING_TIME.search(label):
        stamp, label = found["time"], label[: found.start()]
    elif side_of(label) is None:
        label = _TRAILING_NOTE.sub("", label)
    return _ORNAMENT.sub("", label), stamp


def _plain_name(name: str) -> str:
    """A name without symbols before it; handles and phone numbers keep their first character."""
    name = name.strip()
    return name if name.startswith(("@", "+", "~")) else re.sub(r"^[\W_]+", "", name).rstrip()


def _is_said_heading(name: str) -> bool:
    return len(name) < 60 and _SAID_SUFFIX.fullmatch(name.strip()) is not None and side_of(name) is not None


def day_of(line: str) -> date | None:
    """The date that a whole line names, as a heading above the messages of a day does."""
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


def with_colons(stamp: str) -> str:
    """A time as it stands in files' names, with colons: "2026-03-23T21-37-57Z"."""
    return _NAMED_TIME.sub(r" \1:\2:\3", stamp)


def day_in(name: str) -> date | None:
    """The date in a file's name."""
    found = _DAY_IN_NAME.search(name.replace("\\", "/").rpartition("/")[2])
    return day_of(found["day"]) if found else None


def whole_time(line: str) -> str:
    """The time that a whole line names; exporters put it below a heading. Empty if there is none."""
    found = _WHOLE_TIME.fullmatch(line.strip()) if line[:1] in "<*_([mMtT0123456789" else None
    return (found["iso"] or found["plain"]) if found else ""


def parse_dated(stamp: str) -> MessageHeader | None:
    """A time whose date is in numbers; None if it has no date or is ISO 8601, whose order is known."""
    if _ISO.fullmatch(stamp):
        return None
    bare = _UTC.sub("", stamp)
    return parse_header(bare if bare.endswith(("] ", "- ")) else f"{bare} - ")


def parse_stamp(stamp: str, orders: Mapping[HeaderStyle, Order], day: date | None) -> datetime | None:
    """Parse a time: UTC if it says so, else local. ``day`` is the date for a time of day without one."""
    if _ISO.fullmatch(stamp):
        return read_time(stamp)
    when: datetime | None = None
    head = parse_dated(stamp)
    if head is not None:
        when = head.to_datetime(orders.get(head.style, "dmy"))
    elif day is not None and (clock := clock_of(stamp)) is not None:
        when = datetime.combine(day, time(*clock.clock))
    return when.replace(tzinfo=UTC) if when is not None and _UTC.search(stamp) else when


def clock_of(stamp: str) -> MessageHeader | None:
    """A time of day without a date, as a header with a meaningless date."""
    return parse_header(f"2000-01-01, {_UTC.sub('', stamp)} - ")


@dataclass(slots=True)
class FencedCode:
    """Tracks which lines are fenced code. ``false_fences`` holds the numbers of lines that look like a fence
    but are not one: never closed, or open when a second one begins (it was itself the end of another)."""

    false_fences: set[int] = field(default_factory=set)
    _open: list[tuple[int, str, bool]] = field(default_factory=list)

    @property
    def is_inside(self) -> bool:
        return bool(self._open)

    def feed(self, number: int, line: str) -> bool:
        """Take the next line. True if the lines since the last fence turn out not to be code."""
        if "```" not in line[:16] and "~~~" not in line[:16]:
            return False
        found = _FENCE.fullmatch(line)
        if found is None or number in self.false_fences:
            return False
        mark, has_info = found["mark"], bool(found["info"].strip())
        if self._open:
            _, outer, outer_has_info = self._open[-1]
            if not has_info:
                if mark[0] == outer[0] and len(mark) >= len(outer):
                    self._open.pop()
                return False
            if not outer_has_info and len(self._open) == 1 and len(mark) >= len(outer):
                self.false_fences.add(self._open.pop()[0])
                self._open.append((number, mark, has_info))
                return True
        self._open.append((number, mark, has_info))
        return False

    def end(self) -> bool:
        """Take the end of the file. True if a fence is still open."""
        if self._open:
            self.false_fences.add(self._open[0][0])
        return bool(self._open)
