"""What was said one after the other stands in a context as one passage."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.context import layers
from appliance.types import Dropped

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


def test_what_was_said_on_another_day_has_its_date(memory: Appliance, tmp_path: Path) -> None:
    records = [
        {"session_id": "w", "message_id": f"w{n}", "role": "user", "content": "the harbour walk is tomorrow"}
        | {"timestamp": f"202{n}-05-01T10:00:00Z", "author": f"Ana {n}"}
        for n in range(3)
    ]
    path = tmp_path / "w.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    memory.ingest(path)
    text = memory.context("the harbour walk", budget=2000).text
    assert all(f"202{n}-05-01" in text for n in range(3))


def test_a_part_whose_passage_lost_its_head_says_where_it_is_from(walk: Appliance) -> None:
    """The head can be the weakest of all, and is then what goes when a prompt is a little too large."""
    hits = walk.search("the harbour walk", limit=5)
    strong, weak = hits[1], hits[0]
    follows = {strong.message_id: weak.message_id}
    plan = layers.Plan("q", [], 10_000, 0.4, 3, "words", lambda text: len(text.split()), follows)
    entries = [entry for hit in (weak, strong) if (entry := layers.fit(plan, hit, 10_000))]
    both, alone = layers.assemble(plan, entries, [], [], []), layers.assemble(plan, entries[1:], [], [], [])
    assert both is not None and both.text.count("Walk · m") == 1
    assert alone is not None and alone.text.count("Walk · m") == 1


def test_what_stands_beside_a_quotation_is_no_weaker_for_it(memory: Appliance, tmp_path: Path) -> None:
    said = (
        "the harbour walk begins in May",
        "Ben leads that walk along the harbour",
        "the walk costs 12 euros",
    )
    records = [
        {"session_id": "w", "message_id": text, "role": "user", "content": text}
        for text in (*said, "my cat sleeps")
    ]
    path = tmp_path / "w.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    memory.ingest(path)
    plain, quoting = (
        {item.text for item in memory.context(query).layers[0].items}
        for query in ("who leads the harbour walk", 'who leads the "harbour walk"')
    )
    assert said[1] in plain and said[1] in quoting


def test_where_nothing_speaks_for_anything_the_best_is_left(walk: Appliance) -> None:
    hits = [replace(hit, score=-1.0 - hit.rank, why={}) for hit in walk.search("the harbour walk")]
    dropped: list[Dropped] = []
    plan = layers.Plan("q", [], 10_000, 0.4, 3, "words", lambda text: len(text.split()))
    assert layers.by_turns(plan, hits, dropped) == hits[:1]
    assert len(dropped) == len(hits) - 1


def test_a_passage_costs_less_and_never_more_than_the_budget(walk: Appliance) -> None:
    for budget in range(64, 400, 16):
        context = walk.context("the harbour walk", budget=budget)
        assert context.tokens <= budget
        assert context.layers[0].tokens == sum(item.tokens for item in context.layers[0].items)
