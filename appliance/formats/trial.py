"""Detection by reading: a document without the marks of any format belongs to the parser that reads all of it.

The marks by which ``matches`` knows a format are optional in many files. A parser that finds every sentence at the
beginning of a document, with a speaker for each message and without a problem, can read the document.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from appliance.formats import json_stream, markup, unknown_text
from appliance.formats.base import Document, DocumentHead, Parser
from appliance.formats.json_fields import as_json
from appliance.formats.salvage import is_whole
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord

_JSON = re.compile(r"\{|\[\s*[{\[]")
# Neither JSON nor pages.
_LINE_FORMATS = frozenset({"whatsapp", "irc", "markdown", "mail", "imessage", "kakaotalk", "line"})
_MAX_RECORDS = 20_000
# So much of the sentences must be found in the messages. Titles and captions of a page are none.
_MIN_JSON_COVERAGE = 0.9
_MIN_HTML_COVERAGE = 0.5
_MIN_PAGE_MESSAGES = 3
_SPEAKER_KEYS = ("role", "sender", "from", "speaker", "type", "author", "kind")
_SPEAKERS = frozenset(
    "user human person prompter assistant model gpt ai bot gemini chatgpt claude request response".split()
)
_PERSON_KEYS = frozenset(
    "role sender from from_id actor author user speaker creator sender_name sendername iscreatedbyuser username handle"
    " fragments".split()
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a parser made of the beginning of a document; better ones compare greater."""

    coverage: float
    is_named: bool
    timed: float
    messages: int
    confidence: float

    @property
    def rank(self) -> tuple[float, bool, float, int, float]:
        return round(self.coverage, 2), self.is_named, round(self.timed, 2), self.messages, self.confidence


def best_reading(head: DocumentHead, parsers: Mapping[str, Parser], named: Collection[str] = ()) -> list[str]:
    """The names of the parsers that read the beginning of a document best, and equally well; empty if none reads it.

    Args:
        parsers: The parsers by format.
        named: The formats whose files have names like the document's: their messages need no speakers.
    """
    text = head.text.lstrip("\ufeff \t\r\n")
    is_page = text.startswith("<")
    if head.tables or not (is_page or _JSON.match(text)):
        return []
    if is_page:
        sentences = [markup.text_of(head.text)]
    else:
        values = list(_values(head))
        if not named and not any(map(_has_person, values)):
            return []
        sentences = [text for text in unknown_text.strings_of(values) if len(text.split()) > 1]
    data = head.text.encode("utf-8", "replace")
    if not is_page and head.truncated:
        # What is whole of the beginning, so that no parser has to search for the end of a record that is cut off.
        lines = [as_json(values)] if text.startswith("[") else map(as_json, values)
        data = "\n".join(lines).encode("utf-8", "replace")
    found: dict[str, Reading] = {}
    for name, parser in parsers.items():
        if name in _LINE_FORMATS:
            continue
        document = Document(head.name, len(data), lambda: io.BytesIO(data))
        if reading := _reading(parser, document, head, sentences, is_page, name in named):
            found[name] = reading
    best = max((reading.rank for reading in found.values()), default=None)
    return [name for name, reading in found.items() if reading.rank == best]


def _reading(
    parser: Parser, document: Document, head: DocumentHead, sentences: list[str], is_page: bool, is_named: bool
) -> Reading | None:
    """What the parser makes of a document; None if it does not read all of it."""
    messages: list[MessageRecord] = []
    problems = 0
    for record in islice(parser.parse(document), _MAX_RECORDS):
        if isinstance(record, InputProblem):
            if unknown_text.NOTE in record.message:
                return None
            problems += not record.harmless
            # The end of the beginning is cut off.
            if problems > (1 if head.truncated else 0):
                return None
        elif isinstance(record, MessageRecord):
            messages.append(record)
    said = [m for m in messages if m.role in ("user", "assistant") and not m.metadata.get("hidden")]
    has_assistant = any(m.role == "assistant" for m in said)
    # A person speaks: a parser may take everything for an assistant's that no key says to be a person's.
    if not any(m.role == "user" for m in said) or not (is_named or all(m.author or has_assistant for m in said)):
        return None
    if is_page:
        total = sum(len(text.split()) for text in sentences)
        coverage = sum(len(m.text.split()) for m in said) / max(1, total)
        # The comments on a page have the same shape, but their authors rarely come back.
        is_talk = len(said) >= _MIN_PAGE_MESSAGES and len({m.author for m in said}) < len(said)
        if coverage < _MIN_HTML_COVERAGE or not is_talk or not all(m.sent_at for m in said):
            return None
    else:
        coverage = _coverage(sentences, messages)
        if coverage < _MIN_JSON_COVERAGE:
            return None
    timed = sum(m.sent_at is not None for m in said) / len(said)
    return Reading(coverage, is_named, timed, len(said), parser.matches(head))


def _coverage(sentences: list[str], messages: list[MessageRecord]) -> float:
    """How much of the sentences, by their characters, stands in the messages."""
    texts = "\n".join(part for m in messages for part in (m.text, m.author or "", str(dict(m.metadata))))
    stored = "".join(texts.split())
    total = found = 0
    for sentence in sentences:
        words = "".join((markup.text_of(sentence) if "<" in sentence else sentence).split())
        total += len(words)
        found += len(words) if words in stored else 0
    return found / total if total else 1.0


def turn_count(head: DocumentHead) -> int:
    """The number of whole objects at the beginning of a document that name a person or an assistant as speaker."""
    return sum(1 for value in _values(head) for _ in _turns(value))


def _values(head: DocumentHead) -> Iterator[Any]:
    """The JSON values at the beginning of a document; all of a log's, of which a preview has the first ones."""
    first, *rest = head.text.lstrip("\ufeff \t\r\n").split("\n")
    if len(rest) > 1 and json_stream.split_values(first)[0]:
        for line in (first, *rest):
            yield from json_stream.split_values(line)[0]
    else:
        yield from json_stream.preview(head.text)


def _has_person(value: Any) -> bool:
    return any(_PERSON_KEYS & {key.lower() for key in item} for item in _objects(value))


def _turns(value: Any) -> Iterator[dict[str, Any]]:
    # A record that is cut off is still being written, or has been reported.
    for item in _objects(value, stops=_is_turn):
        if _is_turn(item) and is_whole(item):
            yield item


def _is_turn(item: dict[str, Any]) -> bool:
    for key in _SPEAKER_KEYS:
        speaker = item.get(key)
        if isinstance(speaker, dict):
            speaker = speaker.get("role")
        if isinstance(speaker, str) and speaker.strip().lower() in _SPEAKERS:
            return True
    return False


def _objects(value: Any, stops: Any = None) -> Iterator[dict[str, Any]]:
    """The objects of a value; those within an object that ``stops`` accepts are left out."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        inside: Iterable[Any] = ()
        if isinstance(item, dict):
            yield item
            inside = () if stops and stops(item) else item.values()
        elif isinstance(item, list):
            inside = item
        stack.extend(inner for inner in inside if isinstance(inner, dict | list))
