"""AI Studio: a prompt as Google Drive keeps it, a JSON file that often has no ending.

A file is one conversation, and ``chunkedPrompt.chunks`` are its turns. Reasoning, code and its results become
messages of role ``tool``.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from appliance.formats import assistant_chats, json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_id, first_text, with_attachments
from appliance.formats.records import counted
from appliance.formats.salvage import is_whole
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

_ROLES = json_fields.role_table(user="user", assistant="model assistant", system="system")
_FIRST_KEYS = (("runSettings", "systemInstruction"), ("id", "title"))
_FILES = (
    "driveDocument driveImage driveVideo driveAudio inlineFile inlineData inlineImage inlineVideo inlineAudio"
    " fileData youtubeVideo"
).split()
_CHUNK_KEYS = frozenset({"finishReason", "branchParent", "branchChildren", "grounding", "safetyRatings"})
_CODE = "code_execution"
_ENDING = r"\.(?:json|txt|prompt)"


def matches(head: DocumentHead) -> float:
    """How surely this is a prompt file: an object with ``chunkedPrompt``."""
    best = 0.0
    for record in json_stream.preview(head.text):
        if isinstance(record, dict):
            if isinstance(record.get("chunkedPrompt"), dict):
                best = max(best, 0.95)
            elif {"runSettings", "systemInstruction"} <= record.keys():
                best = max(best, 0.7)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The conversation of the file."""
    name = assistant_chats.file_title(document.name, _ENDING)
    for item in assistant_chats.objects(document, _FIRST_KEYS, "prompt"):
        if isinstance(item, InputProblem):
            yield item
        else:
            where, data = item
            yield from assistant_chats.with_made_ids(_prompt(data, where, name))


def _prompt(data: dict[str, Any], where: str, name: str | None) -> Iterator[Record]:
    prompt = data.get("chunkedPrompt")
    if not isinstance(prompt, dict):
        kinds = ", ".join(key for key in data if key.endswith("Prompt")) or "no chunkedPrompt"
        harmless = prompt is None and is_whole(data)
        yield InputProblem(where, f"has no turns ({kinds}); skipped", harmless=harmless)
        return
    chunks = prompt.get("chunks")
    if not isinstance(chunks, list):
        harmless = chunks is None and is_whole(prompt)
        yield InputProblem(where, f"chunks is {json_fields.json_type(chunks)}, not a list; skipped", harmless=harmless)
        return
    title = first_text(data, "title", "displayName") or name
    created, notes = assistant_chats.parse_time(data.get("createTime"), where)
    yield from notes
    model = as_text(as_dict(data.get("runSettings")).get("model"))
    session = _session_id(data, chunks)
    yield SessionRecord(session, title, created, {"model": model} if model else {})
    system_text = assistant_chats.words_of(as_dict(data.get("systemInstruction")).get("parts"))
    instruction = as_text(as_dict(data.get("systemInstruction")).get("text")) or system_text
    if instruction.strip():
        hidden = {"hidden": True}
        yield MessageRecord(session, "system", instruction, "system-instruction", metadata=hidden, where=where)
    skipped: Counter[str] = Counter()
    ids = assistant_chats.AssistantMessageIds({"system-instruction"})
    for entry in json_fields.entries(chunks, where, "chunk"):
        if isinstance(entry, InputProblem):
            yield entry
        else:
            _, place, chunk = entry
            yield from _chunk(session, chunk, place, ids, skipped)
    for kind, count in sorted(skipped.items()):
        yield InputProblem(where, f"skipped {counted(count, 'chunk')} without text ({kind})", harmless=True)


@dataclass(slots=True)
class _ChunkContent:
    """The content of a chunk by its kind. A tool is a kind ("call" or "result"), a name and a text."""

    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    tools: list[tuple[str, str, str]] = field(default_factory=list)
    files: list[dict[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not any((self.texts, self.reasoning, self.tools, self.files, self.errors))


def _chunk(
    session: str, chunk: dict[str, Any], where: str, ids: assistant_chats.AssistantMessageIds, skipped: Counter[str]
) -> Iterator[Record]:
    speaker = as_text(chunk.get("role"))
    role = _ROLES.get(speaker.lower())
    if role is None:
        yield InputProblem(where, f"unknown role {speaker!r}; imported as system")
        role = "system"
    content = _read_chunk(chunk)
    if content.is_empty and (rest := unknown_text.text_of(chunk, _CHUNK_KEYS)):
        content.texts.append(rest)
        yield unknown_text.kept(where)
    sent, notes = assistant_chats.parse_time(chunk.get("createTime"), where)
    yield from notes
    own, notes = ids.claim(as_id(chunk.get("id")), where)
    yield from notes
    text = with_attachments("".join(content.texts), content.files)
    reasoning = "".join(content.reasoning)

    def tool(kind: str, name: str, tool_text: str, identity: str | None) -> MessageRecord:
        metadata = json_fields.tool_metadata(kind, name)
        return MessageRecord(session, "tool", tool_text, identity, name or None, sent, None, metadata, where)

    def part_id(part: str) -> str | None:
        return f"{own}-{part}" if own else None

    if reasoning.strip():
        yield tool("reasoning", "", reasoning, part_id("thought") if text.strip() else own)
    if text.strip():
        metadata = {"attachments": content.files} if content.files else {}
        yield MessageRecord(session, role, text, own, None, sent, None, metadata, where)
    for number, (kind, name, tool_text) in enumerate(content.tools, 1):
        is_only_message = not text.strip() and not reasoning.strip() and number == 1
        yield tool(kind, name, tool_text, own if is_only_message else part_id(f"{kind}-{number}"))
    for number, error in enumerate(content.errors, 1):
        yield MessageRecord(session, "system", error, part_id(f"error-{number}"), None, sent, None, {}, where)
    if not (text.strip() or reasoning.strip() or content.tools or content.errors):
        skipped[", ".join(sorted(chunk.keys() - {"role", "tokenCount", "createTime", "id"}))[:80] or "empty"] += 1


def _read_chunk(chunk: dict[str, Any]) -> _ChunkContent:
    """The content of a chunk. ``parts`` repeat its text, and add to it only where it has none."""
    content = _ChunkContent()
    is_reasoning = chunk.get("isThought") is True or chunk.get("thought") is True
    whole = as_text(chunk.get("text"))
    if whole:
        (content.reasoning if is_reasoning else content.texts).append(whole)
    _collect_part(chunk, content)
    for part in as_list(chunk.get("parts")):
        fields = as_dict(part)
        text = part if isinstance(part, str) else as_text(fields.get("text"))
        is_reasoning_part = is_reasoning or fields.get("thought") is True
        if text and (not whole or (is_reasoning_part and not is_reasoning and text not in whole)):
            (content.reasoning if is_reasoning_part else content.texts).append(text)
        _collect_part(fields, content)
    return content


def _collect_part(part: dict[str, Any], content: _ChunkContent) -> None:
    """Add the code, calls, files and errors of a chunk or a part; what both have counts once."""
    tools: list[tuple[str, str, str]] = []
    if code := as_text(as_dict(part.get("executableCode")).get("code")):
        tools.append(("call", _CODE, code))
    if isinstance(result := part.get("codeExecutionResult"), dict):
        tools.append(("result", _CODE, first_text(result, "output", "outcome")))
    if isinstance(call := part.get("functionCall"), dict):
        name = as_text(call.get("name"))
        tools.append(("call", name, assistant_chats.call_text(name, call.get("args", call.get("parameters")))))
    if isinstance(reply := part.get("functionResponse"), dict):
        response = reply.get("response")
        text = response if isinstance(response, str) else "" if response is None else json_fields.as_json(response)
        tools.append(("result", as_text(reply.get("name")), text))
    content.tools += [tool for tool in tools if tool[2].strip() and tool not in content.tools]
    for key in _FILES:
        if isinstance(fields := part.get(key), dict) and (file := _file(key, fields)) not in content.files:
            content.files.append(file)
    if (error := as_text(part.get("errorMessage"))) and error not in content.errors:
        content.errors.append(error)


def _file(key: str, fields: dict[str, Any]) -> dict[str, str]:
    """A file by its name, else its id or kind; with its text where the prompt holds it."""
    kind = as_text(fields.get("mimeType"))
    names = first_text(fields, "name", "displayName", "fileName", "title")
    name = names or as_id(fields.get("id")) or as_text(fields.get("fileUri"))
    if key == "youtubeVideo" and name:
        name = f"youtube.com/watch?v={name}"
    file = {"name": name or kind or key}
    data = as_text(fields.get("data"))
    if data and kind.startswith("text/"):
        try:
            text = base64.b64decode(data, validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            text = ""
        if text.strip():
            file["text"] = text
    return file


def _session_id(data: dict[str, Any], chunks: list[Any]) -> str:
    """The prompt's own id. Files from Drive have none: their id is made of the conversation's beginning up to the
    first answer, as a prompt is often tried twice. A file that branched off another one begins alike; it names the
    other one, and the turn after the fork is its own."""
    if identity := as_id(data.get("id")):
        return identity
    parts: list[str] = [as_text(data.get("createTime"))]
    roles: set[str] = set()
    for n, chunk in enumerate(map(as_dict, chunks)):
        content = _read_chunk(chunk)
        text = "".join(content.texts) or " ".join(file["name"] for file in content.files)
        role = as_text(chunk.get("role"))
        if text and role not in roles:
            roles.add(role)
            parts += [role, as_text(chunk.get("createTime")), text]
        if fork := first_id(as_dict(chunk.get("branchParent")), "promptId", "id"):
            after = as_dict(chunks[n + 1]) if n + 1 < len(chunks) else {}
            parts += [fork, str(n), as_text(after.get("text"))]
    return assistant_chats.made_id("aistudio", *parts)
