"""Transcripts in Markdown or plain text: saved pages of assistants, pasted chats, histories of Aider.

Such a file does not declare that it is a chat, and a document may contain similar headings and bold labels. The
parser therefore reads it twice: first for the shape of its turns and their speakers, then for the messages. It
accepts a shape only if speakers take turns in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from datetime import date, datetime, time, timedelta
from itertools import chain, groupby, islice

from appliance.formats import aider, exported_markdown, json_stream, markdown_dialects, markdown_lines
from appliance.formats import markdown_words as words
from appliance.formats import text as texts
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import tool_metadata
from appliance.formats.markdown_lines import DATED, TIMED, FencedCode, TurnOpener, clock_of, day_of, parse_opener
from appliance.formats.markdown_shapes import DOCUMENT_CONFIDENCE, ShapeVerdict, TranscriptShapes, verdict_of
from appliance.formats.records import metadata_of
from appliance.formats.text_lines import CP1252_NOTE, collect_lines
from appliance.formats.timestamps import read_time
from appliance.formats.whatsapp_lines import DateOrderEvidence, HeaderStyle, Order, decide_orders
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

_MAX_TITLE_CHARACTERS = 300
_DATED_SIDES = 0.97
_OPENING_LINES = 60

_OTHER_FORMAT = re.compile(r"\s*(?:[{]|\[\s*[{\"\[]|<!(?!--)|<\?xml|<html|%PDF|BEGIN:|From \S+ )", re.IGNORECASE)
_DOCUMENTS = re.compile(
    r"(?:^|/)(?:(?:readme|changelog|contributing|license|licence|todo|security|code_of_conduct)(?:[._-][^/]*)?"
    r"|(?:agents|claude|skill|gemini)(?:\.local)?\.[^./]*)$",
    re.IGNORECASE,
)
_RULE = re.compile(r"\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})")
_TITLE = re.compile(r"(?:#\s+|title:\s*)(?P<title>\S.*?)\s*#*", re.IGNORECASE)
_LINK = re.compile(
    r"https?://(?:www\.)?(?:chatgpt\.com|chat\.openai\.com|claude\.ai|gemini\.google\.com|grok\.com"
    r"|chat\.deepseek\.com|www\.perplexity\.ai)/[\w/.-]*?(?P<id>[0-9a-f]{8}[0-9a-f-]{8,})"
)
# SpecStory: the program, the session's id and its beginning.
_SESSION = re.compile(r"<!-- \S.{0,40}? Session (?P<id>[\w-]{8,}) \((?P<time>[^)]*)\) -->\s*", re.IGNORECASE)
_INSERTED = re.compile(
    r"^<tool-use\b[^>\n]*?(?:data-tool-name=\"(?P<tool>[^\"\n]*)\")[^>\n]*>(?P<call>.*?)</tool-use>[ \t]*$"
    r"|^<think>(?P<thought>.*?)</think>[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_TOOL_USE = re.compile(r"Tool use: \*\*(?P<tool>[^*\n]+)\*\*")
_MARKUP = re.compile(r"</?(?:details|summary)[^>\n]*>")
_COMMENT = re.compile(r"<!--.*-->\s*")
_CREATED = re.compile(
    r"[*_>\s-]*(?:created|date|started|erstellt|datum|fecha|creado|créé|data)(?: (?:on|at|am|le|el))?[*_]*:[*_]*"
    r"\s*(?P<time>\S.{0,60}?)",
    re.IGNORECASE,
)
_TOOL_KINDS = {"result": "result", "output": "result", "call": "call", "tool": "call", "function": "call"}

_Lines = Iterator[tuple[int, str]]


@dataclass(slots=True)
class _TranscriptSurvey:
    shapes: TranscriptShapes = field(default_factory=TranscriptShapes)
    fences: FencedCode = field(default_factory=FencedCode)
    times: dict[HeaderStyle, DateOrderEvidence] = field(default_factory=dict)
    latest_hour: int = 0
    earliest_hour: int = 23
    has_half_markers: bool = False
    aider: aider.AiderDialect = field(default_factory=aider.AiderDialect)
    opening: list[str] = field(default_factory=list)
    has_session_marks: bool = False

    @property
    def may_be_12_hour(self) -> bool:
        """Whether the clock may have twelve hours and no AM or PM."""
        return not self.has_half_markers and self.latest_hour <= 12 and self.earliest_hour > 0


@dataclass(frozen=True, slots=True)
class _TranscriptTurn:
    number: int
    opener: TurnOpener
    day: date | None
    lines: list[str]


def matches(head: DocumentHead) -> float:
    """The confidence that this is a transcript: speakers that take turns, in one shape."""
    if head.tables or _OTHER_FORMAT.match(head.text):
        return 0.0
    survey = _survey(enumerate(head.text.removesuffix("\n").split("\n"), 1))
    if exported_markdown.is_export(survey.opening):
        return 1.0
    if survey.aider.starts or _is_aider(head.name, survey) or markdown_dialects.dialect_of(survey.opening):
        return 0.97
    verdict = verdict_of(survey.shapes)
    if verdict is None or (verdict.shape == "dated" and not verdict.names_only_sides):
        return 0.0
    if verdict.shape == "dated":
        # Messengers write such lines too, with people's names.
        return max(verdict.score, _DATED_SIDES)
    if survey.has_session_marks:
        return 0.95
    return min(verdict.score, DOCUMENT_CONFIDENCE) if _DOCUMENTS.search(head.name) else verdict.score


def parse(document: Document) -> Iterator[Record]:
    try:
        encoding = texts.encoding_of(document)
        survey = _survey(collect_lines(document, encoding, []))
    except texts.READ_ERRORS as error:
        yield InputProblem("", f"can't be read: {json_stream.error_text(error)}")
        return
    if encoding == "cp1252":
        yield CP1252_NOTE
    problems: list[InputProblem] = []
    lines = collect_lines(document, encoding, problems)
    if exported_markdown.is_export(survey.opening):
        for record in exported_markdown.parse(collect_lines(document, encoding, problems, with_returns=True)):
            yield from problems
            problems.clear()
            yield record
    elif survey.aider.starts or _is_aider(document.name, survey):
        for record in aider.parse(lines, survey.aider):
            yield from problems
            problems.clear()
            yield record
    elif dialect := markdown_dialects.dialect_of(survey.opening):
        yield from markdown_dialects.parse(document.name, lines, dialect)
    elif (verdict := verdict_of(survey.shapes)) is None:
        yield InputProblem("", "no line begins a speaker's turn; no messages", harmless=True)
        yield from (line for line in json_stream.lines(document) if isinstance(line, InputProblem))
    else:
        for session_lines in _sessions(lines):
            yield from _transcript(document.name, session_lines, survey, verdict, problems)
    yield from problems


def _is_aider(name: str, survey: _TranscriptSurvey) -> bool:
    """Whether the name is that of Aider's history, which may begin within a session."""
    return name.endswith(".aider.chat.history.md") and survey.aider.prompts > 0


def _sessions(lines: _Lines) -> Iterator[_Lines]:
    """The lines of each session of a file: SpecStory marks where one begins, and may put several into a file."""
    marks = 0

    def session_of(item: tuple[int, str]) -> int:
        nonlocal marks
        marks += _SESSION.fullmatch(item[1]) is not None
        return max(1, marks)

    return (group for _, group in groupby(lines, session_of))


def _survey(lines: Iterable[tuple[int, str]]) -> _TranscriptSurvey:
    survey = _TranscriptSurvey()
    # Openers within code, until the code turns out not to be any.
    in_code: list[tuple[TurnOpener, tuple[int, int]]] = []
    filled = headings = 0
    for number, line in lines:
        line = line.removesuffix("\r")
        inside = survey.fences.is_inside
        if survey.fences.feed(number, line):
            _count_openers(survey, in_code)
        if not survey.fences.is_inside:
            in_code.clear()
        filled += bool(line.strip())
        if len(survey.opening) < _OPENING_LINES:
            survey.opening.append(line)
        survey.has_session_marks |= _SESSION.fullmatch(line) is not None
        if not inside:
            survey.aider.observe(line)
            if stamp := markdown_lines.whole_time(line):
                _add_time(survey, stamp, number)
        opener = parse_opener(line)
        if opener is None:
            headings += not inside and line.startswith("#") and day_of(line) is None
        elif inside:
            in_code.append((opener, (filled, headings)))
        else:
            _count_openers(survey, [(opener, (filled, headings))])
            if opener.time:
                _add_time(survey, opener.time, number)
    if survey.fences.end():
        _count_openers(survey, in_code)
    survey.shapes.end = (filled, headings)
    return survey


def _count_openers(survey: _TranscriptSurvey, openers: list[tuple[TurnOpener, tuple[int, int]]]) -> None:
    for opener, place in openers:
        survey.shapes.add(opener, place)
    openers.clear()


def _add_time(survey: _TranscriptSurvey, stamp: str, number: int) -> None:
    if (head := markdown_lines.parse_dated(stamp)) is not None:
        survey.times.setdefault(head.style, DateOrderEvidence()).add(head, number)
    elif (head := clock_of(stamp)) is not None:
        survey.has_half_markers |= head.style.has_half_days
        survey.latest_hour = max(survey.latest_hour, head.clock[0])
        survey.earliest_hour = min(survey.earliest_hour, head.clock[0])


def _transcript(
    name: str, lines: _Lines, survey: _TranscriptSurvey, verdict: ShapeVerdict, problems: list[InputProblem]
) -> Iterator[Record]:
    preamble: list[str] = []
    turns = _turns(lines, survey, verdict, markdown_lines.day_in(name), preamble)
    orders, notes = decide_orders(survey.times)
    problems.extend(notes)
    # Two turns identify a conversation; the same question may be asked twice.
    opening = list(islice(turns, 2))
    session = _session_id(opening, preamble)
    title, introduction = _title(preamble)
    records = (record for turn in chain(opening, turns) for record in _messages(session, turn, verdict, orders))
    first = next(records, None)
    created = first.sent_at if isinstance(first, MessageRecord) else None
    has_times = created is not None
    created = created or _conversation_time(preamble, name)
    file_name = name.replace("\\", "/").rpartition("/")[2]
    yield SessionRecord(session, title or file_name.rpartition(".")[0] or file_name or None, created)
    if introduction:
        yield MessageRecord(session, "system", introduction, where="line 1")
    for record in chain([first] if first else [], records):
        yield from problems
        problems.clear()
        yield record
    if verdict.shape in TIMED - DATED and not has_times:
        yield InputProblem("", "the turns have a time of day but no date; their times were ignored", harmless=True)


def _turns(
    lines: _Lines, survey: _TranscriptSurvey, verdict: ShapeVerdict, day: date | None, preamble: list[str]
) -> Iterator[_TranscriptTurn]:
    """The turns with their lines; the lines before the first turn are appended to ``preamble``."""
    has_clock = verdict.shape in TIMED - DATED
    fences = FencedCode(survey.fences.false_fences)
    turn: _TranscriptTurn | None = None
    last = -1
    for number, line in lines:
        inside = fences.is_inside
        fences.feed(number, line)
        opener = None if inside else parse_opener(line)
        if opener is not None and verdict.is_opened_by(opener):
            if turn is not None:
                yield turn
            if has_clock and day is not None and (head := clock_of(opener.time)) is not None:
                minutes = head.clock[0] * 60 + head.clock[1]
                # A small step back is a line out of order; a large one is midnight.
                if minutes < last - 6 * 60 and not survey.may_be_12_hour and day < date.max:
                    day += timedelta(days=1)
                last = minutes
            turn = _TranscriptTurn(number, opener, day, [opener.rest])
        elif has_clock and not inside and (new_day := day_of(line)) is not None:
            day, last = new_day, -1
        elif turn is None:
            preamble.append(line)
        else:
            turn.lines.append(line)
    if turn is not None:
        yield turn


def _messages(
    session: str, turn: _TranscriptTurn, verdict: ShapeVerdict, orders: dict[HeaderStyle, Order]
) -> Iterator[MessageRecord | InputProblem]:
    """The message of a turn, and its reasoning and calls where they stand in elements of their own."""
    message = _message(session, turn, verdict, orders)
    if isinstance(message, InputProblem) or message.role != "assistant":
        yield message
        return
    if found := _TOOL_USE.match(message.text):
        yield replace(message, role="tool", author=found["tool"], metadata=tool_metadata("call", found["tool"]))
        return
    if "</t" not in message.text:
        yield message
        return
    own = _INSERTED.sub("\n", message.text).strip("\n")
    if own.strip():
        yield replace(message, text=re.sub(r"\n{3,}", "\n\n", own))
    for found in _INSERTED.finditer(message.text):
        name = found["tool"] or ""
        metadata = tool_metadata("call" if name else "reasoning", name)
        text = _MARKUP.sub("", found["call"] or found["thought"] or "").strip("\n ")
        if text:
            yield replace(message, role="tool", text=text, author=name or None, metadata=metadata)


def _message(
    session: str, turn: _TranscriptTurn, verdict: ShapeVerdict, orders: dict[HeaderStyle, Order]
) -> MessageRecord | InputProblem:
    where = f"line {turn.number}"
    lines = turn.lines
    start, end = _text_bounds(lines)
    stamp = turn.opener.time
    if not stamp and not turn.opener.rest and start < end and (stamp := markdown_lines.whole_time(lines[start])):
        start, _ = _text_bounds(lines[:end], start + 1)
    sent: datetime | None = markdown_lines.parse_stamp(stamp, orders, turn.day) if stamp else None
    text = "\n".join(lines[start:end])
    if not text.strip():
        return InputProblem(where, f"{turn.opener.name} says nothing; skipped", harmless=True)
    name = turn.opener.name
    side = verdict.names[name]
    tools = [{"kind": _TOOL_KINDS.get(name.casefold().split()[-1], "reasoning")}] if side == "tool" else None
    author = name if side is None or words.side_of(name) is None else None
    metadata = metadata_of(hidden=side == "system", tools=tools)
    return MessageRecord(session, side or "user", text, author=author, sent_at=sent, metadata=metadata, where=where)


def _text_bounds(lines: list[str], start: int = 0) -> tuple[int, int]:
    """Where a turn's text begins and ends: without blank lines around it or a rule at its end."""
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
    """The conversation's title, and the rest of the text before the first turn."""
    if any(map(_SESSION.fullmatch, preamble)):
        # Its heading is a time.
        preamble = [line for line in preamble if not _COMMENT.fullmatch(line) and read_time(line.lstrip("# ")) is None]
    for n, line in enumerate(preamble):
        if len(line) <= _MAX_TITLE_CHARACTERS and (found := _TITLE.fullmatch(line.strip())):
            rest = preamble[:n] + preamble[n + 1 :]
            break
    else:
        found, rest = None, preamble
    start, end = _text_bounds(rest)
    text = "\n".join(rest[start:end])
    title = found["title"].strip("\"'*_ ") if found else None
    return title or None, "" if _RULE.fullmatch(text.replace("\n", "")) else text


def _conversation_time(preamble: list[str], name: str) -> datetime | None:
    """The time that the text above the first turn gives for the conversation, else the day in the file's name."""
    for line in preamble:
        if (found := _SESSION.fullmatch(line) or _CREATED.fullmatch(line.strip())) is None:
            continue
        stamp = found["time"].strip("*_ ")
        stamp = markdown_lines.with_colons(stamp)
        when = read_time(stamp)
        if when is None and (head := markdown_lines.parse_dated(stamp)) is not None:
            evidence = DateOrderEvidence()
            evidence.add(head, 1)
            when = markdown_lines.parse_stamp(stamp, decide_orders({head.style: evidence})[0], None)
        if when is None and (day := markdown_lines.day_of(stamp)) is not None:
            when = datetime.combine(day, time())
        if when is not None:
            return when
    day = markdown_lines.day_in(name)
    return datetime.combine(day, time()) if day is not None else None


def _session_id(first: list[_TranscriptTurn], preamble: list[str]) -> str:
    """The conversation's own id if the preamble links to it, else a hash of its first turns."""
    for line in preamble:
        if found := _LINK.search(line) or _SESSION.fullmatch(line):
            return f"markdown:{found['id']}"
    parts: list[str] = []
    for turn in first:
        start, end = _text_bounds(turn.lines)
        parts += [turn.opener.name, turn.opener.time, str(turn.day or ""), *turn.lines[start:end]]
    return "markdown:" + hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:24]
