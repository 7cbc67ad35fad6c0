"""What was said in one conversation on one day stands in a context as one passage."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.context import layers
from appliance.context.materials import ContextMaterial, ContextPlan
from appliance.context.shares import shares
from appliance.types import Context, ContextItem

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


def retrieved(context: Context) -> tuple[ContextItem, ...]:
    return next(layer.items for layer in context.layers if layer.name == "retrieved")


def test_what_was_said_in_one_session_on_one_day_stands_under_one_head(walk: Appliance) -> None:
    context = walk.context("the harbour walk", budget=2000)
    text = context.text
    places = [text.index(line) for _, line in LINES if line in text]
    assert len(places) >= 4 and places == sorted(places), "in the order in which they were said"
    assert text.count("2025-05-01 Walk]\n") == 1, "it is told once when and where they were said"
    authors = {text: author for author, text in LINES}
    for item in retrieved(context):
        assert f"[{item.message_id} {authors[item.text]}] {item.text}\n" in text, "who said it, and its id"


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


def test_what_stands_beside_a_quotation_is_no_weaker_for_it(memory: Appliance, tmp_path: Path) -> None:
    said = ("the harbour walk begins in May", "Ben leads that walk along the harbour", "the walk costs 12 euros")
    records = [
        {"session_id": "w", "message_id": text, "role": "user", "content": text} for text in (*said, "my cat sleeps")
    ]
    path = tmp_path / "w.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    memory.ingest(path)
    plain, quoting = (
        {item.text for item in retrieved(memory.context(query))}
        for query in ("who leads the harbour walk", 'who leads the "harbour walk"')
    )
    assert said[1] in plain and said[1] in quoting


def test_where_nothing_speaks_for_anything_the_best_is_left(walk: Appliance) -> None:
    hits = [replace(hit, why={"score": {"own": -1.0 - hit.rank}}) for hit in walk.search("the harbour walk")]
    plan = ContextPlan("q", [], 10_000, shares("assistant", {}), "words", lambda text: len(text.split()), 3, 0)
    context = layers.build(plan, ContextMaterial(hits=hits))
    assert [item.message_id for item in retrieved(context)] == [hits[0].message_id]
    assert {one.message_id for one in context.dropped} == {hit.message_id for hit in hits[1:]}


def test_a_passage_costs_less_and_never_more_than_the_budget(walk: Appliance) -> None:
    for budget in range(64, 400, 16):
        context = walk.context("the harbour walk", budget=budget)
        assert context.tokens <= budget
        assert context.tokens == sum(layer.tokens for layer in context.layers)
