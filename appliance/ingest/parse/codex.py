"""Codex CLI: ``rollout-<time>-<uuid>.jsonl``, in all its dialects.

The same words come as what went to and from the model (``response_item``) and as what was shown
(``event_msg``, ``item_completed``), or as one of them only. Both streams are merged: equal texts that
are neighbours are one message, under the id and the time of the first. What the program told the model
in the person's name is ``system``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from appliance.ingest.parse import logs
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_list, as_text, with_attachments
from appliance.ingest.parse.logs import Echoes, Said, wording
from appliance.types import Metadata, Problem, Record, Role, SessionRecord

_ENVELOPES = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"}
)
_CALLS = {
    "function_call": "",
    "custom_tool_call": "",
    "mcp_tool_call": "",
    "local_shell_call": "local_shell",
    "web_search_call": "web_search",
    "tool_search_call": "tool_search",
    "image_generation_call": "image_generation",
}
_OUTPUTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "tool_search_output", "local_shell_call_output"}
)
_RESPONSES = frozenset({"message", "reasoning", *_CALLS, *_OUTPUTS})
_ARGUMENTS = ("arguments", "input", "action", "summary", "revised_prompt")
_BLOCKS = frozenset({"input_text", "output_text", "text", "Text", ""})

_INJECTED = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<(?:user_instructions|environment_context|permissions instructions|INSTRUCTIONS"
    r"|apps_instructions|plugins_instructions|skills_instructions|collaboration_mode|personality_spec|model_switch"
    r"|turn_aborted|user_shell_command|subagent_notification|user_action|recommended_plugins|skill)\b)"
)
_PICTURE = re.compile(r"\s*</?image\b[^>]*>\s*")


def matches(head: Head) -> float:
    """How surely these are records of Codex: envelopes with a payload, or what stands in them."""
    best = 0.0
    for record in logs.first_objects(head):
        kind = as_text(record.get("type"))
        if kind in _ENVELOPES and isinstance(record.get("payload"), dict):
            return 0.95
        if "record_type" in record or ({"id", "timestamp", "instructions"} <= record.keys() and not kind):
            best = max(best, 0.7)
        elif (kind in ("function_call", "function_call_output") and "call_id" in record) or (
            kind == "message"
            and any(
                as_dict(b).get("type") in ("input_text", "output_text")
                for b in as_list(record.get("content"))
            )
        ):
            best = max(best, 0.85)
    return best


@dataclass(frozen=True, slots=True)
class _Overview:
    """What only the whole file tells: the session, its title, and what the person typed."""

    session: SessionRecord
    typed: frozenset[int]
    end: str


@dataclass(slots=True)
class _Log:
    """A file as it goes by."""

    overview: _Overview
    said: Said
    agents: Said
    echoes: Echoes = field(default_factory=Echoes)
    calls: dict[str, tuple[str | None, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Piece:
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
    beside = SessionRecord(
        f"{session.external_id}/agents", None, None, {"sidechain": True, "parent": session.external_id}
    )
    log = _Log(overview, Said(session), Said(beside))
    for item in logs.entries(document):
        if isinstance(item, Problem):
            yield item
        else:
            yield from _record(log, _piece(item.data, item.where))
    if not log.said.begun and not log.agents.begun:
        yield Problem("", "the file holds no messages", harmless=True)


def _piece(data: dict[str, Any], where: str) -> _Piece:
    payload = data.get("payload")
    if isinstance(payload, dict):
        outer = as_text(data.get("type"))
        time = data.get("timestamp") or payload.get("timestamp")
    else:
        payload, outer = data, "response_item"
        if not as_text(data.get("type")) and "role" not in data:
            outer = "session_meta"
        time = data.get("timestamp") or data.get("created_at")
    kind = as_text(payload.get("type"))
    if outer == "event_msg" and kind == "item_completed":
        payload = as_dict(payload.get("item"))
        return _Piece("item", as_text(payload.get("type")), payload, time, where)
    if outer == "response_item" and not kind and "role" in payload:
        kind = "message"
    if outer not in ("response_item", "event_msg"):
        outer, kind = "other", outer
    return _Piece(outer, kind, payload, time, where)


def _overview(document: Document) -> _Overview:
    identity: str | None = None
    title: str | None = None
    metadata: dict[str, Any] = {}
    typed: set[int] = set()
    born: Any = None
    begins: list[Any] = []
    end = ""
    for item in logs.entries(document):
        if isinstance(item, Problem):
            continue
        piece = _piece(item.data, item.where)
        payload, end = piece.payload, piece.where
        if piece.kind == "session_meta":
            # A fork has the meta data of the session that it left behind its own.
            inner = as_dict(payload.get("meta"))
            if identity is None:
                identity = next(
                    (
                        i
                        for v in (payload, inner)
                        for key in ("id", "session_id")
                        if (i := logs.own_id(v.get(key)))
                    ),
                    None,
                )
                born = born or piece.time or inner.get("timestamp")
                metadata = metadata or _session_metadata(payload | inner)
        elif piece.kind == "thread_name_updated":
            title = as_text(payload.get("thread_name")) or title
        elif (words := _typed(piece)) is not None:
            typed.add(wording(words))
        if len(begins) < 2 and piece.kind in ("message", "user_message"):
            begins = [piece.time, logs.words_of(payload.get("content")) or payload.get("message")]
    if identity is None:
        identity = logs.id_in_name(document) or logs.made_id("codex", born, *begins)
    created, _ = logs.sent_at(born, "")
    return _Overview(SessionRecord(identity, title, created, metadata), frozenset(typed), end)


def _session_metadata(meta: dict[str, Any]) -> dict[str, Any]:
    """Where the session ran, and for which other one if an agent started it."""
    metadata: dict[str, Any] = {}
    if folder := as_text(meta.get("cwd")):
        metadata["folder"] = folder
    if "subagent" in as_dict(meta.get("source")) or meta.get("thread_source") == "subagent":
        metadata["sidechain"] = True
        if parent := logs.own_id(meta.get("parent_thread_id")):
            metadata["parent"] = parent
    return metadata


def _typed(piece: _Piece) -> str | None:
    """What the person typed, where a record of the shown stream says so."""
    if piece.stream == "event_msg" and piece.kind == "user_message":
        if as_text(piece.payload.get("kind")) in ("", "plain"):
            return as_text(piece.payload.get("message"))
    elif piece.stream == "item" and piece.kind == "UserMessage":
        return logs.words_of(piece.payload.get("content"))
    return None


def _record(log: _Log, piece: _Piece) -> Iterator[Record]:
    payload, kind, stream = piece.payload, piece.kind, piece.stream
    identity = logs.own_id(payload.get("id"))
    if stream == "response_item" and kind == "message":
        yield from _response(log, piece, identity)
    elif stream == "response_item" and kind in _CALLS:
        yield from _call(log, piece, identity)
    elif stream == "response_item" and kind in _OUTPUTS:
        yield from _output(
            log, piece, payload.get("call_id"), payload.get("output", payload.get("tools")), identity
        )
    elif kind in ("reasoning", "agent_reasoning", "Reasoning"):
        parts = [as_text(payload.get("text"))]
        for key in ("summary", "content", "summary_text", "raw_content"):
            parts += [logs.words_of(part) for part in as_list(payload.get(key))]
        rest = [part for part in parts if part and not log.echoes.told(stream, "reasoning", part)]
        yield from _say(log, piece, "tool", "\n\n".join(rest), identity, logs.tool_metadata("reasoning"))
    elif (words := _typed(piece)) is not None:
        pictures = [
            {"name": as_text(path).rpartition("/")[2] or "image"}
            for key in ("images", "local_images")
            for path in as_list(payload.get(key))
        ]
        if not log.echoes.told(stream, "user", words):
            yield from _person(log, piece, words, pictures, identity)
    elif kind in ("agent_message", "AgentMessage") and stream != "response_item":
        words = as_text(payload.get("message")) or logs.words_of(payload.get("content"))
        if not log.echoes.told(stream, "assistant", words):
            yield from _say(log, piece, "assistant", words, identity)
    elif kind == "agent_message":
        author = as_text(payload.get("author")) or None
        sent, _ = logs.sent_at(piece.time, piece.where)
        yield from log.agents.say(
            "assistant", logs.words_of(payload.get("content")), identity, sent, piece.where, author=author,
            metadata={"sidechain": True},
        )  # fmt: skip
    elif kind == "exited_review_mode":
        words = as_text(as_dict(payload.get("review_output")).get("overall_explanation"))
        if not log.echoes.told(stream, "assistant", words):
            yield from _say(log, piece, "assistant", words, identity)
    elif kind == "compacted":
        yield from _say(log, piece, "system", as_text(payload.get("message")), identity, {"hidden": True})
    elif kind == "error" and stream == "event_msg":
        yield from _say(log, piece, "system", as_text(payload.get("message")), identity)


def _response(log: _Log, piece: _Piece, identity: str | None) -> Iterator[Record]:
    """A message to or from the model, by its role."""
    payload = piece.payload
    role = as_text(payload.get("role"))
    content = payload.get("content", payload.get("message"))
    if content is not None and not isinstance(content, str | list):
        yield Problem(piece.where, f"content is a {type(content).__name__}, not a list; passed over")
        return
    texts: list[str] = [content] if isinstance(content, str) else []
    pictures: list[dict[str, str]] = []
    for block in as_list(content):
        given = {"text": block} if isinstance(block, str) else as_dict(block)
        if as_text(given.get("type")) in _BLOCKS and (text := as_text(given.get("text"))):
            texts.append(text)
        elif given.get("type") == "input_image" and given.get("image_url"):
            pictures.append({"name": "image"})
    text = "\n\n".join(texts)
    if role in ("tool", "function"):
        yield from _output(
            log, piece, payload.get("tool_call_id"), text, identity, as_text(payload.get("name"))
        )
    elif role == "user":
        yield from _to_the_model(log, piece, texts, pictures, identity)
    elif role == "assistant":
        if not log.echoes.told(piece.stream, "assistant", text):
            yield from _say(log, piece, "assistant", text, identity)
        calls = [as_dict(call) for call in as_list(payload.get("tool_calls"))]
        for call in calls or [payload]:
            made = as_dict(call.get("function")) or as_dict(call.get("function_call"))
            if made:
                yield from _call(
                    log, _Piece(piece.stream, "function_call", made, piece.time, piece.where), None
                )
    elif role in ("developer", "system"):
        yield from _say(log, piece, "system", text, identity, {"hidden": True})
    elif text.strip():
        yield Problem(piece.where, f"unknown role {role!r}; kept as system")
        yield from _say(log, piece, "system", text, identity)


def _to_the_model(
    log: _Log, piece: _Piece, texts: list[str], pictures: list[dict[str, str]], identity: str | None
) -> Iterator[Record]:
    """What went to the model in the person's name: what the person typed, and what the program added."""
    typed = log.overview.typed
    texts = [text for text in texts if not _PICTURE.fullmatch(text)]
    if wording("".join(texts)) in typed:
        words, added = texts, []
    else:
        # Words that are not shown yet, at the end of a file, are still on their way there.
        known = bool(typed) and piece.where != log.overview.end
        words = [t for t in texts if wording(t) in typed or not (known or _INJECTED.match(t))]
        added = [t for t in texts if t not in words]
    text = "\n\n".join(words)
    if words and not log.echoes.told(piece.stream, "user", text):
        yield from _person(log, piece, text, pictures, identity)
    elif pictures and not texts:
        yield from _person(log, piece, "", pictures, identity)
    if added:
        own = identity if not words or identity is None else f"{identity}-context"
        yield from _say(log, piece, "system", "\n\n".join(added), own, {"hidden": True})


def _person(
    log: _Log, piece: _Piece, text: str, pictures: list[dict[str, str]], identity: str | None
) -> Iterator[Record]:
    metadata = {"attachments": pictures} if pictures else {}
    yield from _say(log, piece, "user", with_attachments(text, pictures), identity, metadata)


def _call(log: _Log, piece: _Piece, identity: str | None) -> Iterator[Record]:
    payload = piece.payload
    call = logs.own_id(payload.get("call_id")) or logs.own_id(payload.get("id"))
    name = as_text(payload.get("name")) or _CALLS[piece.kind]
    given = next((payload[key] for key in _ARGUMENTS if payload.get(key) not in (None, "")), None)
    own = identity or (f"{call}-call" if call else None)
    if call is not None:
        log.calls[call] = (own, name)
    metadata = logs.call_metadata(name, given)
    yield from _say(log, piece, "tool", logs.call_text(name, given), own, metadata, author=name)


def _output(
    log: _Log, piece: _Piece, call_id: Any, output: Any, identity: str | None, name: str = ""
) -> Iterator[Record]:
    call = logs.own_id(call_id)
    above, known = log.calls.pop(call, (None, "")) if call else (None, "")
    text = logs.words_of(output)
    if not text and output:
        text = logs.as_json(output)
    own = identity or (f"{call}-output" if call else None)
    metadata = logs.tool_metadata("result", name or known)
    yield from _say(log, piece, "tool", text, own, metadata, author=name or known, reply_to=above)


def _say(
    log: _Log,
    piece: _Piece,
    role: Role,
    text: str,
    identity: str | None,
    metadata: Metadata | None = None,
    *,
    author: str = "",
    reply_to: str | None = None,
) -> Iterator[Record]:
    if not text.strip():
        return
    sent, note = logs.sent_at(piece.time, piece.where)
    if note:
        yield note
    marks = {"sidechain": True} if log.said.session.metadata.get("sidechain") else {}
    yield from log.said.say(
        role,
        text,
        identity,
        sent,
        piece.where,
        author=author or None,
        reply_to=reply_to,
        metadata={**(metadata or {}), **marks},
    )
