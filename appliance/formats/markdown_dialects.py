"""Saved chats in Markdown or text whose turns are marked without a speaker's name.

Perplexity's pages have a heading for each question, pages of the extension AI Chat Exporter a numbered heading and the
prompt as a quotation, notes of Obsidian a callout for each message, and Claude Code's saved screen a sign before each
prompt, answer and result.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, Literal

from appliance.formats.json_fields import tool_metadata
from appliance.formats.markdown_lines import with_colons
from appliance.formats.markdown_words import side_of
from appliance.formats.timestamps import read_time
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

Dialect = Literal["perplexity", "numbered", "callouts", "screen"]

_HEAD_LINES = 60
_LOGO = re.compile(r'<img src="https://r2cdn\.perplexity\.ai/[^"]*"')
_HEADING = re.compile(r"# (?P<text>\S.*)")
_RULE = re.compile(r"-{3,}\s*")
_CHAT_NUMBER = re.compile(r"#{2,3} chat-(?P<number>\d+)\s*")
_BACK_LINK = re.compile(r"#{1,6} \[top\]\(#[\w-]*\)\s*|_{3,}\s*")
_FIELD = re.compile(r"(?P<key>title|aliases|conversation_id|create_time|author|date|url|source):\s*(?P<value>\S.*)")
_PROMPT, _ANSWER, _RESULT = (
    re.compile(r"[>\u276f] (?P<text>\S.*)"),
    re.compile(r"[\u23fa\u25cf] (?P<text>\S.*)"),
    "\u23bf",
)
_CALLOUT = re.compile(
    r">\s*\[!(?P<kind>[\w-]+)\][+-]?\s*(?:\*\*)?(?P<name>[^*\n]*?)(?:\*\*)?"
    r"(?:\s+-\s+(?P<time>\d{4}-\d\d-\d\d.*?))?\s*"
)
_DAY_AND_CLOCK = re.compile(r"#{1,6} \S* ?(\d{4}-\d\d-\d\d) \| (\d\d:\d\d)\s*")
_CALL = re.compile(r"(?P<name>[A-Z][A-Za-z]+)\(.*")


@dataclass(slots=True)
class _Turn:
    number: int
    role: Role
    lines: list[str]
    kind: str = ""
    time: str = ""


@dataclass(slots=True)
class _Page:
    """What stands above the turns."""

    fields: dict[str, str] = field(default_factory=dict)


def dialect_of(lines: list[str]) -> Dialect | None:
    """The dialect that the first lines of a file show."""
    lines = lines[:_HEAD_LINES]
    filled = [line for line in lines if line.strip()]
    if filled and _LOGO.match(filled[0]) and any(map(_HEADING.fullmatch, filled[1:])):
        return "perplexity"
    for n, line in enumerate(filled[:-1]):
        if _CHAT_NUMBER.fullmatch(line) and filled[n + 1].startswith("> "):
            return "numbered"
    sides = {_callout_role(found) for line in filled if (found := _CALLOUT.fullmatch(line))}
    if {"user", "assistant"} <= sides:
        return "callouts"
    has_answer = any(map(_ANSWER.fullmatch, filled))
    if has_answer and any(map(_PROMPT.fullmatch, filled)):
        return "screen"
    return None


def parse(name: str, lines: Iterator[tuple[int, str]], dialect: Dialect) -> Iterator[Record]:
    """The one conversation of a file."""
    page = _Page()
    turns = _READERS[dialect](lines, page)
    session: str | None = None
    first = next(turns, None)
    if first is None:
        return
    page.fields.setdefault("title", page.fields.get("aliases", ""))
    page.fields.setdefault("date", page.fields.get("create_time", ""))
    title = page.fields.get("title", "").strip("\"'") or (first.lines[0].strip() if dialect == "perplexity" else "")
    file_name = name.replace("\\", "/").rpartition("/")[2]
    key = (
        page.fields.get("conversation_id")
        or page.fields.get("url")
        or page.fields.get("source")
        or "\n".join(first.lines)
    )
    session = f"markdown:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:24]}"
    yield SessionRecord(
        session,
        title or file_name.rpartition(".")[0] or None,
        read_time(with_colons(page.fields.get("date", "").strip("\"'"))),
    )
    if dialect == "perplexity":
        note = "a question of several paragraphs can't be told from its answer; all but the first stand with the answer"
        yield InputProblem("", note, harmless=True)
    yield from _message(session, first)
    for turn in turns:
        yield from _message(session, turn)


def _message(session: str, turn: _Turn) -> Iterator[MessageRecord]:
    lines = turn.lines
    sent = read_time(turn.time) if turn.time else None
    if lines and (stamp := _DAY_AND_CLOCK.fullmatch(lines[0])):
        sent, lines = read_time(f"{stamp[1]} {stamp[2]}"), lines[1:]
    text = "\n".join(lines).strip("\n").rstrip()
    metadata: dict[str, Any] = tool_metadata(turn.kind) if turn.kind else {}
    if turn.role == "system":
        metadata = {"hidden": True}
    if text.strip():
        yield MessageRecord(session, turn.role, text, sent_at=sent, metadata=metadata, where=f"line {turn.number}")


def _perplexity(lines: Iterator[tuple[int, str]], page: _Page) -> Iterator[_Turn]:
    """Questions are headings: the first one, and those below a rule. The sources follow the answer."""
    answer: _Turn | None = None
    is_open = True
    for number, line in lines:
        heading = _HEADING.fullmatch(line) if is_open else None
        if heading:
            if answer is not None:
                while answer.lines and (not answer.lines[-1].strip() or _RULE.fullmatch(answer.lines[-1])):
                    answer.lines.pop()
                yield answer
            yield _Turn(number, "user", [heading["text"].strip()])
            answer, is_open = _Turn(number + 1, "assistant", []), False
        elif answer is not None:
            answer.lines.append(line)
            is_open = bool(_RULE.fullmatch(line)) or (is_open and not line.strip())
    if answer is not None:
        yield answer


def _numbered(lines: Iterator[tuple[int, str]], page: _Page) -> Iterator[_Turn]:
    """A heading "chat-1", the prompt as a quotation, the answer, and a link to the top."""
    prompt: _Turn | None = None
    answer: _Turn | None = None
    for number, line in lines:
        if _CHAT_NUMBER.fullmatch(line):
            yield from (turn for turn in (prompt, answer) if turn is not None)
            prompt, answer = _Turn(number, "user", []), None
        elif prompt is None:
            if found := _FIELD.fullmatch(line):
                page.fields.setdefault(found["key"], found["value"])
        elif answer is None and (line.startswith(">") or not line.strip()):
            if line.startswith(">"):
                prompt.lines.append(line.removeprefix(">").removeprefix(" "))
            elif prompt.lines:
                answer = _Turn(number, "assistant", [])
        else:
            answer = answer or _Turn(number, "assistant", [])
            if not _BACK_LINK.fullmatch(line):
                answer.lines.append(line)
    yield from (turn for turn in (prompt, answer) if turn is not None)


def _callout_role(found: re.Match[str]) -> Role | None:
    kind = found["kind"].rpartition("_")[2]
    return side_of(found["name"] or "") or side_of(kind)


def _callouts(lines: Iterator[tuple[int, str]], page: _Page) -> Iterator[_Turn]:
    """Obsidian's callouts, one a message, with the speaker and the time in the first line."""
    turn: _Turn | None = None
    for number, line in lines:
        found = _CALLOUT.fullmatch(line)
        if found is not None and (role := _callout_role(found)) is not None:
            if turn is not None:
                yield turn
            turn = _Turn(number, role, [], time=(found["time"] or "").replace(" at ", " "))
        elif turn is not None and (line.startswith(">") or not line.strip()):
            turn.lines.append(line.removeprefix(">").removeprefix(" "))
        elif turn is not None:
            turn.lines.append(line)
        elif found := _FIELD.fullmatch(line):
            page.fields.setdefault(found["key"], found["value"])
    if turn is not None:
        yield turn


def _screen(lines: Iterator[tuple[int, str]], page: _Page) -> Iterator[_Turn]:
    """Prompts behind ">", answers and calls behind a dot, results behind an angle; what goes on is indented."""
    turn: _Turn | None = None
    for number, line in lines:
        new: _Turn | None = None
        if found := _PROMPT.fullmatch(line):
            new = _Turn(number, "user", [found["text"]])
        elif found := _ANSWER.fullmatch(line):
            is_call = _CALL.fullmatch(found["text"]) is not None
            new = _Turn(number, "tool" if is_call else "assistant", [found["text"]], "call" if is_call else "")
        elif line.lstrip().startswith(_RESULT):
            new = _Turn(number, "tool", [line.lstrip().removeprefix(_RESULT).strip()], "result")
        elif turn is None and line.strip():
            new = _Turn(number, "system", [line])
        elif turn is not None:
            is_screen = turn.role == "system"
            turn.lines.append(line if is_screen or not line.startswith("  ") else line[2:])
        if new is not None:
            if turn is not None:
                yield turn
            turn = new
    if turn is not None:
        yield turn


_READERS: dict[Dialect, Callable[[Iterator[tuple[int, str]], _Page], Iterator[_Turn]]] = {
    "perplexity": _perplexity,
    "numbered": _numbered,
    "callouts": _callouts,
    "screen": _screen,
}
