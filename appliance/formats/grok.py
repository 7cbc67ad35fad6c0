"""Grok: ``prod-grok-backend.json`` of an account's export, and sessions of the Grok CLI.

The export is one object with all conversations, read one at a time. Regenerated answers and edited prompts are
branches. A session of the CLI is ``chat_history.jsonl``, a turn a line, with ``summary.json`` in the same folder. Its
lines have no ids and no times; text that the CLI adds to a person's turns becomes hidden messages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from itertools import islice
from typing import Any

from appliance.formats import assistant_chats, json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_id, first_text, with_attachments
from appliance.formats.json_stream import JsonRecord
from appliance.formats.message_tree import NodeLink, OrderedNode, reading_order
from appliance.formats.records import counted
from appliance.formats.salvage import is_whole
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

# Marks for cards that the page draws; what they show is not in the message.
_CARD = re.compile(r"<grok:render\b[^>]*>.*?</grok:render>|<grok:render\b[^>]*/>", re.DOTALL)

_CLI_FIRST_KEYS = (("type", "content"),)
_OWN_KEYS = frozenset(
    {"prompt_index", "model_fingerprint", "synthetic_reason", "reasoning_effort", "tool_call_id", "model_id"}
)
_FOREIGN_KEYS = frozenset({"message", "uuid", "sessionId", "session_id", "payload", "timestamp_ms", "role"})
_TYPES = frozenset({"system", "user", "assistant", "reasoning", "tool_result"})
_RESPONSE_KEYS = frozenset(
    "thinking_trace agent_thinking_traces web_search_results cited_web_search_results file_attachments error"
    " image_attachments generated_image_urls card_attachments_json xpost_ids webpage_urls media_types _id".split()
)
_CLI_KEYS = frozenset({"synthetic_reason", "reasoning_effort", "model_fingerprint", "tool_calls", "summary"})
_CLI_NAME = re.compile(r"(?:^|/)chat_history\.jsonl$", re.IGNORECASE)
_MAX_DETECTION_LINES = 20
_MAX_LINES_TO_FIRST_PROMPT = 100
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
_INJECTED = re.compile(r"\s*<(?:user_info|system-reminder|environment_context|git_status|project_layout)\b")
_PATH_KEYS = ("path", "file_path", "target_file", "filename")
_SUMMARY_BYTES = 1 << 20


def matches(head: DocumentHead) -> float:
    """How surely this is an export's conversations with ``responses``, or lines of a CLI session."""
    best = _matches_cli(head)
    for record in json_stream.preview(head.text):
        if isinstance(record, dict):
            wrapped = record.get(assistant_chats.WRAPPER)
            for entry in wrapped if isinstance(wrapped, list) else [record]:
                best = max(best, _matches_entry(entry))
    return best


def _matches_entry(entry: Any) -> float:
    fields = as_dict(entry)
    if isinstance(fields.get("conversation"), dict) and isinstance(fields.get("responses"), list):
        responses = [_response(wrapper) for wrapper in fields["responses"]]
        known = any("sender" in response and "message" in response for response in responses)
        return 0.95 if known or not responses else 0.7
    conversation = as_dict(fields.get("conversation"))
    return 0.8 if {"create_time", "modify_time", "system_prompt_name"} <= conversation.keys() else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The conversations of an export, or the session of a CLI's file."""
    return assistant_chats.with_made_ids(_records(document))


def _records(document: Document) -> Iterator[Record]:
    cli = _GrokCliSession(document)
    for value in json_stream.records(document, _CLI_FIRST_KEYS, within=assistant_chats.WRAPPER):
        if isinstance(value, InputProblem):
            yield value
        elif isinstance(value.data, dict) and "type" in value.data and "responses" not in value.data:
            yield from cli.handle_line(value)
        else:
            yield from assistant_chats.unwrapped(value, "responses", _conversation)
    yield from cli.notes()


def _conversation(data: dict[str, Any], number: int) -> Iterator[Record]:
    about = as_dict(data.get("conversation"))
    title = as_text(about.get("title")) or None
    where = json_fields.titled_place(number, title)
    wrappers = data.get("responses")
    if not isinstance(wrappers, list):
        harmless = wrappers is None and is_whole(data)
        yield InputProblem(where, "has no messages (no list of responses); skipped", harmless=harmless)
        return
    created, notes = assistant_chats.parse_time(about.get("create_time"), where)
    yield from notes
    first = _response(wrappers[0]) if wrappers else {}
    start = about.get("create_time") or about.get("title")
    session = first_id(about, "conversation_id", "id")
    session = session or assistant_chats.made_id("grok", start, _id(first), first.get("message"))
    yield SessionRecord(session, title, created)
    responses: dict[str, tuple[str, dict[str, Any]]] = {}
    for entry in json_fields.entries(wrappers, where, "response"):
        if isinstance(entry, InputProblem):
            yield entry
            continue
        n, place, wrapper = entry
        response = _response(wrapper)
        key = _id(response) or f"#{n}"
        if key in responses:
            yield InputProblem(place, f"the id {key[:60]} occurs twice; the second message gets another", harmless=True)
            key = f"#{n}"
        responses[key] = (place, response)
    for placed in _ordered(responses, as_id(about.get("leaf_response_id"))):
        place, response = responses[placed.node]
        yield from _message(session, response, placed, place)


def _ordered(responses: dict[str, tuple[str, dict[str, Any]]], leaf: str | None) -> list[OrderedNode]:
    """The responses as they were read; in the order of the file where nothing links them."""
    links: dict[str, NodeLink] = {}
    for key, (_, response) in responses.items():
        sent, _ = assistant_chats.parse_time(response.get("create_time"), "")
        links[key] = NodeLink(as_id(response.get("parent_response_id")), (), sent.timestamp() if sent else None)
    if not any(link.parent in links for link in links.values()):
        return [OrderedNode(key, None, False) for key in links]
    return reading_order(links, leaf)


def _response(wrapper: Any) -> dict[str, Any]:
    """A response, which is usually wrapped once more."""
    fields = as_dict(wrapper)
    inner = fields.get("response")
    return inner if isinstance(inner, dict) else fields


def _id(response: dict[str, Any]) -> str | None:
    return as_id(response.get("response_id")) or as_id(as_dict(response.get("_id")).get("$oid", response.get("_id")))


def _message(session: str, response: dict[str, Any], placed: OrderedNode, where: str) -> Iterator[Record]:
    own = None if placed.node.startswith("#") else placed.node
    parent = placed.parent if placed.parent and not placed.parent.startswith("#") else None
    branch_metadata: dict[str, Any] = {"branch": True} if placed.is_off_path else {}
    sent, notes = assistant_chats.parse_time(response.get("create_time"), where)
    yield from notes
    sender = as_text(response.get("sender")).strip().lower()
    role: Role = "user" if sender in ("human", "user") else "assistant" if sender else "system"
    if not sender:
        yield InputProblem(where, "the sender is missing; imported as system")
    message = response.get("message")
    text = as_text(message)
    if not isinstance(message, str) or not message.strip():
        if text := unknown_text.text_of(message) or unknown_text.text_of_record(response, _RESPONSE_KEYS):
            yield unknown_text.kept(where)
        elif message is not None and not isinstance(message, str):
            yield InputProblem(where, f"the message is {json_fields.json_type(message)}, not a string; left out")
    if role != "user":
        text = _CARD.sub("", text)

    def tool(kind: str, name: str, tool_text: str, number: int) -> MessageRecord:
        metadata = json_fields.tool_metadata(kind, name) | branch_metadata
        identity = f"{own}-{kind}-{number}" if own else None
        return MessageRecord(session, "tool", tool_text, identity, name or None, sent, own, metadata, where)

    for number, trace in enumerate(_reasoning_texts(response), 1):
        yield tool("reasoning", "", trace, number)
    if results := _search_results(response):
        yield tool("result", "web_search", results, 1)
    attachments = [{"name": name} for name in _files(response)]
    text = with_attachments(text, attachments)
    if text.strip():
        metadata: dict[str, Any] = {"attachments": attachments} if attachments else {}
        if model := as_text(response.get("model")):
            metadata["model"] = model
        yield MessageRecord(session, role, text, own, None, sent, parent, metadata | branch_metadata, where)
    elif error := as_text(response.get("error")) or as_text(as_dict(response.get("error")).get("message")):
        yield MessageRecord(session, "system", error, own, None, sent, parent, branch_metadata, where)
    else:
        yield InputProblem(where, "the message is empty; skipped", harmless=True)


def _reasoning_texts(response: dict[str, Any]) -> list[str]:
    """The reasoning of the assistant and of each of its agents; equal texts once."""
    traces = [as_text(response.get("thinking_trace"))]
    for trace in as_list(response.get("agent_thinking_traces")):
        traces.append(as_text(as_dict(trace).get("thinking_trace")) or as_text(trace))
    return list(dict.fromkeys(trace for trace in traces if trace.strip()))


def _search_results(response: dict[str, Any]) -> str:
    pages = []
    for result in map(as_dict, as_list(response.get("web_search_results"))):
        lines = (as_text(result.get(key)) for key in ("title", "url", "preview"))
        pages.append("\n".join(line for line in lines if line))
    return "\n\n".join(page for page in pages if page.strip())


def _files(response: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for key in ("file_attachments", "image_attachments", "generated_image_urls"):
        for entry in as_list(response.get(key)):
            name = as_text(entry) or first_text(as_dict(entry), "file_name", "fileName", "name", "url", "id")
            names.append(name.partition("?")[0].rstrip("/").rpartition("/")[2])
    return list(dict.fromkeys(name for name in names if name))


# --- the CLI --------------------------------------------------------------------------------------------


def _matches_cli(head: DocumentHead) -> float:
    """How surely these are lines of a session: known types, and keys that only this program writes."""
    lines = head.text.removeprefix("\ufeff").split("\n")[:_MAX_DETECTION_LINES]
    if head.truncated and len(lines) > 1 and len(lines) < _MAX_DETECTION_LINES:
        lines.pop()
    seen = good = own = 0
    for line in lines:
        for record in json_stream.preview(line):
            seen += 1
            if isinstance(record, dict) and as_text(record.get("type")) in _TYPES and "content" in record:
                good += not _FOREIGN_KEYS & record.keys()
                own += bool(_OWN_KEYS & record.keys())
    if not good or good < seen / 2:
        return 0.0
    if own:
        return 0.9
    return 0.8 if _CLI_NAME.search(head.name) else 0.3


@dataclass(slots=True)
class _GrokCliSession:
    """The session of a file, read line by line."""

    document: Document
    record: SessionRecord | None = None
    sidechain_metadata: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    def handle_line(self, value: JsonRecord) -> Iterator[Record]:
        """The records of one line."""
        data, where = value.data, f"line {value.line}"
        if problem := json_fields.object_problem(data, where, "line"):
            yield problem
            return
        kind = as_text(data.get("type"))
        if kind not in _TYPES:
            self.skipped[kind or "(none)"] += 1
            return
        if self.record is None:
            self.record = self._begin()
            yield self.record
        session = self.record.external_id
        content = data.get("content")
        text = assistant_chats.words_of(content)
        if not text and kind in ("user", "assistant"):
            if text := unknown_text.text_of(data, _CLI_KEYS):
                yield unknown_text.kept(where)
            elif not data.get("tool_calls"):
                yield unknown_text.lost(where)
        elif content is not None and not isinstance(content, str | list):
            yield InputProblem(where, f"content is {json_fields.json_type(content)}, not a string; left out")
        sent, notes = assistant_chats.parse_time(data.get("timestamp", data.get("created_at")), where)
        yield from notes

        def message(role: Role, text: str, **metadata: Any) -> Iterator[Record]:
            if text.strip():
                author = next((tool.get("name") for tool in metadata.get("tools", ())), None)
                yield MessageRecord(
                    session, role, text, None, author, sent, None, metadata | self.sidechain_metadata, where
                )

        if kind == "system" or (kind == "user" and data.get("synthetic_reason")):
            yield from message("system", text, hidden=True)
        elif kind == "user":
            if query := _QUERY.search(text):
                yield from message("system", text[: query.start()], hidden=True)
                yield from message("user", query[1])
                yield from message("system", text[query.end() :], hidden=True)
            elif _INJECTED.match(text):
                yield from message("system", text, hidden=True)
            else:
                yield from message("user", text)
        elif kind == "assistant":
            model = as_text(data.get("model_id"))
            yield from message("assistant", text, **({"model": model} if model else {}))
            for call in as_list(data.get("tool_calls")):
                yield from self._call(as_dict(call), message)
        elif kind == "reasoning":
            reasoning = text or assistant_chats.words_of(data.get("summary"))
            yield from message("tool", reasoning, **json_fields.tool_metadata("reasoning"))
        else:
            name = self.calls.get(as_text(data.get("tool_call_id")), "")
            yield from message("tool", text, **json_fields.tool_metadata("result", name))

    def notes(self) -> Iterator[InputProblem]:
        """The skipped lines, once the file has ended."""
        for kind, count in sorted(self.skipped.items()):
            yield InputProblem("", f"skipped {counted(count, 'line')} without a turn (type {kind[:60]})", harmless=True)

    def _call(self, call: dict[str, Any], message: Any) -> Iterator[Record]:
        inner = as_dict(call.get("function"))
        name = as_text(call.get("name")) or as_text(inner.get("name"))
        arguments = call.get("arguments", inner.get("arguments"))
        if identity := as_text(call.get("id")):
            self.calls[identity] = name
        text = assistant_chats.call_text(name, arguments)
        files = assistant_chats.paths_in(arguments, _PATH_KEYS)
        yield from message(
            "tool", text, **json_fields.tool_metadata("call", name), **({"files": files} if files else {})
        )

    def _begin(self) -> SessionRecord:
        """The session's header, from ``summary.json`` in the same folder if it is there."""
        summary = json_stream.first_object(self.document.context.find("summary.json"), _SUMMARY_BYTES)
        info = as_dict(summary.get("info"))
        folder = self.document.name.replace("\\", "/").rpartition("/")[0].rpartition("/")[2]
        session = as_text(info.get("id")) or (folder if _UUID.fullmatch(folder) else "")
        if not session:
            session = assistant_chats.made_id("grok", _first_prompt(self.document))
        title = first_text(summary, "generated_title", "session_summary") or None
        created, _ = assistant_chats.parse_time(summary.get("created_at"), "")
        fields = {"cwd": as_text(info.get("cwd")), "model": as_text(summary.get("current_model_id"))}
        metadata = {key: value for key, value in fields.items() if value}
        if summary.get("session_kind") == "subagent":
            self.sidechain_metadata = {"sidechain": True}
        return SessionRecord(session, title, created, metadata)


def _first_prompt(document: Document) -> str:
    """The person's first message; the lines before it are alike in all sessions."""
    for value in islice(json_stream.records(document, _CLI_FIRST_KEYS), _MAX_LINES_TO_FIRST_PROMPT):
        if isinstance(value, JsonRecord) and isinstance(value.data, dict) and value.data.get("type") == "user":
            text = assistant_chats.words_of(value.data.get("content"))
            if not value.data.get("synthetic_reason") and not (_INJECTED.match(text) and "<user_query>" not in text):
                return text
    return ""
