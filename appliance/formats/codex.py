"""Codex CLI: ``rollout-<time>-<uuid>.jsonl``, in all its dialects.

A log holds the same text as it went to and from the model (``response_item``) and as it was shown
(``event_msg``, ``item_completed``), or only one of the two. Both streams are merged: equal texts close to each
other are one message, with the id and the time of the first. Text that the program sent to the model in the
person's name is ``system``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any

from appliance.formats import agent_logs, json_fields, unknown_text
from appliance.formats.agent_logs import EchoFilter, LogSession, hash_words
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_list, as_text, parse_time, tool_metadata, with_attachments
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, Metadata, Record, Role, SessionRecord

_ENVELOPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
# Calls name their tool, or their type names it.
_CALLS = dict.fromkeys(("function_call", "custom_tool_call", "mcp_tool_call"), "") | {
    f"{tool}_call": tool for tool in ("local_shell", "web_search", "tool_search", "image_generation")
}
_OUTPUTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "tool_search_output", "local_shell_call_output"}
)
_CALL_KEYS = frozenset({"tool_calls", "function_call", "function"})
_PAYLOAD_KEYS = frozenset({"content", "phase", "internal_chat_message_metadata_passthrough"})
# Events whose message is the program's.
_NOTICES = frozenset(
    "error warning stream_error background_event deprecation_notice turn_aborted guardian_warning"
    " mcp_startup_update skills_update_available model_reroute".split()
)
_KINDS = frozenset({"message", "reasoning", "agent_message", *_CALLS, *_OUTPUTS})
_ARGUMENTS = ("arguments", "input", "action", "summary", "revised_prompt")
_BLOCKS = frozenset({"input_text", "output_text", "text", "Text", ""})

# Types of records with a payload of other programs.
_OTHER_TYPES = frozenset({"message", "user", "assistant"})

_INJECTED = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<(?:user_instructions|environment_context|permissions instructions|INSTRUCTIONS"
    r"|apps_instructions|plugins_instructions|skills_instructions|collaboration_mode|personality_spec|model_switch"
    r"|turn_aborted|user_shell_command|user_editable_context|hook_prompt|memory_summary|subagent_notification|user_action|recommended_plugins|skill)\b)"
)
_IMAGE_TAG = re.compile(r"\s*</?image\b[^>]*>\s*")


def matches(head: DocumentHead) -> float:
    """How surely these are records of Codex: envelopes with a payload, or payloads without envelopes."""
    best = 0.0
    for record in agent_logs.first_objects(head):
        kind = as_text(record.get("type"))
        if kind in _ENVELOPES and isinstance(record.get("payload"), dict):
            return 0.95
        payload = as_dict(record.get("payload"))
        is_dated = "timestamp" in record or "timestamp" in payload
        if (
            is_dated
            and kind not in _OTHER_TYPES
            and payload.get("role") in ("user", "assistant")
            and "content" in payload
        ):
            best = max(best, 0.9)
        if "record_type" in record or ({"id", "timestamp", "instructions"} <= record.keys() and not kind):
            best = max(best, 0.7)
        elif (kind in ("function_call", "function_call_output") and "call_id" in record) or (
            kind == "message"
            and any(as_dict(b).get("type") in ("input_text", "output_text") for b in as_list(record.get("content")))
        ):
            best = max(best, 0.85)
    return best


@dataclass(frozen=True, slots=True)
class _CodexOverview:
    """What only the whole file tells: the session, hashes of the person's texts, whether the shown stream has a text of
    the person for each turn that was answered, and the places of input that it may still get."""

    session: SessionRecord
    typed: frozenset[int]
    is_complete: bool
    unanswered: frozenset[str]


@dataclass(slots=True)
class _CodexTurns:
    """The turns of a file, each from the person's input to the first answer."""

    is_complete: bool = True
    has_shown_text: bool = False
    inputs: list[str] = field(default_factory=list)

    def add(self, record: _CodexRecord) -> None:
        payload = record.payload
        if _typed_text(record) is not None:
            self.has_shown_text = True
        elif record.stream == "response_item" and record.kind == "message" and payload.get("role") == "user":
            texts = [t for t in _input_texts(payload) if not _IMAGE_TAG.fullmatch(t) and not _INJECTED.match(t)]
            self.inputs += [record.where] if texts else []
        elif record.kind in ("agent_message", "AgentMessage") or payload.get("role") == "assistant":
            self.is_complete &= self.has_shown_text or not self.inputs
            self.has_shown_text, self.inputs = False, []


@dataclass(slots=True)
class _CodexLog:
    overview: _CodexOverview
    log_session: LogSession
    agents: LogSession
    echoes: EchoFilter = field(default_factory=EchoFilter)
    calls: dict[str, tuple[str | None, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _CodexRecord:
    """One record out of its envelope."""

    stream: str
    kind: str
    payload: dict[str, Any]
    time: Any
    where: str


def parse(document: Document) -> Iterator[Record]:
    """The messages of the session in the order of the file."""
    overview = _overview(document)
    session = overview.session
    sidechain = {"sidechain": True, "parent": session.external_id}
    agents = SessionRecord(f"{session.external_id}/agents", None, None, sidechain)
    log = _CodexLog(overview, LogSession(session), LogSession(agents))
    entries, sessions = agent_logs.entries(document), (log.log_session, log.agents)
    yield from agent_logs.records(entries, sessions, lambda data, where: _record(log, _open_envelope(data, where)))


def _open_envelope(data: dict[str, Any], where: str) -> _CodexRecord:
    payload = data.get("payload")
    if isinstance(payload, dict):
        outer = as_text(data.get("type"))
        time = data.get("timestamp") or payload.get("timestamp")
    else:
        # Other programs' records in the oldest dialect have a message within.
        inner = as_dict(data.get("message"))
        payload, outer = inner if "role" in inner and "role" not in data else data, "response_item"
        if not as_text(data.get("type")) and "role" not in payload:
            outer = "session_meta"
        time = data.get("timestamp") or data.get("created_at")
    kind = as_text(payload.get("type"))
    if outer not in _ENVELOPES:
        # The envelope says nothing, or something new.
        is_event = kind.endswith(("_message", "_reasoning")) or kind == "item_completed" or "message" in payload
        outer = "event_msg" if is_event else "response_item" if kind or "role" in payload else outer
    if outer == "response_item" and payload.get("role") in ("user", "assistant") and kind not in _KINDS:
        kind = "message"
    if outer == "event_msg" and kind == "item_completed":
        payload = as_dict(payload.get("item"))
        return _CodexRecord("item", as_text(payload.get("type")), payload, time, where)
    if outer == "response_item" and not kind and "role" in payload:
        kind = "message"
    if outer not in ("response_item", "event_msg"):
        outer, kind = "other", outer
    return _CodexRecord(outer, kind, payload, time, where)


def _overview(document: Document) -> _CodexOverview:
    identity: str | None = None
    title: str | None = None
    metadata: dict[str, Any] = {}
    typed: set[int] = set()
    start: Any = None
    opening: list[Any] = []
    turns = _CodexTurns()
    for item in agent_logs.entries(document):
        if isinstance(item, InputProblem):
            continue
        record = _open_envelope(item.data, item.where)
        payload = record.payload
        turns.add(record)
        if record.kind == "session_meta":
            # A fork repeats the metadata of the session that it left after its own.
            inner = as_dict(payload.get("meta"))
            if identity is None:
                identity = agent_logs.first_own_id(payload, "id", "session_id") or agent_logs.first_own_id(
                    inner, "id", "session_id"
                )
                start = start or record.time or inner.get("timestamp")
                metadata = metadata or _session_metadata(payload | inner)
        elif record.kind == "thread_name_updated":
            title = as_text(payload.get("thread_name")) or title
        elif (text := _typed_text(record)) is not None:
            typed.add(hash_words(text))
        if len(opening) < 2 and record.kind in ("message", "user_message"):
            opening = [record.time, agent_logs.words_of(payload.get("content")) or payload.get("message")]
    if identity is None:
        identity = agent_logs.id_in_name(document) or agent_logs.made_id("codex", start, *opening)
    created, _ = parse_time(start, "")
    unanswered = frozenset() if turns.has_shown_text else frozenset(turns.inputs)
    session = SessionRecord(identity, title, created, metadata)
    return _CodexOverview(session, frozenset(typed), bool(typed) and turns.is_complete, unanswered)


def _session_metadata(meta: dict[str, Any]) -> dict[str, Any]:
    """The session's folder, and the session for which an agent started it."""
    metadata: dict[str, Any] = {}
    if folder := as_text(meta.get("cwd")):
        metadata["folder"] = folder
    if "subagent" in as_dict(meta.get("source")) or meta.get("thread_source") == "subagent":
        metadata["sidechain"] = True
        if parent := agent_logs.own_id(meta.get("parent_thread_id")):
            metadata["parent"] = parent
    return metadata


def _typed_text(record: _CodexRecord) -> str | None:
    """The person's text in a record of the shown stream; None in any other record."""
    if record.stream == "event_msg" and record.kind == "user_message":
        if as_text(record.payload.get("kind")) in ("", "plain"):
            return _event_text(record.payload)
    elif record.stream == "item" and record.kind == "UserMessage":
        return agent_logs.words_of(record.payload.get("content"))
    return None


def _event_text(payload: dict[str, Any]) -> str:
    """The text of an event; of one in an unknown shape, every string."""
    text = as_text(payload.get("message")) or agent_logs.words_of(payload.get("content"))
    return text or unknown_text.text_of({key: payload[key] for key in unknown_text.TEXT_KEYS if key in payload})


def _record(log: _CodexLog, record: _CodexRecord) -> Iterator[Record]:
    payload, kind, stream = record.payload, record.kind, record.stream
    if (
        stream == "event_msg"
        and kind in ("user_message", "agent_message")
        and as_text(payload.get("kind")) != "context"
    ):
        if not _event_text(payload):
            yield unknown_text.lost(record.where)
        elif not as_text(payload.get("message")):
            yield unknown_text.kept(record.where)
    identity = agent_logs.own_id(payload.get("id"))
    if stream == "response_item" and kind == "message":
        yield from _response(log, record, identity)
    elif stream == "response_item" and kind in _CALLS:
        yield from _call(log, record, identity)
    elif stream == "response_item" and kind in _OUTPUTS:
        yield from _output(log, record, payload.get("call_id"), payload.get("output", payload.get("tools")), identity)
    elif kind in ("reasoning", "agent_reasoning", "Reasoning"):
        parts = [as_text(payload.get("text"))]
        for key in ("summary", "content", "summary_text", "raw_content"):
            parts += [agent_logs.words_of(part) for part in as_list(payload.get(key))]
        parts = [part for part in parts if part and not log.echoes.is_echo(stream, "reasoning", part)]
        yield from _emit(log, record, "tool", "\n\n".join(parts), identity, tool_metadata("reasoning"))
    elif (text := _typed_text(record)) is not None:
        paths = [path for key in ("images", "local_images") for path in as_list(payload.get(key))]
        pictures = [{"name": as_text(path).rpartition("/")[2] or "image"} for path in paths]
        if not log.echoes.is_echo(stream, "user", text):
            yield from _user_message(log, record, text, pictures, identity)
    elif kind in ("agent_message", "AgentMessage") and stream != "response_item":
        yield from _answer(log, record, _event_text(payload), identity)
    elif kind == "agent_message":
        author = as_text(payload.get("author")) or None
        sent, _ = parse_time(record.time, record.where)
        yield from log.agents.emit(
            "assistant", agent_logs.words_of(payload.get("content")), identity, sent, record.where, author=author,
            metadata={"sidechain": True},
        )  # fmt: skip
    elif kind == "exited_review_mode":
        yield from _answer(
            log, record, as_text(as_dict(payload.get("review_output")).get("overall_explanation")), identity
        )
    elif kind == "compacted":
        yield from _emit(log, record, "system", as_text(payload.get("message")), identity, {"hidden": True})
    elif stream == "event_msg" and not kind and (text := unknown_text.text_of(payload)):
        yield InputProblem(record.where, "the record has no type; imported as system")
        yield from _emit(log, record, "system", text, identity, {})
    elif (stream == "event_msg" and kind not in _NOTICES and as_text(payload.get("message"))) or (
        stream == "response_item" and kind not in _KINDS and unknown_text.text_under_text_keys(payload)
    ):
        note = f"a record of the unknown type {kind[:60]!r} has text and no speaker; left out"
        yield InputProblem(record.where, note, harmless=True)
    elif kind == "error" and stream == "event_msg":
        yield from _emit(log, record, "system", as_text(payload.get("message")), identity, {})


def _response(log: _CodexLog, record: _CodexRecord, identity: str | None) -> Iterator[Record]:
    """A message to or from the model, by its role."""
    payload = record.payload
    role = as_text(payload.get("role"))
    content = payload.get("content", payload.get("message"))
    if isinstance(content, dict):
        content = [content]
    if content is not None and not isinstance(content, str | list):
        yield InputProblem(record.where, f"content is {json_fields.json_type(content)}, not a list; skipped")
        return
    texts: list[str] = []
    pictures: list[dict[str, str]] = []
    for block in [content] if isinstance(content, str) else as_list(content):
        fields = {"text": block} if isinstance(block, str) else as_dict(block)
        if known := _input_texts({"content": [fields]}):
            texts += known
        elif "image" in as_text(fields.get("type")):
            pictures += [{"name": "image"}] if fields.get("image_url") else []
        elif text := unknown_text.text_of(fields):
            texts.append(text)
            yield unknown_text.kept(record.where, as_text(fields.get("type")))
    if role in ("user", "assistant") and not texts and not pictures and not _CALL_KEYS & payload.keys():
        if text := unknown_text.text_of(payload, _PAYLOAD_KEYS):
            texts.append(text)
            yield unknown_text.kept(record.where)
        else:
            yield unknown_text.lost(record.where)
    text = "\n\n".join(texts)
    if role in ("tool", "function"):
        yield from _output(log, record, payload.get("tool_call_id"), text, identity, as_text(payload.get("name")))
    elif role == "user":
        yield from _model_input(log, record, texts, pictures, identity)
    elif role == "assistant":
        yield from _answer(log, record, text, identity)
        for call in map(as_dict, as_list(payload.get("tool_calls")) or [payload]):
            if function := as_dict(call.get("function")) or as_dict(call.get("function_call")):
                yield from _call(log, replace(record, kind="function_call", payload=function), None)
    elif role in ("developer", "system"):
        yield from _emit(log, record, "system", text, identity, {"hidden": True})
    elif text.strip():
        yield InputProblem(record.where, f"unknown role {role!r}; imported as system")
        yield from _emit(log, record, "system", text, identity, {})


def _input_texts(payload: dict[str, Any]) -> list[str]:
    """The texts of a message's content."""
    content = payload.get("content", payload.get("message"))
    blocks = [content] if isinstance(content, str) else as_list(content)
    fields = [{"text": block} if isinstance(block, str) else as_dict(block) for block in blocks]
    return [text for one in fields if as_text(one.get("type")) in _BLOCKS and (text := as_text(one.get("text")))]


def _answer(log: _CodexLog, record: _CodexRecord, text: str, identity: str | None) -> Iterator[Record]:
    """A text of the assistant, unless the other stream has just had it."""
    if not log.echoes.is_echo(record.stream, "assistant", text):
        yield from _emit(log, record, "assistant", text, identity, {})


def _model_input(
    log: _CodexLog, record: _CodexRecord, texts: list[str], pictures: list[dict[str, str]], identity: str | None
) -> Iterator[Record]:
    """Input to the model in the person's name: the person's own text, and what the program added."""
    typed = log.overview.typed
    texts = [text for text in texts if not _IMAGE_TAG.fullmatch(text)]
    if hash_words("".join(texts)) in typed:
        words, added = texts, []
    else:
        # Text at the end of a file may not have reached the shown stream yet.
        is_complete = log.overview.is_complete and record.where not in log.overview.unanswered
        words = [t for t in texts if hash_words(t) in typed or not (is_complete or _INJECTED.match(t))]
        added = [t for t in texts if t not in words]
    text = "\n\n".join(words)
    if (pictures and not texts) or (words and not log.echoes.is_echo(record.stream, "user", text)):
        yield from _user_message(log, record, text, pictures, identity)
    if added:
        own = identity if not words or identity is None else f"{identity}-context"
        yield from _emit(log, record, "system", "\n\n".join(added), own, {"hidden": True})


def _user_message(
    log: _CodexLog, record: _CodexRecord, text: str, pictures: list[dict[str, str]], identity: str | None
) -> Iterator[Record]:
    metadata = {"attachments": pictures} if pictures else {}
    yield from _emit(log, record, "user", with_attachments(text, pictures), identity, metadata)


def _call(log: _CodexLog, record: _CodexRecord, identity: str | None) -> Iterator[Record]:
    payload = record.payload
    call = agent_logs.first_own_id(payload, "call_id", "id")
    name = as_text(payload.get("name")) or _CALLS[record.kind]
    arguments = next((payload[key] for key in _ARGUMENTS if payload.get(key) not in (None, "")), None)
    own = identity or (f"{call}-call" if call else None)
    if call is not None:
        log.calls[call] = (own, name)
    metadata = agent_logs.call_metadata(name, arguments)
    yield from _emit(log, record, "tool", agent_logs.call_text(name, arguments), own, metadata, author=name or None)


def _output(
    log: _CodexLog, record: _CodexRecord, call_id: Any, output: Any, identity: str | None, name: str = ""
) -> Iterator[Record]:
    call = agent_logs.own_id(call_id)
    reply_to, call_name = log.calls.pop(call, (None, "")) if call else (None, "")
    text = agent_logs.words_of(output) or (json_fields.as_json(output) if output else "")
    own = identity or (f"{call}-output" if call else None)
    name = name or call_name
    metadata = tool_metadata("result", name)
    yield from _emit(log, record, "tool", text, own, metadata, author=name or None, reply_to=reply_to)


def _emit(
    log: _CodexLog, record: _CodexRecord, role: Role, text: str, identity: str | None, metadata: Metadata, **more: Any
) -> Iterator[Record]:
    if not text.strip():
        return
    sent, notes = parse_time(record.time, record.where)
    yield from notes
    sidechain = {"sidechain": True} if log.log_session.session.metadata.get("sidechain") else {}
    metadata = {**metadata, **sidechain}
    yield from log.log_session.emit(role, text, identity, sent, record.where, metadata=metadata, **more)
