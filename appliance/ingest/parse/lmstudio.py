"""LM Studio: ``<epoch ms>.conversation.json``, one conversation a file.

A message has versions, of which one is shown; the others are branches. An answer is made of steps:
reasoning, words, calls of tools and their results.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from appliance.ingest.parse import jsonstream, turns
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.when import from_epoch
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
_FIRST_KEYS = (("name", "pinned"), ("name", "createdAt"), ("title", "createdAt"))
_NAME = re.compile(r"(?:^|/)(?:(?P<born>\d{13})|[^/]*)\.conversation\.json$", re.IGNORECASE)
_ENDING = r"\.conversation\.json|\.json"
_OWN_KEYS = frozenset(
    {"tokenCount", "lastUsedModel", "usePerChatPredictionConfig", "perChatPredictionConfig"}
)
_SYSTEM_PROMPT = "llm.prediction.systemPrompt"
# Steps are named by the moment they began and a random number.
_STEP_MOMENT = re.compile(r"(\d{13})-0?\.\d+")
_THOUGHT = re.compile(r"\s*<think>(.*?)</think>\s*", re.DOTALL)
_CALLS = ("toolCallRequest", "toolCall")
_RESULTS = ("toolCallResult", "toolResult")


def matches(head: Head) -> float:
    """How surely this is a conversation: an object whose ``messages`` have ``versions``."""
    best = 0.0
    for record in jsonstream.preview(head.text):
        if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
            continue
        if any(isinstance(as_dict(message).get("versions"), list) for message in record["messages"]):
            best = max(best, 0.95)
        elif _OWN_KEYS & record.keys() and not any(record["messages"]):
            best = max(best, 0.9 if _NAME.search(head.name) else 0.6)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The conversation of the file."""
    for found in turns.objects(document, _FIRST_KEYS, "conversation"):
        if isinstance(found, Problem):
            yield found
        else:
            where, data = found
            yield from turns.named(_conversation(data, document.name, where))


def _conversation(data: dict[str, Any], name: str, where: str) -> Iterator[Record]:
    messages = data.get("messages")
    if not isinstance(messages, list):
        harmless = messages is None and is_whole(data)
        yield Problem(where, "has no messages (no list of messages); passed over", harmless=harmless)
        return
    title = as_text(data.get("name")) or as_text(data.get("title")) or None
    created, notes = turns.moment(data.get("createdAt"), where)
    yield from notes
    metadata: dict[str, Any] = {}
    if model := as_text(as_dict(data.get("lastUsedModel")).get("identifier")):
        metadata["model"] = model
    session = _session_id(data, name)
    yield SessionRecord(session, title, created, metadata)
    if prompt := _system_prompt(data):
        hidden = {"hidden": True}
        yield MessageRecord(session, "system", prompt, "system-prompt", metadata=hidden, where=where)
    ids = turns.Ids({"system-prompt"})
    passed: Counter[str] = Counter()
    for entry in turns.entries(messages, where, "message"):
        if isinstance(entry, Problem):
            yield entry
        else:
            _, place, message = entry
            yield from _versions(session, message, place, ids, passed)
    for kind, count in sorted(passed.items()):
        yield Problem(where, f"{count} blocks of type {kind[:60]} hold no words; passed over", harmless=True)


def _versions(
    session: str, message: dict[str, Any], where: str, ids: turns.Ids, passed: Counter[str]
) -> Iterator[Record]:
    """All versions of a message: those that aren't shown first, as branches."""
    versions = message.get("versions")
    if not isinstance(versions, list):
        if "role" not in message:
            yield Problem(where, f"versions is a {type(versions).__name__}, not a list; passed over")
            return
        versions = [message]
    chosen = message.get("currentlySelected", 0)
    if not isinstance(chosen, int) or isinstance(chosen, bool) or not 0 <= chosen < len(versions):
        chosen = len(versions) - 1
    for n in sorted(range(len(versions)), key=lambda n: n == chosen):
        version = versions[n]
        place = f"{where}, version {n + 1}" if len(versions) > 1 else where
        if isinstance(version, dict):
            side = {} if n == chosen else {"branch": True}
            yield from _version(session, version, side, place, ids, passed)
        elif version is not None:
            yield Problem(place, f"not an object but a {type(version).__name__}; passed over")


@dataclass(slots=True)
class _Said:
    """What a version holds: its words, and calls, results and reasoning before and after them."""

    words: list[str] = field(default_factory=list)
    before: list[tuple[str, str, str]] = field(default_factory=list)
    after: list[tuple[str, str, str]] = field(default_factory=list)
    files: list[dict[str, str]] = field(default_factory=list)

    def tool(self, kind: str, name: str, told: str) -> None:
        if told.strip():
            (self.after if self.words else self.before).append((kind, name, told))


def _version(
    session: str,
    version: dict[str, Any],
    side: dict[str, Any],
    where: str,
    ids: turns.Ids,
    passed: Counter[str],
) -> Iterator[Record]:
    spoken = as_text(version.get("role"))
    role = _ROLES.get(spoken.lower())
    if role is None:
        yield Problem(where, f"unknown role {spoken!r}; kept as system")
        role = "system"
    steps = [as_dict(step) for step in as_list(version.get("steps"))]
    said = _Said()
    names: dict[str, str] = {}
    for step in steps:
        kind = as_text(step.get("type"))
        if kind in ("contentBlock", "") and step:
            _step(step, said, names, passed)
        elif step:
            passed[kind] += 1
    if not (said.words or said.before or said.after or said.files):
        # A message in one step, or one whose steps say nothing.
        _step(version, said, names, passed)
    stamp = next((text for step in steps if (text := as_text(step.get("stepIdentifier")))), "")
    own, notes = ids.taken(stamp or as_id(version.get("id")), where)
    yield from notes
    sent = _moment(stamp)
    text = with_attachments("\n\n".join(said.words), said.files)

    def tools(found: list[tuple[str, str, str]], first: int) -> Iterator[MessageRecord]:
        for number, (kind, name, told) in enumerate(found, first):
            tool = {"kind": kind} | ({"name": name} if name else {})
            identity = f"{own}-{kind}-{number}" if own else None
            answer = own if text.strip() else None
            yield MessageRecord(
                session, "tool", told, identity, name or None, sent, answer, {"tools": [tool]} | side, where
            )

    yield from tools(said.before, 1)
    if text.strip():
        metadata: dict[str, Any] = {"attachments": said.files} if said.files else {}
        if role == "assistant" and (model := _model(version, steps)):
            metadata["model"] = model
        if role == "tool":
            metadata["tools"] = [{"kind": "result"}]
        yield MessageRecord(session, role, text, own, None, sent, None, metadata | side, where)
    elif not (said.before or said.after):
        yield Problem(where, "the message is empty; passed over", harmless=True)
    yield from tools(said.after, len(said.before) + 1)


def _step(step: dict[str, Any], said: _Said, names: dict[str, str], passed: Counter[str]) -> None:
    """One block of content; its texts are pieces of one text."""
    content = step.get("content")
    pieces: list[str] = []
    for part in [content] if isinstance(content, str) else as_list(content):
        given = as_dict(part)
        kind = as_text(given.get("type"))
        if isinstance(part, str):
            pieces.append(part)
        elif kind in _CALLS:
            _words("".join(pieces), step, said)
            pieces = []
            name = as_text(given.get("name")) or as_text(given.get("toolName"))
            if identity := as_id(given.get("callId")) or as_id(given.get("id")):
                names[identity] = name
            given_to = given.get("parameters", given.get("arguments"))
            said.tool("call", name, turns.call_text(name, given_to))
        elif kind in _RESULTS:
            _words("".join(pieces), step, said)
            pieces = []
            name = names.get(as_id(given.get("callId")) or as_id(given.get("toolCallId")) or "", "")
            said.tool("result", name, _result(given.get("content")))
        elif kind == "file":
            stated = (as_text(given.get(key)) for key in ("name", "fileName", "fileIdentifier", "identifier"))
            said.files.append({"name": next((one for one in stated if one), "file")})
        elif "text" in given:
            if given.get("isStructural") is not True:
                pieces.append(as_text(given.get("text")))
        elif part is not None:
            passed[kind or type(part).__name__] += 1
    _words("".join(pieces), step, said)


def _words(text: str, step: dict[str, Any], said: _Said) -> None:
    """Words of a block: reasoning by the block's style, or by tags where an older version wrote them."""
    if as_dict(step.get("style")).get("type") == "thinking":
        said.tool("reasoning", "", text)
        return
    if thought := _THOUGHT.match(text):
        said.tool("reasoning", "", thought[1])
        text = text[thought.end() :]
    if text.strip():
        said.words.append(text)


def _result(content: Any) -> str:
    """A result's words; it is often a text that holds a list of blocks as JSON."""
    if isinstance(content, str):
        values, _ = jsonstream.glued(content) if content.lstrip().startswith("[") else ([], "")
        return (turns.words_of(values[0]) if values else "") or content
    return turns.words_of(content) or (turns.as_json(content) if content is not None else "")


def _model(version: dict[str, Any], steps: list[dict[str, Any]]) -> str:
    made = (as_dict(step.get("genInfo")) for step in steps)
    found = (as_text(info.get("identifier")) or as_text(info.get("indexedModelIdentifier")) for info in made)
    return next((name for name in found if name), "") or as_text(
        as_dict(version.get("senderInfo")).get("senderName")
    )


def _moment(stamp: str) -> datetime | None:
    found = _STEP_MOMENT.fullmatch(stamp)
    return from_epoch(int(found[1])) if found else None


def _system_prompt(data: dict[str, Any]) -> str:
    fields = as_list(as_dict(data.get("perChatPredictionConfig")).get("fields"))
    chosen = (as_dict(one) for one in fields)
    own = next((as_text(one.get("value")) for one in chosen if one.get("key") == _SYSTEM_PROMPT), "")
    return next((text for text in (as_text(data.get("systemPrompt")), own) if text.strip()), "")


def _session_id(data: dict[str, Any], name: str) -> str:
    """The moment the chat was made, which neither a new title nor more turns change."""
    if born := as_id(data.get("createdAt")):
        return f"lmstudio-{born}"
    named = _NAME.search(name.replace("\\", "/"))
    if named and named["born"]:
        return f"lmstudio-{named['born']}"
    first = as_dict(next(iter(as_list(data.get("messages"))), None))
    return turns.made_id("lmstudio", turns.as_json(first.get("versions")))
