"""What was said one after the other stands in a context as one passage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance

LINES = (
    ("Ana", "where do we meet for the harbour walk"),
    ("Ben", "the harbour walk begins at the lighthouse"),
    ("Cleo", "bring a torch for the harbour walk"),
    ("Ana", "my cat sleeps"),
    ("Ben", "the harbour walk ends at noon"),
)


@pytest.fixture
def walk(memory: Appliance, tmp_path: Path) -> Appliance:
    records = [
        {"session_id": "w", "message_id": f"w{n}", "role": "user", "author": author, "content": text}
        | {"session_title": "Walk", "timestamp": "2025-05-01T10:00:00Z"}
        for n, (author, text) in enumerate(LINES)
    ]
    path = tmp_path / "w.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    memory.ingest(path)
    return memory


def test_neighbours_are_one_passage(walk: Appliance) -> None:
    context = walk.context("the harbour walk", budget=2000)
    text = context.text
    places = [text.index(line) for _, line in LINES if line in text]
    assert len(places) >= 4 and places == sorted(places), "in the order in which they were said"
    assert text.count("Walk · m") == (2 if LINES[3][1] not in text else 1), (
        "a passage is told once where it is from"
    )
    for item in context.layers[0].items:
        assert f"{item.message_id}]" in text and item.text in text, "each part can still be named"


def test_a_passage_costs_less_and_never_more_than_the_budget(walk: Appliance) -> None:
    for budget in range(64, 400, 16):
        context = walk.context("the harbour walk", budget=budget)
        assert context.tokens <= budget
        assert context.layers[0].tokens == sum(item.tokens for item in context.layers[0].items)
