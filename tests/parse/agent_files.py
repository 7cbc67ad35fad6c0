"""What the tests of agents share: a short conversation, and folders that are written and read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from appliance.ingest import sources
from appliance.types import InputProblem, MessageRecord, SessionRecord

SECONDS = 1_767_600_000
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
assert datetime.fromtimestamp(SECONDS, UTC) == START


def lines(*objects: object) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def goose_request(name: str, arguments: dict) -> dict:
    call = {"status": "success", "value": {"name": name, "arguments": arguments}}
    return {"type": "toolRequest", "id": "t1", "toolCall": call}


def goose_response(text: str) -> dict:
    result = {"status": "success", "value": [{"type": "text", "text": text}]}
    return {"type": "toolResponse", "id": "t1", "toolResult": result}


QUESTION, ANSWER = "Which pier is free?", "The northern one."
TALK = [("user", QUESTION), ("assistant", ANSWER)]


def read_folder(path: Path):
    sessions, messages, problems = [], [], []
    for found in sources.detect_documents([path]):
        if isinstance(found, sources.UnreadSource):
            problems += found.errors
            continue
        for record in found.parser.parse(found.document):
            if isinstance(record, SessionRecord):
                sessions.append(record)
            elif isinstance(record, MessageRecord):
                messages.append(record)
            elif isinstance(record, InputProblem) and not record.harmless:
                problems.append(record)
    return sessions, messages, problems


def write(root: Path, files: dict[str, object]) -> Path:
    for name, value in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return root
