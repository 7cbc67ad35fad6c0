"""The formats, and which one a document is.

A format is a module beside this one with the two functions of ``base.Parser``, and one line in
``FORMATS``. Content decides; a name only breaks ties.
"""

from __future__ import annotations

import codecs
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import cast

from appliance.errors import InputError, UsageError
from appliance.ingest.parse import sqlite
from appliance.ingest.parse import text as texts
from appliance.ingest.parse.base import HEAD_BYTES, Document, Head, Parser
from appliance.types import Problem, Record


@dataclass(frozen=True, slots=True)
class Format:
    """Where a format's parser is, and what its files are called where content alone does not decide."""

    module: str
    name: str = r"(?!)"


_HERE = "appliance.ingest.parse."

FORMATS: dict[str, Format] = {
    "native": Format(_HERE + "native", r"\.jsonl$"),
    "chatgpt": Format(_HERE + "chatgpt", r"(?:chatgpt|openai)|(?:^|/)conversations-\d+\.json$"),
    "claude": Format(_HERE + "claude", r"claude|anthropic|(?:^|/)data-[\d-]+.*batch-\d+"),
    "whatsapp": Format(_HERE + "whatsapp", r"whatsapp|(?:^|/)_chat\.txt$"),
    "open_webui": Format(_HERE + "open_webui", r"webui"),
    "librechat": Format(_HERE + "librechat", r"librechat|chatbot"),
    "sharegpt": Format(_HERE + "sharegpt", r"sharegpt"),
    "openai_jsonl": Format(_HERE + "openai_jsonl", r"openai"),
    "google_chat": Format(_HERE + "google_chat", r"google chat"),
    "teams": Format(_HERE + "teams", r"teams"),
    "claude_code": Format(_HERE + "claude_code", r"(?:^|/)\.claude/|(?:^|/)agent-[^/]+\.jsonl$"),
    "codex": Format(_HERE + "codex", r"(?:^|/)rollout-[^/]+\.jsonl$"),
    "gemini_cli": Format(_HERE + "gemini_cli", r"(?:^|/)\.gemini/|(?:^|/)session-[^/]+\.jsonl?$"),
    "agents": Format(_HERE + "agents", r"antigravity|copilot|cursor|droid|factory|hermes|kimi|openclaw|qwen"),
    "gemini": Format(_HERE + "gemini", r"gemini|bard|(?:^|/)my ?activity\.(?:json|html)$"),
    "aistudio": Format(_HERE + "aistudio", r"ai[ _-]?studio"),
    "grok": Format(_HERE + "grok", r"grok|(?:^|/)chat_history\.jsonl$"),
    "deepseek": Format(_HERE + "deepseek", r"deepseek"),
    "lmstudio": Format(_HERE + "lmstudio", r"lm[ _-]?studio|\.conversation\.json$"),
    "slack": Format(_HERE + "slack", r"slack|(?:^|/)\d{4}-\d\d-\d\d\.json$"),
    "telegram": Format(_HERE + "telegram", r"telegram|ChatExport|(?:^|/)(?:result\.json|messages\d*\.html)$"),
    "discord": Format(_HERE + "discord", r"discord|\[\d{15,}\](?: \[part \d+\])?\.json$"),
    "meta": Format(_HERE + "meta", r"facebook|instagram|messenger|(?:^|/)message_\d+\.(?:json|html)$"),
    "markdown": Format(_HERE + "markdown", r"\.(?:md|markdown)$"),
    "imessage": Format(_HERE + "imessage", r"(?:^|/)(?:chat|sms)\.db$"),
    "signal": Format(_HERE + "signal", r"signal|(?:^|/)(?:data\.json|chat\.md)$"),
    "irc": Format(_HERE + "irc", r"(?:^|/)[#&]|irc"),
    "mail": Format(_HERE + "mail", r"\.(?:mbox|emlx?)$|(?:^|/)mbox$"),
}

ENTRY_POINTS = "memory_appliance.formats"
"""Other packages add formats under this group of entry points: a name, and the module of its parser."""

# Below this a parser only finds something of its format in a document that is probably another's.
_SURE_ENOUGH = 0.5
# Two parsers closer together than this are equally sure.
_TIE = 0.05
# A file with more damaged places than this is summed up, not listed.
_PROBLEMS_LISTED = 1000

_EXPORT_NAME = re.compile(
    r"(?:^|/)(?:conversations(?:-\d+)?\.json|_chat\.txt|[^/]*whatsapp[^/]*\.txt|[^/]+\.jsonl)$", re.I
)
_NOTHING = re.compile(r"[\s\ufeff\x00]*(?:\[[\s,]*\]|\{\s*\}|null)?[\s\x00]*")


@dataclass(frozen=True, slots=True)
class _Listed:
    """A parser whose problems are listed up to a limit, after the ``notes`` of its detection."""

    parser: Parser
    notes: tuple[Problem, ...] = ()

    def matches(self, head: Head) -> float:
        return self.parser.matches(head)

    def parse(self, document: Document) -> Iterator[Record]:
        yield from self.notes
        seen = {True: 0, False: 0}
        for record in self.parser.parse(document):
            if isinstance(record, Problem):
                seen[record.harmless] += 1
                if seen[record.harmless] > _PROBLEMS_LISTED:
                    continue
            yield record
        for harmless, count in seen.items():
            if count > _PROBLEMS_LISTED:
                yield Problem("", f"{count - _PROBLEMS_LISTED} more like these are not listed", harmless)


class _Nothing:
    """The parser of a document without content."""

    def matches(self, head: Head) -> float:
        return 0.0

    def parse(self, document: Document) -> Iterator[Record]:
        yield Problem("", "the file holds no messages", harmless=True)


@cache
def formats() -> dict[str, Format]:
    """The formats by their names: this package's, and those that others add."""
    added = {
        point.name: Format(point.value)
        for point in entry_points(group=ENTRY_POINTS)
        if point.name not in FORMATS
    }
    return FORMATS | added


def parser_of(format_name: str) -> Parser:
    """The parser of a format by its name.

    Raises UsageError for a name that nobody has added."""
    known = formats()
    if format_name not in known:
        raise UsageError(f"unknown format {format_name!r}", hint=f"known formats: {', '.join(known)}")
    return cast(Parser, importlib.import_module(known[format_name].module))


def detect(document: Document, forced: str | None = None) -> tuple[str | None, Parser]:
    """A document's format by its first bytes, and its parser; ``forced`` is believed without looking.

    The format is None for a document that holds nothing; its parser gives a note and no messages.
    Raises InputError if the document can't be read, is an export of no bytes, fits no format, or fits
    several alike; the error says what was looked at.
    """
    head = read_head(document)
    if not head.text and _EXPORT_NAME.search(document.name):
        raise InputError(
            "the file is empty (0 bytes)",
            where=document.name,
            hint="the export or a copy of it was not finished: export or copy it again",
        )
    if not head.truncated and _NOTHING.fullmatch(head.text):
        return forced, _Nothing()
    if forced is not None:
        return forced, _Listed(parser_of(forced))
    weighed = sorted(((parser_of(name).matches(head), name) for name in formats()), reverse=True)
    best, chosen = weighed[0]
    if best < _SURE_ENOUGH:
        raise InputError(
            f"not recognised: no chat export that is known begins with {_beginning(head.text)}",
            where=document.name,
            hint=f"if it is one of them, say which with --format {'|'.join(formats())}",
        )
    equals = [name for score, name in weighed if best - score < _TIE]
    if len(equals) == 1:
        return chosen, _Listed(parser_of(chosen))
    fits = " and ".join(f"{name} ({score:.2f})" for score, name in weighed if name in equals)
    named = [name for name in equals if re.search(formats()[name].name, document.name, re.I)]
    if len(named) != 1:
        raise InputError(
            f"looks like {fits} alike, and the name doesn't tell",
            where=document.name,
            hint="say which it is with --format",
        )
    note = Problem("", f"looks like {fits}; taken as {named[0]} by its name", harmless=True)
    return named[0], _Listed(parser_of(named[0]), (note,))


def read_head(document: Document) -> Head:
    """The beginning of a document, decoded as far as that goes.

    Raises InputError if it can't be read."""
    data = b""
    try:
        with document.open() as stream:
            while len(data) <= HEAD_BYTES and (more := texts.read_some(stream, HEAD_BYTES + 1 - len(data))):
                data += more
    except texts.READ_ERRORS as error:
        # With something to go by, it is the parser that meets the error, and keeps what came before.
        if not data:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"can't be read: {reason}", where=document.name) from error
    if data.startswith(sqlite.MAGIC):
        return Head(document.name, "", True, sqlite.tables(document))
    truncated = len(data) > HEAD_BYTES
    data = data[:HEAD_BYTES]
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return Head(document.name, data[2:].decode(encoding, "replace"), truncated)
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    return Head(document.name, text, truncated)


def _beginning(text: str) -> str:
    shown = text.lstrip()[:40]
    return repr(shown) if shown.strip("\ufffd\x00") else "bytes that are not text"
