"""Aider's history: Markdown in which "####" marks the person's lines and ">" the tool's own.

Both end in the two spaces that break a line in Markdown, which distinguishes them from the headings and quotations of
an answer. A history whose line ends were cleaned up is read without that distinction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, Literal

from appliance.formats.markdown_lines import FencedCode
from appliance.formats.timestamps import read_time
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

_START = re.compile(r"# aider chat started at (?P<time>\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2}(?::\d{2})?)?)\s*")
_EDITED = re.compile(r"> Applied edit to (?P<file>\S.*?)\s*")

_Kind = Literal["user", "assistant", "system"]


@dataclass(slots=True)
class AiderDialect:
    """How a history is written: the ``starts`` of sessions, the lines of ``prompts``, and whether marked lines end in a
    line break."""

    starts: int = 0
    prompts: int = 0
    user_lines_broken: bool = False
    system_lines_broken: bool = False

    def observe(self, line: str) -> None:
        if line.startswith("#"):
            self.starts += _START.fullmatch(line) is not None
            self.prompts += line.startswith("#### ")
            self.user_lines_broken |= line.startswith("#### ") and line.endswith("  ")
        elif line.startswith("> "):
            self.system_lines_broken |= line.endswith("  ")

    def kind_of(self, line: str) -> _Kind:
        """The author of a line outside of code."""
        if line.startswith("#### ") and (line.endswith("  ") or not self.user_lines_broken):
            return "user"
        if line.startswith("> ") and (line.endswith("  ") or not self.system_lines_broken):
            return "system"
        return "assistant"


@dataclass(slots=True)
class _LineRun:
    number: int
    kind: _Kind
    lines: list[str]


def parse(lines: Iterator[tuple[int, str]], dialect: AiderDialect) -> Iterator[Record]:
    """The history's sessions, each from its start to the next."""
    started: str | None = None
    pending: list[_LineRun] = []
    session: str | None = None
    for run in _runs(lines, dialect):
        if run.kind == "system" and (start := _START.fullmatch(run.lines[0])):
            started, session, pending = start["time"], None, []
            continue
        pending.append(run)
        if session is None:
            # Two projects may begin in one second: the first question is part of a session's id.
            if run.kind != "user":
                continue
            key = "\n".join((started or "", *run.lines)).encode("utf-8", "replace")
            session = "aider:" + hashlib.sha256(key).hexdigest()[:24]
            yield SessionRecord(session, _user_text(run.lines).partition("\n")[0], read_time(started))
        for pending_run in pending:
            yield from _message(session, pending_run)
        pending = []


def _runs(lines: Iterator[tuple[int, str]], dialect: AiderDialect) -> Iterator[_LineRun]:
    fences = FencedCode()
    run: _LineRun | None = None
    for number, line in lines:
        if _START.fullmatch(line):
            if run is not None:
                yield run
            yield _LineRun(number, "system", [line])
            fences, run = FencedCode(), None
            continue
        kind: _Kind = "assistant" if fences.is_inside else dialect.kind_of(line)
        fences.feed(number, line)
        if run is not None and (run.kind == kind or not line.strip()):
            run.lines.append(line)
        elif line.strip():
            if run is not None:
                yield run
            run = _LineRun(number, kind, [line])
    if run is not None:
        yield run


def _message(session: str, run: _LineRun) -> Iterator[MessageRecord | InputProblem]:
    where = f"line {run.number}"
    metadata: dict[str, Any] = {}
    if run.kind == "user":
        text = _user_text(run.lines)
    elif run.kind == "system":
        text = "\n".join(line.removeprefix("> ").rstrip(" ") for line in run.lines).strip("\n")
        files = [edit["file"] for line in run.lines if (edit := _EDITED.fullmatch(line))]
        metadata = {"files": files} if files else {}
    else:
        text = "\n".join(run.lines).strip("\n")
    if text.strip():
        yield MessageRecord(session, run.kind, text, metadata=metadata, where=where)


def _user_text(lines: list[str]) -> str:
    return "\n".join(line.removeprefix("#### ").removesuffix("  ") for line in lines).strip("\n")
