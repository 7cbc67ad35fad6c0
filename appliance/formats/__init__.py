"""The formats, and the detection of a document's format.

A format is a module with the two functions of ``base.Parser``, and a line in ``FORMATS``. Content decides; a name only
breaks ties.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import cast

from appliance.errors import InputError, UsageError
from appliance.formats import sqlite, trial
from appliance.formats import text as texts
from appliance.formats.base import HEAD_BYTES, Document, DocumentHead, LogFollower, Parser
from appliance.formats.unrecognised import UNFINISHED, recognition_error, refuse_export_without_ids
from appliance.types import InputProblem, MessageRecord, Record, StateRecord


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
        "chat_apps": r"sillytavern|nextchat|chatbox|lobechat|typingmind|perplexity|copilot-activity",
        "open_webui": r"webui",
        "librechat": r"librechat|chatbot",
        "sharegpt": r"sharegpt",
        "openai_jsonl": r"openai",
        "google_chat": r"google chat",
        "teams": r"teams",
        "claude_code": r"(?:^|/)\.claude/|(?:^|/)agent-[^/]+\.jsonl$",
        "codex": r"(?:^|/)rollout-[^/]+\.jsonl$",
        "gemini_cli": r"(?:^|/)\.gemini/|(?:^|/)session-[^/]+\.jsonl?$",
        "agents": r"antigravity|cline|copilot|crush|cursor|droid|factory|goose|hermes|kimi|openclaw|opencode|qwen",
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
        "sms": r"(?:^|/)sms[-_]?\d*\.xml$|sms",
        "kakaotalk": r"kakao|카카오톡",
        "line": r"\[LINE\]|(?:^|/)line\b",
        "skype": r"skype",
        "hangouts": r"hangouts",
        "google_voice": r"(?:^|/)Voice/",
        "mattermost": r"mattermost",
        "matrix": r"matrix|element",
        "rocketchat": r"rocket\.?chat",
        "snapchat": r"snapchat|(?:^|/)chat_history\.json$",
        "chat_table": r"\.csv$",
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

# Names that only exports have: such a file is never empty, and one that no parser knows is damaged.
_EXPORT_NAME = re.compile(
    r"(?:^|/)(?:conversations(?:-\d+)?\.json|_chat\.txt|[^/]*whatsapp[^/]*\.txt|rollout-[^/]+\.jsonl|chat\.db|sms\.db"
    r"|webui\.db|my ?activity\.(?:json|html)|prod-grok-backend\.json|message_\d+\.(?:json|html)"
    r"|\d{13}\.conversation\.json)$",
    re.I,
)
# Other programs write such files too: they are exports only if they are damaged.
_USUAL_NAME = re.compile(
    r"(?:^|/)(?:[^/]+\.jsonl|result\.json|messages\d*\.(?:json|html)|\d{4}-\d\d-\d\d\.json|session-[^/]+\.json"
    r"|[^/]+\.conversation\.json|data\.json|[^/]+\.zip)$",
    re.I,
)
_NO_CONTENT = re.compile(r"[\s\ufeff\x00]*")
_EMPTY_DOCUMENT = re.compile(
    r"\s*(?:\[[\s,]*\]|\{\s*(?:\"(?:conversations|messages|chats|items)\"\s*:\s*\[\s*\]\s*)?\}|null)?\s*"
)


# The note of a parser on a second form of a chat, or on a part of one.
_READ_ELSEWHERE = re.compile(r"\bthe same \w+ is (?:read|imported) from |^read with ")


@dataclass(frozen=True, slots=True)
class _BoundedProblems:
    """A parser that yields the ``notes`` of its detection first, and problems up to a limit. Where it reads nothing
    although the document has turns, it says so."""

    parser: Parser
    notes: tuple[InputProblem, ...] = ()

    def matches(self, head: DocumentHead) -> float:
        return self.parser.matches(head)

    def parse(self, document: Document) -> Iterator[Record]:
        yield from self.notes
        counts: Counter[bool] = Counter()
        is_empty = True
        is_copy = False
        for record in self.parser.parse(document):
            is_empty = is_empty and not isinstance(record, MessageRecord | StateRecord)
            if isinstance(record, InputProblem):
                is_copy = is_copy or _READ_ELSEWHERE.search(record.message) is not None
                counts[record.harmless] += 1
                if counts[record.harmless] > _MAX_PROBLEMS:
                    continue
            yield record
        for harmless, count in sorted(counts.items(), reverse=True):
            if count > _MAX_PROBLEMS:
                yield InputProblem("", f"{count - _MAX_PROBLEMS} more like these are not listed", harmless)
        if is_empty and not is_copy and not counts[False] and (turns := trial.turn_count(read_head(document))):
            records = "1 record" if turns == 1 else f"{turns} records"
            yield InputProblem("", f"no text was found in {records} of a person or an assistant; nothing was imported")


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


def follower_of(format_name: str | None, document: Document) -> LogFollower | None:
    """What reads a log of a format in pieces; None if its parser reads it whole only."""
    make = getattr(parser_of(format_name), "Follower", None) if format_name else None
    return None if make is None else cast(LogFollower, make(document))


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
    has_export_name = _EXPORT_NAME.search(document.name) is not None
    has_usual_name = has_export_name or _USUAL_NAME.search(document.name) is not None
    if not head.tables and _NO_CONTENT.fullmatch(head.text) and has_usual_name and (not head.text or "\0" in head.text):
        reason = "the file holds nothing but zeros" if head.text else "the file is empty (0 bytes)"
        raise InputError(reason, where=document.name, hint=UNFINISHED)
    if not head.truncated and _EMPTY_DOCUMENT.fullmatch(head.text.strip("\ufeff\0")):
        return forced, _EmptyParser()
    if forced is not None:
        return forced, _BoundedProblems(parser_of(forced), document.notes)
    refuse_export_without_ids(document, head)
    scores = sorted(((parser_of(name).matches(head), name) for name in formats()), reverse=True)
    best, chosen = scores[0]
    if best < _MIN_CONFIDENCE:
        hinted = [name for name, spec in formats().items() if re.search(spec.name, document.name, re.I)]
        if len(readers := trial.best_reading(head, {name: parser_of(name) for name in formats()}, hinted)) == 1:
            note = InputProblem("", f"read as {readers[0]}, whose parser reads all of its beginning", harmless=True)
            return readers[0], _BoundedProblems(parser_of(readers[0]), (*document.notes, note))
        raise recognition_error(document, head, has_export_name=has_export_name, has_usual_name=has_usual_name)
    ties = [(score, name) for score, name in scores if best - score < _TIE_MARGIN]
    if len(ties) == 1:
        return chosen, _BoundedProblems(parser_of(chosen), document.notes)
    fits = " and ".join(f"{name} ({score:.2f})" for score, name in ties)
    named = [name for _, name in ties if re.search(formats()[name].name, document.name, re.I)]
    if len(named) != 1:
        reason = f"the content fits {fits} equally, and the name doesn't decide"
        raise InputError(reason, where=document.name, hint="name its format with --format")
    note = InputProblem("", f"the content fits {fits}; read as {named[0]} because of its name", harmless=True)
    return named[0], _BoundedProblems(parser_of(named[0]), (*document.notes, note))


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
        try:
            return DocumentHead(document.name, "", True, sqlite.table_names(document))
        except sqlite.DAMAGED as error:
            raise InputError(f"the database is damaged: {error}", where=document.name, hint=UNFINISHED) from error
    truncated = len(data) > HEAD_BYTES
    return DocumentHead(document.name, texts.text_of_start(data[:HEAD_BYTES]), truncated)
