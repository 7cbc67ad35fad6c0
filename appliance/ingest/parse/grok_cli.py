"""Sessions of the Grok CLI: ``chat_history.jsonl``, a turn a line, with ``summary.json`` beside it.

The lines have no ids and no times. What the CLI puts into a person's turns is kept apart, as hidden.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from appliance.ingest.parse import jsonstream, turns
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_list, as_text
from appliance.ingest.parse.jsonstream import Value
from appliance.ingest.parse.salvage import is_whole
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

FIRST_KEYS = (("type", "content"),)
_OWN_KEYS = frozenset(
    {"prompt_index", "model_fingerprint", "synthetic_reason", "reasoning_effort", "tool_call_id", "model_id"}
)
_FOREIGN_KEYS = frozenset({"message", "uuid", "sessionId", "session_id", "payload", "timestamp_ms", "role"})
_TYPES = frozenset({"system", "user", "assistant", "reasoning", "tool_result"})
_NAME = re.compile(r"(?:^|/)chat_history\.jsonl$", re.IGNORECASE)
_LINES_LOOKED_AT = 20
_LINES_BEFORE_WORDS = 100
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
_INJECTED = re.compile(r"\s*<(?:user_info|system-reminder|environment_context|git_status|project_layout)\b")
_PATH_KEYS = ("path", "file_path", "target_file", "filename")
_SUMMARY_BYTES = 1 << 20


def matches(head: Head) -> float:
    """How surely these are lines of a session: known types, and keys that only this program writes."""
    lines = head.text.removeprefix("\ufeff").split("\n")[:_LINES_LOOKED_AT]
    if head.truncated and len(lines) > 1 and len(lines) < _LINES_LOOKED_AT:
        lines.pop()
    seen = good = own = 0
    for line in lines:
        for record in jsonstream.preview(line):
            seen += 1
            if isinstance(record, dict) and as_text(record.get("type")) in _TYPES and "content" in record:
                good += not _FOREIGN_KEYS & record.keys()
                own += bool(_OWN_KEYS & record.keys())
    if not good or good < seen / 2:
        return 0.0
    if own:
        return 0.9
    return 0.8 if _NAME.search(head.name) else 0.3


@dataclass(slots=True)
class Session:
    """One session as its lines go by."""

    document: Document
    record: SessionRecord | None = None
    side: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    passed: Counter[str] = field(default_factory=Counter)

    def line(self, value: Value) -> Iterator[Record]:
        """What one line says."""
        data, where = value.data, f"line {value.line}"
        if not is_whole(data):
            yield Problem(where, "the line is damaged or cut off; passed over")
            return
        kind = as_text(data.get("type"))
        if kind not in _TYPES:
            self.passed[kind or "(none)"] += 1
            return
        if self.record is None:
            self.record = self._begin()
            yield self.record
        session = self.record.external_id
        content = data.get("content")
        if content is not None and not isinstance(content, str | list):
            yield Problem(where, f"content is a {type(content).__name__}, not a text; left out")
        text = turns.words_of(content)
        sent, notes = turns.moment(data.get("timestamp", data.get("created_at")), where)
        yield from notes

        def message(role: Role, told: str, **metadata: Any) -> Iterator[Record]:
            if told.strip():
                author = next((tool.get("name") for tool in metadata.get("tools", ())), None)
                yield MessageRecord(
                    session, role, told, None, author, sent, None, metadata | self.side, where
                )

        if kind == "system" or (kind == "user" and data.get("synthetic_reason")):
            yield from message("system", text, hidden=True)
        elif kind == "user":
            asked = _QUERY.search(text)
            if asked is not None:
                yield from message("system", text[: asked.start()], hidden=True)
                yield from message("user", asked[1])
                yield from message("system", text[asked.end() :], hidden=True)
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
            told = text or turns.words_of(data.get("summary"))
            yield from message("tool", told, tools=[{"kind": "reasoning"}])
        else:
            name = self.calls.get(as_text(data.get("tool_call_id")), "")
            yield from message("tool", text, tools=[{"kind": "result"} | ({"name": name} if name else {})])

    def notes(self) -> Iterator[Problem]:
        """What was passed over, once the lines have ended."""
        for kind, count in sorted(self.passed.items()):
            yield Problem("", f"{count} lines of type {kind[:60]} are no turns; passed over", harmless=True)

    def _call(self, call: dict[str, Any], message: Any) -> Iterator[Record]:
        inner = as_dict(call.get("function"))
        name = as_text(call.get("name")) or as_text(inner.get("name"))
        given = call.get("arguments", inner.get("arguments"))
        if identity := as_text(call.get("id")):
            self.calls[identity] = name
        told = turns.call_text(name, given)
        files = turns.paths_in(given, _PATH_KEYS)
        metadata: dict[str, Any] = {"tools": [{"kind": "call"} | ({"name": name} if name else {})]}
        yield from message("tool", told, **(metadata | ({"files": files} if files else {})))

    def _begin(self) -> SessionRecord:
        """The session's header, out of the summary beside the file as far as there is one."""
        summary = _summary(self.document)
        info = as_dict(summary.get("info"))
        folder = self.document.name.replace("\\", "/").rpartition("/")[0].rpartition("/")[2]
        session = as_text(info.get("id")) or (folder if _UUID.fullmatch(folder) else "")
        if not session:
            session = turns.made_id("grok", _first_words(self.document))
        title = as_text(summary.get("generated_title")) or as_text(summary.get("session_summary")) or None
        created, _ = turns.moment(summary.get("created_at"), "")
        metadata = {
            key: value
            for key, value in (
                ("cwd", as_text(info.get("cwd"))),
                ("model", as_text(summary.get("current_model_id"))),
            )
            if value
        }
        if summary.get("session_kind") == "subagent":
            self.side = {"sidechain": True}
        return SessionRecord(session, title, created, metadata)


def _first_words(document: Document) -> str:
    """What the person said first: the lines before it are alike in all sessions."""
    for value in islice(jsonstream.records(document, FIRST_KEYS), _LINES_BEFORE_WORDS):
        if isinstance(value, Value) and isinstance(value.data, dict) and value.data.get("type") == "user":
            text = turns.words_of(value.data.get("content"))
            if not value.data.get("synthetic_reason") and not (
                _INJECTED.match(text) and "<user_query>" not in text
            ):
                return text
    return ""


def _summary(document: Document) -> dict[str, Any]:
    beside = document.around.find("summary.json")
    if beside is None or beside.size > _SUMMARY_BYTES:
        return {}
    for value in jsonstream.records(beside):
        if isinstance(value, Value):
            return as_dict(value.data)
    return {}
