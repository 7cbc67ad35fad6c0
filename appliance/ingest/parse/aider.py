"""Aider's history: Markdown in which "####" is what the person asked and ">" is what the tool said itself.

Both end in the two spaces that break a line in Markdown, which tells them from the headings and quotations of
an answer; a history whose line ends were cleaned up is read without that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from appliance.ingest.parse.markdown_lines import Fences
from appliance.ingest.parse.when import read_time
from appliance.types import MessageRecord, Problem, Record, SessionRecord

_START = re.compile(r"# aider chat started at (?P<time>\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2}(?::\d{2})?)?)\s*")
_EDITED = re.compile(r"> Applied edit to (?P<file>\S.*?)\s*")

_Kind = Literal["user", "assistant", "system"]


@dataclass(slots=True)
class Marks:
    """How a history is written: ``starts`` of sessions, and whether asked and told lines are ``broken``."""

    starts: int = 0
    asked_broken: bool = False
    told_broken: bool = False

    def look(self, line: str) -> None:
        if line.startswith("#"):
            self.starts += _START.fullmatch(line) is not None
            self.asked_broken |= line.startswith("#### ") and line.endswith("  ")
        elif line.startswith("> "):
            self.told_broken |= line.endswith("  ")

    def kind_of(self, line: str) -> _Kind:
        """Whose a line outside of code is."""
        if line.startswith("#### ") and (line.endswith("  ") or not self.asked_broken):
            return "user"
        if line.startswith("> ") and (line.endswith("  ") or not self.told_broken):
            return "system"
        return "assistant"


@dataclass(slots=True)
class _Part:
    """Lines of one kind that follow each other."""

    number: int
    kind: _Kind
    lines: list[str]


def parse(lines: Iterator[tuple[int, str]], marks: Marks) -> Iterator[Record]:
    """The history's sessions, each from its start to the next."""
    started: str | None = None
    waiting: list[_Part] = []
    session: str | None = None
    for part in _parts(lines, marks):
        if part.kind == "system" and (found := _START.fullmatch(part.lines[0])):
            started, session, waiting = found["time"], None, []
            continue
        if session is None:
            # Two projects may begin in one second: the first question is part of a session's name.
            waiting.append(part)
            if part.kind != "user":
                continue
            key = "\n".join((started or "", *part.lines)).encode("utf-8", "replace")
            session = "aider:" + hashlib.sha256(key).hexdigest()[:24]
            title = _asked(part.lines).partition("\n")[0]
            yield SessionRecord(session, title, read_time(started))
            for before in waiting:
                yield from _message(session, before)
        else:
            yield from _message(session, part)


def _parts(lines: Iterator[tuple[int, str]], marks: Marks) -> Iterator[_Part]:
    fences = Fences()
    part: _Part | None = None
    for number, line in lines:
        if _START.fullmatch(line):
            fences = Fences()
            if part is not None:
                yield part
            yield _Part(number, "system", [line])
            part = None
            continue
        inside = fences.inside
        kind: _Kind = "assistant" if inside else marks.kind_of(line)
        if kind == "user" and fences.inside:
            kind = "assistant"
        fences.feed(number, line)
        if part is not None and (part.kind == kind or not line.strip()):
            part.lines.append(line)
        elif line.strip():
            if part is not None:
                yield part
            part = _Part(number, kind, [line])
    if part is not None:
        yield part


def _message(session: str, part: _Part) -> Iterator[MessageRecord | Problem]:
    where = f"line {part.number}"
    metadata: dict[str, Any] = {}
    if part.kind == "user":
        text = _asked(part.lines)
    elif part.kind == "system":
        text = "\n".join(line.removeprefix("> ").rstrip(" ") for line in part.lines).strip("\n")
        files = [found["file"] for line in part.lines if (found := _EDITED.fullmatch(line))]
        metadata = {"files": files} if files else {}
    else:
        text = "\n".join(part.lines).strip("\n")
    if text.strip():
        yield MessageRecord(session, part.kind, text, metadata=metadata, where=where)


def _asked(lines: list[str]) -> str:
    return "\n".join(line.removeprefix("#### ").removesuffix("  ") for line in lines).strip("\n")
