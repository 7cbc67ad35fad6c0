"""Logs that grow, how a watcher reads them, and what a memory has of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from appliance import Appliance
from appliance.ingest import pipeline
from appliance.ingest.batches import FileTally
from appliance.ingest.following import FollowedLogs
from appliance.types import Scope
from tests.engines import engine_of

SESSION, EARLIER = "0000000a-1111-4222-8333-444444444444", "0000000b-1111-4222-8333-444444444444"
KINDS = (
    *("prompt", "answer", "call", "result") * 3,
    *("again", "title", "name", "summary", "retract", "agent", "copy", "shared", "blank", "system", "hidden"),
)


def uuid(number: int) -> str:
    return f"{number:08d}-aaaa-4bbb-8ccc-dddddddddddd"


def record(number: int, kind: str, session: str, parent: int | None) -> dict[str, Any]:
    role = "assistant" if kind in ("answer", "call", "again") else "user"
    content: Any = f"{kind} {number} about boats"
    if kind == "call":
        content = [{"type": "tool_use", "id": f"call{number}", "name": "Read", "input": {"path": "a.txt"}}]
    elif kind == "result":
        content = [{"type": "tool_result", "tool_use_id": f"call{parent}", "content": f"result {number}"}]
    elif kind == "again":
        content = "the same words"
    message = {"role": role, "content": content} | ({"id": "answer"} if kind == "again" else {})
    return {
        "type": "system" if kind == "system" else role,
        "uuid": uuid(number),
        "parentUuid": None if parent is None else uuid(parent),
        "sessionId": session,
        "timestamp": f"2026-03-01T09:{number // 60:02d}:{number % 60:02d}.000Z",
        "message": message,
        **({"content": "a notice"} if kind == "system" else {}),
        **({"isMeta": True} if kind == "hidden" else {}),
        **({"isSidechain": True, "agentId": "helper"} if kind == "agent" else {}),
    }


def log_of(steps: Sequence[tuple[str, int]]) -> bytes:
    """A log; a step is what is written and how far back it goes."""
    lines: list[str] = []
    for number, (kind, back) in enumerate(steps, 100):
        target = max(99, number - 1 - back)
        if kind == "blank":
            lines.append("")
            continue
        if kind == "title":
            made: dict[str, Any] = {"type": "ai-title", "aiTitle": f"Title {back}", "sessionId": SESSION}
        elif kind == "name":
            made = {"type": "custom-title", "customTitle": "Named", "sessionId": SESSION}
        elif kind == "summary":
            made = {"type": "summary", "summary": f"Sum {back}", "leafUuid": uuid(target)}
        elif kind == "retract":
            made = record(number, "answer", SESSION, target) | {"retractedMessageUuids": [uuid(target)]}
        elif kind == "copy":
            made = record(target, "prompt", SESSION, None)
        elif kind == "shared":
            made = record(back, "prompt" if back % 2 else "answer", SESSION, None)
        else:
            made = record(number, kind, SESSION, target)
        lines.append(json.dumps(made))
    return "".join(f"{line}\n" for line in lines).encode()


def state(memory: Appliance, scope: Scope) -> list[Any]:
    """The sessions of a scope with their messages, without what differs from one memory to the other."""
    db = engine_of(memory)._database.read()
    sessions = db.execute(
        "SELECT s.id, s.external_id, s.title, s.metadata, s.started_at, p.external_id, b.external_id FROM session s"
        " LEFT JOIN session p ON p.id = s.parent_id LEFT JOIN message b ON b.id = s.branch_at"
        " WHERE s.user_id = ? ORDER BY s.external_id",
        (scope.user_id,),
    ).fetchall()
    columns = "external_id, role, author, text, sent_at, reply_to, metadata, talk"
    query = f"SELECT {columns} FROM message WHERE session_id = ? ORDER BY order_at, position, id"
    return [(*rest, db.execute(query, (key,)).fetchall()) for key, *rest in sessions]


def read(memory: Appliance, path: Path, scope: Scope, logs: FollowedLogs) -> list[FileTally]:
    """Read a file as a watcher does."""
    context = replace(engine_of(memory)._ingestion.ingest_context(scope), read_pages=logs.read_pages)
    tallies = list(pipeline.ingest([path], context, within=path.parent))
    if not logs.confirm(path, tallies):
        tallies = list(pipeline.ingest([path], context, within=path.parent))
    return tallies
