"""Transcripts in Markdown or plain text: saved pages of assistants, pasted chats, histories of Aider.

Nothing in such a file says that it is a chat, and a document may have headings and bold labels like one. So
the file is read twice: first for the shape that its turns are written in and who takes them, then for what
they say. A shape must have speakers that take turns before it is believed.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import chain, islice, pairwise
from typing import Any

from appliance.ingest.parse import aider, jsonstream
from appliance.ingest.parse import markdown_words as words
from appliance.ingest.parse import text as texts
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.markdown_lines import (
    DATED,
    TIMED,
    Fences,
    Opener,
    clock_of,
    dated,
    day_in,
    day_of,
    moment,
    opener,
    whole_time,
)
from appliance.ingest.parse.markdown_words import Side
from appliance.ingest.parse.whatsapp_lines import Evidence, Order, Style, decide
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

# So many turns tell how a conversation goes; the rest is only counted.
_TURNS_WEIGHED = 2000
# What stands before the first turn of a saved page: a title, when it was exported, a link.
_LONGEST_PREAMBLE = 25
_LONGEST_TITLE = 300
_UNSURE = 0.4

_OTHER = re.compile(r"\s*(?:[{]|\[\s*[{\"\[]|<!|<\?xml|<html|%PDF|BEGIN:|From \S+ )", re.IGNORECASE)
_DOCUMENTS = re.compile(
    r"(?:^|/)(?:readme|changelog|contributing|license|licence|todo|agents|claude|skill|security|code_of_conduct)"
    r"(?:[._-][^/]*)?$",
    re.IGNORECASE,
)
_RULE = re.compile(r"\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})")
_TITLE = re.compile(r"(?:#\s+|title:\s*)(?P<title>\S.*?)\s*#*", re.IGNORECASE)
_LINK = re.compile(
    r"https?://(?:www\.)?(?:chatgpt\.com|chat\.openai\.com|claude\.ai|gemini\.google\.com|grok\.com"
    r"|chat\.deepseek\.com|www\.perplexity\.ai)/[\w/.-]*?(?P<id>[0-9a-f]{8}[0-9a-f-]{8,})",
)
_TOOL_KINDS = {"result": "result", "output": "result", "call": "call", "tool": "call", "function": "call"}


@dataclass(slots=True)
class _Seen:
    """What the lines of one shape have in common. Places are counts of lines with text, and of headings."""

    lines: int = 0
    talking: int = 0
    names: Counter[str] = field(default_factory=Counter)
    order: list[str] = field(default_factory=list)
    first: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (0, 0)

    def add(self, found: Opener, place: tuple[int, int]) -> None:
        self.lines += 1
        self.talking += words.TALKING.search(found.rest) is not None
        self.names[found.name] += 1
        if len(self.order) < _TURNS_WEIGHED:
            self.order.append(found.name)
        self.first = self.first if self.lines > 1 else place
        self.last = place


@dataclass(slots=True)
class _Survey:
    """What the first reading found."""

    shapes: dict[str, _Seen] = field(default_factory=dict)
    fences: Fences = field(default_factory=Fences)
    times: dict[Style, Evidence] = field(default_factory=dict)
    latest_hour: int = 0
    earliest_hour: int = 23
    halves: bool = False
    end: tuple[int, int] = (0, 0)
    aider: aider.Marks = field(default_factory=aider.Marks)
    encoding: texts.Encoding = "utf-8"

    @property
    def twelve_hours(self) -> bool:
        """Whether clocks may be of twelve hours without saying which half."""
        return not self.halves and self.latest_hour <= 12 and self.earliest_hour > 0


@dataclass(frozen=True, slots=True)
class _Verdict:
    """How surely a shape is that of the file's turns, and whose turns they are; people have no side."""

    score: float
    shape: str
    names: dict[str, Side | None]


@dataclass(frozen=True, slots=True)
class _Turn:
    number: int
    opener: Opener
    day: date | None
    lines: list[str]


def matches(head: Head) -> float:
    """How surely this is a transcript: speakers that take turns, in one shape."""
    if head.tables or _OTHER.match(head.text):
        return 0.0
    survey = _survey(enumerate(head.text.removesuffix("\n").split("\n"), 1))
    if survey.aider.starts:
        return 0.97
    verdict = _verdict(survey)
    if verdict is None or verdict.shape == "dated":
        return 0.0
    return min(verdict.score, _UNSURE) if _DOCUMENTS.search(head.name) else verdict.score


def parse(document: Document) -> Iterator[Record]:
    """The transcript's turns in the order of the file."""
    try:
        encoding = texts.encoding_of(document)
        survey = _survey(_text_lines(document, encoding, []))
    except texts.READ_ERRORS as error:
        yield Problem("", f"can't be read: {jsonstream.explained(error)}")
        return
    survey.encoding = encoding
    if encoding == "cp1252":
        yield Problem("", "read as Windows-1252, as the file is not UTF-8", harmless=True)
    problems: list[Problem] = []
    lines = _text_lines(document, encoding, problems)
    if survey.aider.starts:
        for record in aider.parse(lines, survey.aider):
            yield from problems
            problems.clear()
            yield record
    elif (verdict := _verdict(survey)) is None:
        yield Problem("", "no line begins a speaker's turn; no messages", harmless=True)
        yield from (line for line in jsonstream.lines(document) if isinstance(line, Problem))
    else:
        yield from _transcript(document.name, lines, survey, verdict, problems)
    yield from problems


def _text_lines(
    document: Document, encoding: texts.Encoding, problems: list[Problem]
) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without their ends; ``problems`` collects what went wrong."""
    for line in jsonstream.lines(document, blank=True):
        if isinstance(line, Problem):
            problems.append(line)
            continue
        number, data = line
        text, readable = texts.decoded(data, encoding)
        if not readable:
            problems.append(Problem(f"line {number}", "bytes that are not UTF-8 were replaced by U+FFFD"))
        yield number, text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def _survey(lines: Iterable[tuple[int, str]]) -> _Survey:
    survey = _Survey()
    # Turns within what looks like code, until the code turns out to be none.
    held: list[tuple[Opener, tuple[int, int]]] = []
    filled = headings = 0
    for number, line in lines:
        line = line.removesuffix("\r")
        inside = survey.fences.inside
        if survey.fences.feed(number, line):
            _count(survey, held)
        if not survey.fences.inside:
            held.clear()
        filled += bool(line.strip())
        if not inside:
            survey.aider.look(line)
            if stamp := whole_time(line):
                _time(survey, stamp, number)
        found = opener(line)
        if found is None:
            headings += not inside and line.startswith("#") and day_of(line) is None
        elif inside:
            held.append((found, (filled, headings)))
        else:
            _count(survey, [(found, (filled, headings))])
            if found.time:
                _time(survey, found.time, number)
    if survey.fences.end():
        _count(survey, held)
    survey.end = (filled, headings)
    return survey


def _count(survey: _Survey, found: list[tuple[Opener, tuple[int, int]]]) -> None:
    for each, place in found:
        survey.shapes.setdefault(each.shape, _Seen()).add(each, place)
    found.clear()


def _time(survey: _Survey, stamp: str, number: int) -> None:
    if (head := dated(stamp)) is not None:
        survey.times.setdefault(head.style, Evidence()).add(head, number)
    elif (head := clock_of(stamp)) is not None:
        survey.halves |= head.style.half_days
        survey.latest_hour = max(survey.latest_hour, head.clock[0])
        survey.earliest_hour = min(survey.earliest_hour, head.clock[0])


def _verdict(survey: _Survey) -> _Verdict | None:
    """The shape that is most surely that of the file's turns."""
    verdicts = [
        verdict
        for shape, seen in survey.shapes.items()
        for verdict in (_assistants(shape, seen, survey), _people(shape, seen, survey))
        if verdict is not None
    ]
    return max(
        verdicts, key=lambda verdict: (verdict.score, survey.shapes[verdict.shape].lines), default=None
    )


def _assistants(shape: str, seen: _Seen, survey: _Survey) -> _Verdict | None:
    """The shape as that of a conversation with an assistant."""
    names = _sides(shape, seen)
    order = [side for name in seen.order if (side := names.get(name)) in ("user", "assistant")]
    asked, answered = order.count("user"), order.count("assistant")
    if not asked or not answered:
        return None
    pairs = sum(pair == ("user", "assistant") for pair in pairwise(order))
    score = _UNSURE
    if pairs >= 2:
        score = 0.85
    elif pairs == 1 and len(order) > 2:
        score = 0.7
    elif pairs == 1 and shape != "plain" and survey.end[1] == seen.first[1]:
        score = 0.65
    others = sum(seen.names.values()) - sum(seen.names[name] for name in names)
    if shape == "plain" and others > 2 * len(order):
        # A list of settings, one of which is called like a speaker.
        score = min(score, _UNSURE)
    if _is_example(seen, survey):
        score = min(score, _UNSURE)
    return _Verdict(score, shape, names)


def _sides(shape: str, seen: _Seen) -> dict[str, Side | None]:
    """The names that take turns in a conversation with an assistant. A loose word counts only where its
    side has no better one: "Response" may be a heading within an answer."""
    names: dict[str, Side | None] = {}
    sides: tuple[Side, ...] = ("user", "assistant")
    for side in sides:
        called = [name for name, _ in seen.names.most_common() if words.side_of(name) == side]
        sure = [name for name in called if not words.is_loose(name)]
        names |= dict.fromkeys(sure or called[:1], side)
    if "user" not in names.values():
        # Someone who talks with an assistant may be called by name.
        named = [name for name in seen.names if words.side_of(name) is None and _is_name(name)]
        answers = max((seen.names[name] for name in names), default=0)
        if named and 2 * max(seen.names[name] for name in named) > answers:
            names[max(named, key=lambda name: seen.names[name])] = "user"
    for name in seen.names:
        other = words.side_of(name)
        above = other == "system" and (shape.startswith("heading") or seen.order[0] == name)
        if above or (other == "tool" and shape.startswith(("heading", "bold alone"))):
            names[name] = other
    return names


def _people(shape: str, seen: _Seen, survey: _Survey) -> _Verdict | None:
    """The shape as that of a chat among people."""
    if shape.startswith(("heading", "bold alone", "said")):
        return None
    named: dict[str, Side | None] = {name: None for name in seen.names if _is_name(name)}
    names = named or dict.fromkeys(seen.names)
    spoken = [name for name in seen.order if name in named]
    speakers = len(set(spoken))
    # Somebody speaks again after another: what distinguishes a chat from a list with labels.
    back = any(name in spoken[: n - 1] and spoken[n - 1] != name for n, name in enumerate(spoken) if n > 1)
    odd = words.LEVELS | words.ELEMENTS if shape == "nick" else words.LEVELS
    level = any(name.casefold() in odd for name in seen.names)
    score = 0.35
    if level or speakers < 2 or len(spoken) < 0.7 * len(seen.order) or _is_example(seen, survey):
        score = 0.3
    elif shape in DATED or shape == "bold (time)":
        score = 0.85 if back and len(spoken) > 2 else 0.6
    elif shape in TIMED:
        score = 0.8 if back else _UNSURE
    elif shape == "nick":
        score = 0.5 if back and len(spoken) > max(3, 0.6 * survey.end[0]) else 0.3
    elif shape == "bold" and back and len(spoken) > 3 and survey.end[1] == seen.first[1]:
        twice = sum(count > 1 for count in seen.names.values())
        lower = any(name != name.upper() for name in named)
        full = sum(" " in name for name in spoken) > len(spoken) / 2
        if twice > 1 and lower and (full or seen.talking * 4 >= seen.lines):
            score = 0.7
    return _Verdict(score, shape, names)


def _is_name(name: str) -> bool:
    """Whether this may be what somebody is called, and not what a line is about."""
    if name.startswith(("@", "+", "~")):
        return True
    parts = name.split()
    if not 0 < len(parts) <= 5 or not name[0].isalpha() or any(character.isdigit() for character in name):
        return False
    if any(part.islower() and part not in words.PARTICLES for part in parts[1:]):
        return False
    return parts[-1].casefold() == "bot" or parts[0].strip("'’.").casefold() not in words.LABELS


def _is_example(seen: _Seen, survey: _Survey) -> bool:
    """Whether the turns are only a part of the file: an example within a document."""
    if seen.first[0] > _LONGEST_PREAMBLE or seen.first[1] > 2:
        return True
    filled, headings = survey.end[0] - seen.last[0], survey.end[1] - seen.last[1]
    return headings > 1 and filled > survey.end[0] / 2


def _transcript(
    name: str,
    lines: Iterator[tuple[int, str]],
    survey: _Survey,
    verdict: _Verdict,
    problems: list[Problem],
) -> Iterator[Record]:
    preamble: list[str] = []
    found = _turns(lines, survey, verdict, day_in(name), preamble)
    orders: dict[Style, Order] = {}
    for style, seen in survey.times.items():
        decision = decide(style, seen)
        orders[style] = decision.order
        if decision.sure == "guessed":
            spelled = "/".join({"d": "day", "m": "month", "y": "year"}[letter] for letter in decision.order)
            problems.append(
                Problem(
                    f"line {seen.first_line}",
                    f"nothing in the file tells days from months; dates are read as {spelled}, {decision.why}",
                    harmless=True,
                )
            )
    # What a conversation begins with identifies it: a question alone may be asked twice.
    first = list(islice(found, 2))
    session = _session_id(first, preamble)
    title, before = _title(preamble)
    records = (_message(session, turn, verdict, orders) for turn in chain(first, found))
    begun = next(records, None)
    created = begun.sent_at if isinstance(begun, MessageRecord) else None
    yield SessionRecord(session, title or _file_title(name), created)
    if before:
        yield MessageRecord(session, "system", before, where="line 1")
    for record in chain([begun] if begun else [], records):
        yield from problems
        problems.clear()
        yield record
    if verdict.shape in TIMED - DATED and created is None:
        yield Problem("", "the turns have a clock but no day; their times are left open", harmless=True)


def _turns(
    lines: Iterator[tuple[int, str]],
    survey: _Survey,
    verdict: _Verdict,
    day: date | None,
    preamble: list[str],
) -> Iterator[_Turn]:
    """The turns with the lines of each; what comes before them goes into ``preamble``."""
    clocked = verdict.shape in TIMED - DATED
    fences = Fences(survey.fences.false)
    turn: _Turn | None = None
    last = -1
    for number, line in lines:
        inside = fences.inside
        fences.feed(number, line)
        begins = None if inside else opener(line)
        if begins is not None and begins.shape == verdict.shape and begins.name in verdict.names:
            if turn is not None:
                yield turn
            if clocked and day is not None and (head := clock_of(begins.time)) is not None:
                minutes = head.clock[0] * 60 + head.clock[1]
                # A little back is a line out of order; a lot is midnight.
                if minutes < last - 6 * 60 and not survey.twelve_hours:
                    day = _next(day)
                last = minutes
            turn = _Turn(number, begins, day, [begins.rest])
        elif clocked and not inside and (named := day_of(line)) is not None:
            day, last = named, -1
        elif turn is None:
            preamble.append(line)
        else:
            turn.lines.append(line)
    if turn is not None:
        yield turn


def _next(day: date) -> date:
    try:
        return day + timedelta(days=1)
    except OverflowError:
        return day


def _message(
    session: str, turn: _Turn, verdict: _Verdict, orders: dict[Style, Order]
) -> MessageRecord | Problem:
    where = f"line {turn.number}"
    lines = turn.lines
    start, end = _bounds(lines)
    stamp = turn.opener.time
    if not stamp and not turn.opener.rest and start < end and (stamp := whole_time(lines[start])):
        start, _ = _bounds(lines[:end], start + 1)
    sent: datetime | None = moment(stamp, orders, turn.day) if stamp else None
    text = "\n".join(lines[start:end])
    if not text.strip():
        return Problem(where, f"{turn.opener.name} says nothing; passed over", harmless=True)
    side = verdict.names[turn.opener.name]
    role: Role = side or "user"
    metadata: dict[str, Any] = {}
    if side == "system":
        metadata["hidden"] = True
    elif side == "tool":
        kind = _TOOL_KINDS.get(turn.opener.name.casefold().split()[-1], "reasoning")
        metadata["tools"] = [{"kind": kind}]
    named = side is None or words.side_of(turn.opener.name) is None
    author = turn.opener.name if named else None
    return MessageRecord(session, role, text, author=author, sent_at=sent, metadata=metadata, where=where)


def _bounds(lines: list[str], start: int = 0) -> tuple[int, int]:
    """Where a turn's text begins and ends: without blank lines around it, and the rule before the next."""
    end = len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    if end - start > 1 and _RULE.fullmatch(lines[end - 1]):
        end -= 1
        while end > start and not lines[end - 1].strip():
            end -= 1
    return start, end


def _title(preamble: list[str]) -> tuple[str | None, str]:
    """The conversation's title, and what else stands before the first turn."""
    for n, line in enumerate(preamble):
        if len(line) <= _LONGEST_TITLE and (found := _TITLE.fullmatch(line.strip())):
            rest = preamble[:n] + preamble[n + 1 :]
            break
    else:
        found, rest = None, preamble
    start, end = _bounds(rest)
    kept = "\n".join(rest[start:end])
    title = found["title"].strip("\"'*_ ") if found else None
    return title or None, "" if _RULE.fullmatch(kept.replace("\n", "")) else kept


def _session_id(first: list[_Turn], preamble: list[str]) -> str:
    """The conversation's own id where a link to it stands above, else one of how it begins."""
    for line in preamble:
        if found := _LINK.search(line):
            return f"markdown:{found['id']}"
    said: list[str] = []
    for turn in first:
        start, end = _bounds(turn.lines)
        said += [turn.opener.name, turn.opener.time, str(turn.day or ""), *turn.lines[start:end]]
    return "markdown:" + hashlib.sha256("\n".join(said).encode("utf-8", "replace")).hexdigest()[:24]


def _file_title(path: str) -> str | None:
    name = path.replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name or None
