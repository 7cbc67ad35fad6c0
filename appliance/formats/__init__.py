"""The formats, and the detection of a document's format.

A format is a module with the two functions of ``base.Parser``, and a line in ``FORMATS``. Content decides; a name only
breaks ties.
"""

from __future__ import annotations

import codecs
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import cast

from appliance.errors import InputError, UsageError
from appliance.formats import sqlite
from appliance.formats import text as texts
from appliance.formats.base import HEAD_BYTES, Document, DocumentHead, Parser
from appliance.types import InputProblem, Record


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """The module of a format's parser, and a pattern for its files' names where content alone does not decide."""

    module: str
    name: str = r"(?!)"


FORMATS: dict[str, FormatSpec] = {
    name: FormatSpec(f"appliance.formats.{name}", pattern)
    for name, pattern in {
        "native": r"\.jsonl$",
        "chatgpt": r"(?:chatgpt|openai)|(?:^|/)conversations-\d+\.json$",
        "claude": r"claude|anthropic|(?:^|/)data-[\d-]+.*batch-\d+",
        "whatsapp": r"whatsapp|(?:^|/)_chat\.txt$",
        "open_webui": r"webui",
        "librechat": r"librechat|chatbot",
        "sharegpt": r"sharegpt",
        "openai_jsonl": r"openai",
        "google_chat": r"google chat",
        "teams": r"teams",
        "claude_code": r"(?:^|/)\.claude/|(?:^|/)agent-[^/]+\.jsonl$",
        "codex": r"(?:^|/)rollout-[^/]+\.jsonl$",
        "gemini_cli": r"(?:^|/)\.gemini/|(?:^|/)session-[^/]+\.jsonl?$",
        "agents": r"antigravity|copilot|cursor|droid|factory|hermes|kimi|openclaw|qwen",
        "gemini": r"gemini|bard|(?:^|/)my ?activity\.(?:json|html)$",
        "aistudio": r"ai[ _-]?studio",
        "grok": r"grok|(?:^|/)chat_history\.jsonl$",
        "deepseek": r"deepseek",
        "lmstudio": r"lm[ _-]?studio|\.conversation\.json$",
        "slack": r"slack|(?:^|/)\d{4}-\d\d-\d\d\.json$",
        "telegram": r"telegram|ChatExport|(?:^|/)(?:result\.json|messages\d*\.html)$",
        "discord": r"discord|\[\d{15,}\](?: \[part \d+\])?\.json$",
        "meta": r"facebook|instagram|messenger|(?:^|/)message_\d+\.(?:json|html)$",
        "markdown": r"\.(?:md|markdown)$",
        "imessage": r"(?:^|/)(?:chat|sms)\.db$",
        "signal": r"signal|(?:^|/)(?:data\.json|chat\.md)$",
        "irc": r"(?:^|/)[#&]|irc",
        "contacts": r"\.vcf$|(?:^|/)contacts[^/]*\.csv$",
        "mail": r"\.(?:mbox|emlx?)$|(?:^|/)mbox$",
    }.items()
}

ENTRY_POINTS = "memory_appliance.formats"
"""The group of entry points under which other packages add formats: a name, and the module of the parser."""

# Below this, the document only shares some features with the parser's format, and probably has another.
_MIN_CONFIDENCE = 0.5
# Parsers whose confidence differs by less are equally sure.
_TIE_MARGIN = 0.05
# More problems (or more notes) of a file than this are counted, not listed.
_MAX_PROBLEMS = 1000

_EXPORT_NAME = re.compile(
    r"(?:^|/)(?:conversations(?:-\d+)?\.json|_chat\.txt|[^/]*whatsapp[^/]*\.txt|[^/]+\.jsonl)$", re.I
)
_EMPTY_DOCUMENT = re.compile(r"[\s\ufeff\x00]*(?:\[[\s,]*\]|\{\s*\}|null)?[\s\x00]*")


@dataclass(frozen=True, slots=True)
class _BoundedProblems:
    """A parser that yields the ``notes`` of its detection first, and problems up to a limit."""

    parser: Parser
    notes: tuple[InputProblem, ...] = ()

    def matches(self, head: DocumentHead) -> float:
        return self.parser.matches(head)

    def parse(self, document: Document) -> Iterator[Record]:
        yield from self.notes
        counts: Counter[bool] = Counter()
        for record in self.parser.parse(document):
            if isinstance(record, InputProblem):
                counts[record.harmless] += 1
                if counts[record.harmless] > _MAX_PROBLEMS:
                    continue
            yield record
        for harmless, count in sorted(counts.items(), reverse=True):
            if count > _MAX_PROBLEMS:
                yield InputProblem("", f"{count - _MAX_PROBLEMS} more like these are not listed", harmless)


class _EmptyParser:
    """The parser of a document without content."""

    def matches(self, head: DocumentHead) -> float:
        return 0.0

    def parse(self, document: Document) -> Iterator[Record]:
        yield InputProblem("", "the file holds no messages", harmless=True)


@cache
def formats() -> dict[str, FormatSpec]:
    """The formats by name: this package's, and those that other packages add."""
    added = {point.name: FormatSpec(point.value) for point in entry_points(group=ENTRY_POINTS)}
    return FORMATS | added | FORMATS


def parser_of(format_name: str) -> Parser:
    """The parser of a format by its name.

    Raises: UsageError for an unknown name."""
    known = formats()
    if format_name not in known:
        raise UsageError(f"There is no format {format_name!r}.", hint=f"Use one of {', '.join(known)}.")
    return cast(Parser, importlib.import_module(known[format_name].module))


def detect(document: Document, forced: str | None = None) -> tuple[str | None, Parser]:
    """The format of a document by its first bytes, and its parser.

    Args:
        forced: a format to use without looking at the content.

    Returns: the name of the format and the parser. A document without content has no format, and a parser that
        yields a note and no messages.

    Raises: InputError if the document can't be read, is an export of no bytes, fits no format, or fits
        several alike; the error says which.
    """
    head = read_head(document)
    if not head.text and _EXPORT_NAME.search(document.name):
        hint = "an export or a copy was not finished: export or copy it again"
        raise InputError("the file is empty (0 bytes)", where=document.name, hint=hint)
    if not head.truncated and _EMPTY_DOCUMENT.fullmatch(head.text):
        return forced, _EmptyParser()
    if forced is not None:
        return forced, _BoundedProblems(parser_of(forced))
    scores = sorted(((parser_of(name).matches(head), name) for name in formats()), reverse=True)
    best, chosen = scores[0]
    if best < _MIN_CONFIDENCE:
        excerpt = head.text.lstrip()[:40]
        beginning = repr(excerpt) if excerpt.strip("\ufffd\x00") else "bytes that are not text"
        reason = f"not recognised: no known chat export begins with {beginning}"
        hint = f"if it is one of them, name its format with --format {'|'.join(formats())}"
        raise InputError(reason, where=document.name, hint=hint)
    ties = [(score, name) for score, name in scores if best - score < _TIE_MARGIN]
    if len(ties) == 1:
        return chosen, _BoundedProblems(parser_of(chosen))
    fits = " and ".join(f"{name} ({score:.2f})" for score, name in ties)
    named = [name for _, name in ties if re.search(formats()[name].name, document.name, re.I)]
    if len(named) != 1:
        reason = f"the content fits {fits} equally, and the name doesn't decide"
        raise InputError(reason, where=document.name, hint="name its format with --format")
    note = InputProblem("", f"the content fits {fits}; read as {named[0]} because of its name", harmless=True)
    return named[0], _BoundedProblems(parser_of(named[0]), (note,))


def read_head(document: Document) -> DocumentHead:
    """The beginning of a document, decoded as far as possible.

    Raises: InputError if the document can't be read."""
    data = b""
    try:
        with document.open() as stream:
            while len(data) <= HEAD_BYTES and (more := texts.read_some(stream, HEAD_BYTES + 1 - len(data))):
                data += more
    except texts.READ_ERRORS as error:
        # If some bytes were read, the parser meets the error again, and keeps what came before it.
        if not data:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"can't be read: {reason}", where=document.name) from error
    if data.startswith(sqlite.MAGIC):
        return DocumentHead(document.name, "", True, sqlite.table_names(document))
    truncated = len(data) > HEAD_BYTES
    data = data[:HEAD_BYTES]
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return DocumentHead(document.name, data[2:].decode(encoding, "replace"), truncated)
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    return DocumentHead(document.name, text, truncated)
