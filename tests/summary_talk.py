"""Conversations long enough to be summarised, and what holds of every summary."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance import Appliance

THEMES = (
    "harbour crane oil lever winch rope sailor storm pier lantern",
    "garden tomato fence compost spade seed watering greenhouse bee tulip",
    "server deploy database query index latency cache rollback release metric",
)


def turn(chance: random.Random, theme: str) -> str:
    """Five sentences about a theme."""
    words = theme.split()
    parts = [(" and the ".join(chance.sample(words, 4)), chance.choice(words)) for _ in range(5)]
    return " ".join(f"We should see to the {several} before {one} day." for several, one in parts)


def is_for_facts(body: Mapping[str, Any]) -> bool:
    """Whether a model is asked for facts."""
    return "lasting facts" in body["messages"][0]["content"]


def noted(body: Mapping[str, Any]) -> str:
    """What a sensible model could answer: one note, of the first turn that it is given."""
    if is_for_facts(body):
        return "[]"
    question = body["messages"][1]["content"]
    found = re.search(r"^\[(\d+)\] [^\n]*?\): ([^.\n]+\.)", question.partition("NEXT TURNS:\n")[2], re.MULTILINE)
    if found:
        return f"- {found[2]} [{found[1]}]"
    parts = re.findall(r"([^.:\n\[\]]+\.) \[(\d+)\]", question)
    return f"- {parts[0][0].strip()} [{parts[0][1]}]"


def chat(session: str, messages: int, *, seed: int = 0, role: str = "both") -> list[dict[str, Any]]:
    """Lines of native JSONL, with the assistant every second time, another theme every fifteen messages."""
    chance = random.Random(f"{session} {seed}")
    return [
        {
            "session_id": session,
            "message_id": f"{session}-{number}",
            "role": "assistant" if number % 2 and role == "both" else "user",
            "author": "Ana" if number % 2 == 0 else None,
            "timestamp": f"2024-03-{1 + number // 60 % 28:02}T10:{number % 60:02}:00Z",
            "content": turn(chance, THEMES[number // 15 % len(THEMES)]),
        }
        for number in range(messages)
    ]


def write(path: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def check_summaries(memory: Appliance) -> None:
    """Every quote is verbatim, every summary is of messages that are there, and all stores agree."""
    for summary in memory.summaries.list():
        texts = {m.id: m.text for m in memory.sessions.messages(summary.session_id)}
        assert summary.first_id in texts and summary.last_id in texts
        for quote in summary.quotes:
            assert texts[quote.message_id][quote.start : quote.end] == quote.text != ""
            if summary.made_by == "extractive":
                assert " ".join(quote.text.split()) in summary.text
    assert not memory.verify().problems
