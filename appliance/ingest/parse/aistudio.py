"""AI Studio: a prompt as Google Drive keeps it, a JSON file that often has no ending.

``chunkedPrompt.chunks`` are the turns, one file is one conversation. Reasoning, code and its results
become messages of role ``tool``.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from appliance.ingest.parse import jsonstream, turns
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.salvage import is_whole
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_ROLES: dict[str, Role] = {"user": "user", "model": "assistant", "assistant": "assistant", "system": "system"}
_FIRST_KEYS = (("runSettings", "systemInstruction"), ("id", "title"))
_FILES = (
    "driveDocument",
    "driveImage",
    "driveVideo",
    "driveAudio",
    "inlineFile",
    "inlineData",
    "inlineImage",
    "inlineVideo",
    "inlineAudio",
    "fileData",
    "youtubeVideo",
)
_CODE = "code_execution"
_ENDING = r"\.(?:json|txt|prompt)"


def matches(head: Head) -> float:
    """How surely this is a prompt file: an object with ``chunkedPrompt``."""
    best = 0.0
    for record in jsonstream.preview(head.text):
        if isinstance(record, dict):
            if isinstance(record.get("chunkedPrompt"), dict):
                best = max(best, 0.95)
            elif {"runSettings", "systemInstruction"} <= record.keys():
                best = max(best, 0.7)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The conversation of the file."""
    name = turns.file_title(document.name, _ENDING)
    for found in turns.objects(document, _FIRST_KEYS, "prompt"):
        if isinstance(found, Problem):
            yield found
        else:
            where, data = found
            yield from turns.named(_prompt(data, where, name))


def _prompt(data: dict[str, Any], where: str, name: str | None) -> Iterator[Record]:
    prompt = data.get("chunkedPrompt")
    if not isinstance(prompt, dict):
        kinds = ", ".join(key for key in data if key.endswith("Prompt")) or "no chunkedPrompt"
        harmless = prompt is None and is_whole(data)
        yield Problem(where, f"holds no turns ({kinds}); passed over", harmless=harmless)
        return
    chunks = prompt.get("chunks")
    if not isinstance(chunks, list):
        harmless = chunks is None and is_whole(prompt)
        yield Problem(
            where, f"chunks is a {type(chunks).__name__}, not a list; passed over", harmless=harmless
        )
        return
    title = as_text(data.get("title")) or as_text(data.get("displayName")) or name
    created, notes = turns.moment(data.get("createTime"), where)
    yield from notes
    metadata: dict[str, Any] = {}
    if model := as_text(as_dict(data.get("runSettings")).get("model")):
        metadata["model"] = model
    session = _session_id(data, chunks)
    yield SessionRecord(session, title, created, metadata)
    told = turns.words_of(as_dict(data.get("systemInstruction")).get("parts"))
    instruction = as_text(as_dict(data.get("systemInstruction")).get("text")) or told
    if instruction.strip():
        hidden = {"hidden": True}
        yield MessageRecord(
            session, "system", instruction, "system-instruction", metadata=hidden, where=where
        )
    passed: Counter[str] = Counter()
    ids = turns.Ids({"system-instruction"})
    for entry in turns.entries(chunks, where, "chunk"):
        if isinstance(entry, Problem):
            yield entry
        else:
            _, place, chunk = entry
            yield from _chunk(session, chunk, place, ids, passed)
    for kind, count in sorted(passed.items()):
        yield Problem(where, f"{count} chunks hold no words ({kind}); passed over", harmless=True)


@dataclass(slots=True)
class _Said:
    """What a chunk holds, apart by what it is."""

    words: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    tools: list[tuple[str, str, str]] = field(default_factory=list)
    files: list[dict[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _chunk(
    session: str, chunk: dict[str, Any], where: str, ids: turns.Ids, passed: Counter[str]
) -> Iterator[Record]:
    spoken = as_text(chunk.get("role"))
    role = _ROLES.get(spoken.lower())
    if role is None:
        yield Problem(where, f"unknown role {spoken!r}; kept as system")
        role = "system"
    said = _read(chunk)
    sent, notes = turns.moment(chunk.get("createTime"), where)
    yield from notes
    own, notes = ids.taken(as_id(chunk.get("id")), where)
    yield from notes
    text = with_attachments("".join(said.words), said.files)
    reasoning = "".join(said.reasoning)
    if reasoning.strip():
        yield _tool(
            session,
            "reasoning",
            "",
            reasoning,
            own if not text.strip() else _sub(own, "thought"),
            sent,
            where,
        )
    if text.strip():
        metadata = {"attachments": said.files} if said.files else {}
        yield MessageRecord(session, role, text, own, None, sent, None, metadata, where)
    for number, (kind, name, told) in enumerate(said.tools, 1):
        alone = not text.strip() and not reasoning.strip() and number == 1
        yield _tool(session, kind, name, told, own if alone else _sub(own, f"{kind}-{number}"), sent, where)
    for number, error in enumerate(said.errors, 1):
        yield MessageRecord(
            session, "system", error, _sub(own, f"error-{number}"), None, sent, None, {}, where
        )
    if not (text.strip() or reasoning.strip() or said.tools or said.errors):
        passed[
            ", ".join(sorted(chunk.keys() - {"role", "tokenCount", "createTime", "id"}))[:80] or "empty"
        ] += 1


def _tool(
    session: str, kind: str, name: str, text: str, own: str | None, sent: datetime | None, where: str
) -> MessageRecord:
    tool = {"kind": kind} | ({"name": name} if name else {})
    return MessageRecord(session, "tool", text, own, name or None, sent, None, {"tools": [tool]}, where)


def _sub(own: str | None, what: str) -> str | None:
    return f"{own}-{what}" if own else None


def _read(chunk: dict[str, Any]) -> _Said:
    """What is said in a chunk. ``parts`` repeat its text, and say more only where it has none."""
    said = _Said()
    thought = chunk.get("isThought") is True or chunk.get("thought") is True
    stated = as_text(chunk.get("text"))
    if stated:
        (said.reasoning if thought else said.words).append(stated)
    _take(chunk, said)
    for part in as_list(chunk.get("parts")):
        given = as_dict(part)
        words = part if isinstance(part, str) else as_text(given.get("text"))
        reasons = thought or given.get("thought") is True
        if words and (not stated or (reasons and not thought and words not in stated)):
            (said.reasoning if reasons else said.words).append(words)
        _take(given, said)
    return said


def _take(given: dict[str, Any], said: _Said) -> None:
    """Code, calls, files and errors of a chunk or a part; what both repeat counts once."""
    tools: list[tuple[str, str, str]] = []
    if code := as_text(as_dict(given.get("executableCode")).get("code")):
        tools.append(("call", _CODE, code))
    if isinstance(result := given.get("codeExecutionResult"), dict):
        told = as_text(result.get("output")) or as_text(result.get("outcome"))
        tools.append(("result", _CODE, told))
    if isinstance(call := given.get("functionCall"), dict):
        name = as_text(call.get("name"))
        tools.append(("call", name, turns.call_text(name, call.get("args", call.get("parameters")))))
    if isinstance(reply := given.get("functionResponse"), dict):
        answer = reply.get("response")
        told = answer if isinstance(answer, str) else turns.as_json(answer) if answer is not None else ""
        tools.append(("result", as_text(reply.get("name")), told))
    said.tools += [tool for tool in tools if tool[2].strip() and tool not in said.tools]
    for key in _FILES:
        if isinstance(file := given.get(key), dict) and (found := _file(key, file)) not in said.files:
            said.files.append(found)
    if (error := as_text(given.get("errorMessage"))) and error not in said.errors:
        said.errors.append(error)


def _file(key: str, file: dict[str, Any]) -> dict[str, str]:
    """A file by its name, else its id or kind; with its text where the prompt holds that."""
    names = (as_text(file.get(name)) for name in ("name", "displayName", "fileName", "title"))
    kind = as_text(file.get("mimeType"))
    name = next((name for name in names if name), "") or as_id(file.get("id")) or as_text(file.get("fileUri"))
    if key == "youtubeVideo" and name:
        name = f"youtube.com/watch?v={name}"
    found = {"name": name or kind or key}
    data = as_text(file.get("data"))
    if data and kind.startswith("text/"):
        try:
            text = base64.b64decode(data, validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            text = ""
        if text.strip():
            found["text"] = text
    return found


def _session_id(data: dict[str, Any], chunks: list[Any]) -> str:
    """The prompt's own id. Files from Drive have none: then what the conversation began with, the first
    answer included, as a prompt is often tried twice. A file that branched off another one begins alike;
    it names the other one, and the turn after the fork is its own."""
    given = as_id(data.get("id"))
    if given:
        return given
    parts: list[str] = [as_text(data.get("createTime"))]
    seen: set[str] = set()
    for n, chunk in enumerate(map(as_dict, chunks)):
        said = _read(chunk)
        words = "".join(said.words) or " ".join(file["name"] for file in said.files)
        role = as_text(chunk.get("role"))
        if words and role not in seen:
            seen.add(role)
            parts += [role, as_text(chunk.get("createTime")), words]
        origin = as_dict(chunk.get("branchParent"))
        if fork := as_id(origin.get("promptId")) or as_id(origin.get("id")):
            after = as_dict(chunks[n + 1]) if n + 1 < len(chunks) else {}
            parts += [fork, str(n), as_text(after.get("text"))]
    return turns.made_id("aistudio", *parts)
