"""What tests of sessions write into a memory and read out of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from appliance import Appliance

DAY = 24 * 60 * 60


def texts(session: Any) -> list[str]:
    return [message.text for message in session.messages()]


def found(memory: Appliance, query: str, **more: Any) -> set[str]:
    return {hit.text for hit in memory.search(query, limit=50, **more)}


def clean(memory: Appliance) -> None:
    """All stores agree, now and when the index has followed."""
    assert not memory.verify().problems
    memory.embed_pending()
    findings = memory.verify()
    assert not findings.problems and findings.checked["pending"] == 0


def ingest(memory: Appliance, folder: Path, lines: list[dict[str, Any]], **more: Any) -> None:
    path = folder / "lines.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    memory.ingest(path, **more)


def line(session: str, number: int, content: str, **more: Any) -> dict[str, Any]:
    when = f"2026-02-{number + 1:02}T10:00:00Z"
    base = {"session_id": session, "message_id": f"{session}-{number}", "role": "user", "timestamp": when}
    return {**base, "content": content, **more}


def names(infos: Any) -> list[str]:
    return [info.external_id for info in infos]
