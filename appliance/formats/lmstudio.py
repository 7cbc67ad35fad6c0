"""LM Studio: ``<epoch ms>.conversation.json``, one conversation a file.

A message has versions; the program shows one of them, the others are branches. An answer consists of steps:
reasoning, text, tool calls and their results.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from appliance.formats import assistant_chats, json_fields, json_stream, unknown_text
from appliance.formats.assistant_chats import AssistantMessageIds
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_text, with_attachments
from appliance.formats.records import best_score, counted, metadata_of, missing_messages
from appliance.formats.timestamps import from_epoch
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
_FIRST_KEYS = (("name", "pinned"), ("name", "createdAt"), ("title", "createdAt"))
_NAME = re.compile(r"(?:^|/)(?:(?P<created>\d{13})|[^/]*)\.conversation\.json$", re.IGNORECASE)
_OWN_KEYS = frozenset({"tokenCount", "lastUsedModel", "usePerChatPredictionConfig", "perChatPredictionConfig"})
_VERSION_KEYS = frozenset({"senderInfo", "preprocessed", "genInfo"})
_SYSTEM_PROMPT = "llm.prediction.systemPrompt"
# A step's name is the time when it began, in milliseconds, and a random number.
_STEP_TIMESTAMP = re.compile(r"(\d{13})-0?\.\d+")
_THOUGHT = re.compile(r"\s*<think>(.*?)</think>\s*", re.DOTALL)
_CALLS = ("toolCallRequest", "toolCall")
_RESULTS = ("toolCallResult", "toolResult")


def matches(head: DocumentHead) -> float:
    """The confidence that this is a conversation: an object whose ``messages`` have ``versions``."""

    def score(record: dict[str, Any]) -> float:
        messages = record.get("messages")
        if not isinstance(messages, list):
            return 0.0
        if any(isinstance(as_dict(message).get("versions"), list) for message in messages):
            return 0.95
        if any(messages) or not _OWN_KEYS & record.keys():
            return 0.0
        return 0.9 if _NAME.search(head.name) else 0.6

    return best_score(head, score)


def parse(document: Document) -> Iterator[Record]:
    for value in assistant_chats.objects(document, _FIRST_KEYS, "conversation"):
        if isinstance(value, InputProblem):
            yield value
        else:
            where, data = value
            yield from assistant_chats.with_made_ids(_conversation(data, document.name, where))


def _conversation(data: dict[str, Any], name: str, where: str) -> Iterator[Record]:
    messages = data.get("messages")
    if not isinstance(messages, list):
        yield missing_messages(messages, data, where)
        return
    title = first_text(data, "name", "title") or None
    created, notes = assistant_chats.parse_time(data.get("createdAt"), where)
    yield from notes
    if created is None and (named := _NAME.search(name.replace("\\", "/"))) and named["created"]:
        created = from_epoch(int(named["created"]))
    session = _session_id(data, name)
    model = as_text(as_dict(data.get("lastUsedModel")).get("identifier"))
    yield SessionRecord(session, title, created, metadata_of(model=model))
    if prompt := _system_prompt(data):
        yield MessageRecord(session, "system", prompt, "system-prompt", metadata={"hidden": True}, where=where)
    ids = AssistantMessageIds({"system-prompt"})
    skipped: Counter[str] = Counter()
    for entry in assistant_chats.entries(messages, where, "message"):
        if isinstance(entry, InputProblem):
            yield entry
        else:
            _, place, message = entry
            yield from _versions(session, message, place, ids, skipped)
    for kind, count in sorted(skipped.items()):
        blocks = counted(count, f"{kind[:60]} block")
        yield InputProblem(where, f"skipped {blocks} without text", harmless=True)


def _versions(
    session: str, message: dict[str, Any], where: str, ids: AssistantMessageIds, skipped: Counter[str]
) -> Iterator[Record]:
    """All versions of a message: first the hidden ones, as branches, then the one that is shown."""
    versions = message.get("versions")
    if not isinstance(versions, list):
        if "role" not in message:
            yield InputProblem(where, f"versions is {json_fields.json_type(versions)}, not a list; skipped")
            return
        versions = [message]
    chosen = message.get("currentlySelected", 0)
    if not isinstance(chosen, int) or isinstance(chosen, bool) or not 0 <= chosen < len(versions):
        chosen = len(versions) - 1
    for n in sorted(range(len(versions)), key=lambda n: n == chosen):
        version = versions[n]
        place = f"{where}, version {n + 1}" if len(versions) > 1 else where
        if isinstance(version, dict):
            yield from _version(session, version, n != chosen, place, ids, skipped)
        elif version is not None:
            yield json_fields.wrong_type(place, "version", version)


@dataclass(slots=True)
class _VersionContent:
    """A version's texts, its files, and the calls, results and reasoning (kind, name, text) around the texts."""

    texts: list[str] = field(default_factory=list)
    tools_before: list[tuple[str, str, str]] = field(default_factory=list)
    tools_after: list[tuple[str, str, str]] = field(default_factory=list)
    files: list[dict[str, str]] = field(default_factory=list)
    unknown_types: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.texts or self.tools_before or self.tools_after or self.files)

    def add_tool(self, kind: str, name: str, text: str) -> None:
        if text.strip():
            (self.tools_after if self.texts else self.tools_before).append((kind, name, text))


def _version(
    session: str, version: dict[str, Any], is_branch: bool, where: str, ids: AssistantMessageIds, skipped: Counter[str]
) -> Iterator[Record]:
    speaker = as_text(version.get("role"))
    role = _ROLES.get(speaker.lower())
    if role is None:
        yield InputProblem(where, f"unknown role {speaker!r}; imported as system")
        role = "system"
    steps = [as_dict(step) for step in as_list(version.get("steps"))]
    content = _VersionContent()
    names: dict[str, str] = {}
    for step in steps:
        kind = as_text(step.get("type"))
        if kind in ("contentBlock", "") and step:
            _step(step, content, names, skipped)
        elif step and (step_text := unknown_text.text_of(step)):
            # A status of the program's own ("debugInfoBlock") says nothing that was said.
            if "content" in step:
                content.texts.append(step_text)
                content.unknown_types.append(kind)
            else:
                skipped[kind] += 1
        elif step:
            skipped[kind] += 1
    if content.is_empty:
        # A message without steps, or one whose steps are empty.
        _step(version, content, names, skipped)
    if role in ("user", "assistant") and content.is_empty and (rest := unknown_text.text_of(version, _VERSION_KEYS)):
        content.texts.append(rest)
        content.unknown_types.append("")
    for kind in content.unknown_types:
        yield unknown_text.kept(where, kind)
    stamp = next((text for step in steps if (text := as_text(step.get("stepIdentifier")))), "")
    identity, notes = ids.claim(stamp or as_id(version.get("id")), where)
    yield from notes
    began = _STEP_TIMESTAMP.fullmatch(stamp)
    sent = from_epoch(int(began[1])) if began else None
    text = with_attachments("\n\n".join(content.texts), content.files)
    reply_to = identity if text.strip() else None

    def tool_messages(tools: list[tuple[str, str, str]], first: int) -> Iterator[MessageRecord]:
        for number, (kind, name, tool_text) in enumerate(tools, first):
            tool_id = f"{identity}-{kind}-{number}" if identity else None
            metadata = json_fields.tool_metadata(kind, name) | metadata_of(branch=is_branch)
            yield MessageRecord(session, "tool", tool_text, tool_id, name or None, sent, reply_to, metadata, where)

    yield from tool_messages(content.tools_before, 1)
    if text.strip():
        metadata = metadata_of(
            attachments=content.files,
            model=_model(version, steps) if role == "assistant" else None,
            tools=[{"kind": "result"}] if role == "tool" else None,
            branch=is_branch,
        )
        yield MessageRecord(session, role, text, identity, None, sent, None, metadata, where)
    elif not (content.tools_before or content.tools_after):
        yield InputProblem(where, "the message is empty; skipped", harmless=True)
    yield from tool_messages(content.tools_after, len(content.tools_before) + 1)


def _step(step: dict[str, Any], collected: _VersionContent, names: dict[str, str], skipped: Counter[str]) -> None:
    """Add a step's content; adjacent texts are joined. ``names`` are the tools by the ids of their calls."""
    content = step.get("content")
    texts: list[str] = []

    def flush() -> None:
        _add_text("".join(texts), step, collected)
        texts.clear()

    for part in content if isinstance(content, list) else [content]:
        fields = as_dict(part)
        kind = as_text(fields.get("type"))
        if isinstance(part, str):
            texts.append(part)
        elif kind in _CALLS:
            flush()
            name = first_text(fields, "name", "toolName")
            if identity := json_fields.first_id(fields, "callId", "id"):
                names[identity] = name
            arguments = fields.get("parameters", fields.get("arguments"))
            collected.add_tool("call", name, assistant_chats.call_text(name, arguments))
        elif kind in _RESULTS:
            flush()
            name = names.get(json_fields.first_id(fields, "callId", "toolCallId") or "", "")
            collected.add_tool("result", name, _result(fields.get("content")))
        elif kind == "file":
            file_names = (as_text(fields.get(key)) for key in ("name", "fileName", "fileIdentifier", "identifier"))
            collected.files.append({"name": next((name for name in file_names if name), "file")})
        elif text := as_text(fields.get("text")):
            if fields.get("isStructural") is not True:
                texts.append(text)
        elif text := unknown_text.text_of(part):
            texts.append(text)
            collected.unknown_types.append(kind)
        elif part is not None and "text" not in fields:
            skipped[kind or type(part).__name__] += 1
    flush()


def _add_text(text: str, step: dict[str, Any], collected: _VersionContent) -> None:
    """Add a text: reasoning if the step's style says so, or where an older version wrote ``<think>`` tags."""
    if as_dict(step.get("style")).get("type") == "thinking":
        collected.add_tool("reasoning", "", text)
        return
    if thought := _THOUGHT.match(text):
        collected.add_tool("reasoning", "", thought[1])
        text = text[thought.end() :]
    if text.strip():
        collected.texts.append(text)


def _result(content: Any) -> str:
    """The text of a tool's result, which is often a string that holds a list of blocks as JSON."""
    if isinstance(content, str):
        values, _ = json_stream.split_values(content) if content.lstrip().startswith("[") else ([], "")
        return (assistant_chats.words_of(values[0]) if values else "") or content
    return assistant_chats.words_of(content) or (assistant_chats.as_json(content) if content is not None else "")


def _model(version: dict[str, Any], steps: list[dict[str, Any]]) -> str:
    infos = (as_dict(step.get("genInfo")) for step in steps)
    names = (first_text(info, "identifier", "indexedModelIdentifier") for info in infos)
    return next((name for name in names if name), "") or as_text(as_dict(version.get("senderInfo")).get("senderName"))


def _system_prompt(data: dict[str, Any]) -> str:
    fields = map(as_dict, as_list(as_dict(data.get("perChatPredictionConfig")).get("fields")))
    configured = next((as_text(field.get("value")) for field in fields if field.get("key") == _SYSTEM_PROMPT), "")
    return next((text for text in (as_text(data.get("systemPrompt")), configured) if text.strip()), "")


def _session_id(data: dict[str, Any], name: str) -> str:
    """An id from the time when the chat was created: it survives a new title and more turns."""
    found = _NAME.search(name.replace("\\", "/"))
    if created := as_id(data.get("createdAt")) or (found and found["created"]):
        return f"lmstudio-{created}"
    first = as_dict(next(iter(as_list(data.get("messages"))), None))
    return assistant_chats.made_id("lmstudio", assistant_chats.as_json(first.get("versions")))
